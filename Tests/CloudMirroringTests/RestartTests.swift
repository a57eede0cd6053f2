// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CoreData
import Foundation
import TestBasics
import Testing

/// A device that dies at any request, before the server sees it or before it hears of it, and begins again.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct RestartTests {
    @Test(arguments: 1...12, [true, false]) func whateverIsCutOffIsTakenUpAgain(request: Int, isCarriedOut: Bool) async throws {
        let cloud = try InProcessCloud()
        let laptop = try Device("laptop", try await cloud.addUser("mia", device: "laptop"))
        try laptop.edit { context in
            let tag = context.insert("Tag", ["name": "both"])
            for number in 0..<5 { context.insert("Post", ["title": "laptop \(number)"]).setValue(Set([tag]), forKey: "tags") }
        }
        try await laptop.container.sync(timeout: .seconds(600))

        let transport = try await cloud.addDevice("tablet", of: "mia")
        let faults = Faults(transport)
        faults.die(at: request, isCarriedOut: isCarriedOut)
        var tablet = try Device("tablet", transport, over: faults)
        try tablet.edit { context in
            let image = context.insert("ImageData", ["data": Data(repeating: 3, count: 800_000)])
            let post = context.insert("Post", ["title": "tablet"])
            context.insert("Attachment", ["post": post, "imageData": image])
            post.setValue(Set([context.insert("Tag", ["name": "own"])]), forKey: "tags")
        }
        // It may be done before it would have died.
        try await tablet.until { $0.activity == .offline || ($0.activity == .idle && $0.pendingCount == 0 && $0.lastSuccess != nil) }
        try await tablet.kill()
        tablet = try Device("tablet", transport, file: tablet.file)
        try await tablet.container.sync(timeout: .seconds(600))
        try await laptop.container.sync(timeout: .seconds(600))
        #expect(try tablet.dump == laptop.dump)
        #expect(try tablet.read { try ($0.all("Post").count, $0.all("Tag").count, $0.all("ImageData").count) } == (6, 2, 1))
        #expect(try tablet.container.conflicts().isEmpty)
    }
}
