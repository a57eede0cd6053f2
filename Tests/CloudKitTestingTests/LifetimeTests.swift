// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import CloudMirroring
import Testing

/// A test process makes hundreds of clouds: each goes with the last that uses it, and its files with it.
@Suite(.timeLimit(.minutes(2))) struct LifetimeTests {
    private struct Remembered {
        weak var cloud: TestCloud?

        func isGone() async {
            while cloud != nil { await Task.yield() }
        }
    }

    @Test func aCloudGoesWithItsDevices() async throws {
        func use() async throws -> Remembered {
            let cloud = try TestCloud()
            let phone = try await cloud.device("phone", account: "mia")
            try await phone.container.privateCloudDatabase.save(CKRecord(recordType: "Plant"))
            phone.restart()
            phone.signOut()
            try await phone.signIn(to: "ben")
            return Remembered(cloud: cloud)
        }
        try await use().isGone()
    }

    @Test func aCloudGoesWithTheStoresThatMirrorIt() async throws {
        func use() async throws -> Remembered {
            let cloud = try TestCloud()
            let phone = try makeContainer(on: try await cloud.device("phone", account: "mia"), scopes: [.private, .shared, .public])
            let tablet = try makeContainer(on: try await cloud.device("tablet", account: "mia"))
            try await phone.write("Milk")
            try await phone.sync(timeout: .seconds(600))
            try await tablet.sync(timeout: .seconds(600))
            #expect(try await tablet.texts() == ["Milk"])
            return Remembered(cloud: cloud)
        }
        try await use().isGone()
    }
}
