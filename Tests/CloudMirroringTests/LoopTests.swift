// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CoreData
import Foundation
import ManagedModel
import Testing

/// The whole loop in process: real stores, the real engine, one user's two devices.
@Suite(.timeLimit(.minutes(1))) struct LoopTests {
    private struct Pair {
        let cloud: InProcessCloud
        let tablet: Device
        let phone: Device

        init() async throws {
            cloud = try InProcessCloud()
            tablet = try Device("tablet", try await cloud.addUser("mia", device: "tablet"))
            phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        }

        /// Returns when both are idle and show the same.
        func agree(_ condition: @Sendable (String) -> Bool = { _ in true }) async throws {
            for _ in 0..<20 {
                try await tablet.settles()
                try await phone.settles()
                let (one, other) = (try tablet.dump, try phone.dump)
                if one == other, condition(one) { return }
                // One of them has not been told yet.
                await withTaskGroup(of: Void.self) { group in
                    for device in [tablet, phone] {
                        group.addTask { for await _ in device.container.syncStatusUpdates.dropFirst().prefix(1) {} }
                    }
                    await group.next()
                    group.cancelAll()
                }
            }
            Issue.record("the devices do not agree")
        }

        func discard() async throws {
            try await tablet.discard()
            try await phone.discard()
        }
    }

    @Test func whatIsSavedOnOneDeviceAppearsOnTheOther() async throws {
        let pair = try await Pair()
        try pair.tablet.edit { context in
            let tag = context.insert("Tag", ["name": "swift"])
            let post = context.insert("Post", ["title": "Hello", "content": "World", "timestamp": Date(timeIntervalSinceReferenceDate: 1000.25)])
            post.setValue(Set([tag]), forKey: "tags")
            let image = context.insert("ImageData", ["data": Data([1, 2, 3])])
            context.insert("Attachment", ["thumbnail": Data([9]), "post": post, "imageData": image])
        }
        try await pair.phone.until { _ in try pair.phone.read { try $0.all("Attachment").count } == 1 }
        try await pair.agree { !$0.isEmpty }
        #expect(
            try pair.phone.dump == """
                Attachment  thumbnail <1:9>  imageData → ImageData  post → Hello
                ImageData  data <3:6>  attachment → Attachment
                Post  content World  timestamp @1000.25  title Hello  attachments ["Attachment"]  tags ["swift"]
                Tag  name swift  posts ["Hello"]
                """)
        try await pair.discard()
    }
}
