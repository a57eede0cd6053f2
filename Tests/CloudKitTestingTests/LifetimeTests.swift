// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import CloudMirroring
import TestBasics
import Testing

/// A test process makes hundreds of clouds: each is released with its last user, and its files are removed.
@Suite(.timeLimit(.minutes(2))) struct LifetimeTests {
    private struct WeakReferences {
        weak var cloud: TestCloud?

        func isReleased() async throws {
            try await until { cloud == nil }
        }
    }

    @Test func aCloudIsReleasedWithItsDevices() async throws {
        func use() async throws -> WeakReferences {
            let cloud = try TestCloud()
            let phone = try await cloud.device("phone", account: "mia")
            try await phone.container.privateCloudDatabase.save(CKRecord(recordType: "Plant"))
            phone.restart()
            phone.signOut()
            try await phone.signIn(to: "ben")
            return WeakReferences(cloud: cloud)
        }
        try await use().isReleased()
    }

    @Test func aCloudIsReleasedWithItsMirroredStores() async throws {
        func use() async throws -> WeakReferences {
            let cloud = try TestCloud()
            let phone = try makeContainer(on: try await cloud.device("phone", account: "mia"), scopes: [.private, .shared, .public])
            let tablet = try makeContainer(on: try await cloud.device("tablet", account: "mia"))
            try await phone.write("Milk")
            try await phone.sync(timeout: .seconds(600))
            try await tablet.sync(timeout: .seconds(600))
            #expect(try await tablet.texts() == ["Milk"])
            return WeakReferences(cloud: cloud)
        }
        try await use().isReleased()
    }
}
