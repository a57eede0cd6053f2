// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CoreData
import Foundation
import ObjectGraph
import SQLiteStore
import Testing

/// Stores that were synced by earlier versions of the library, and by later ones.
@Suite(.timeLimit(.minutes(10))) struct FormatTests {
    private func change(_ device: Device, _ statements: String...) throws {
        let store = try #require(device.container.persistentStoreCoordinator.persistentStores.first)
        try store.storage.write { writer in for statement in statements { try writer.execute(statement) } }
    }

    @Test func aStoreOfTheFirstFormatGoesOnWhereItWas() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let first = try Device("tablet", transport)
        try first.edit { $0.insert("Post", ["title": "Old"]) }
        try await first.container.sync(timeout: .seconds(60))
        await first.container.stopSyncing()
        try change(
            first, "DROP TABLE TARN_EVENT", "ALTER TABLE TARN_RECORD DROP COLUMN creator", "UPDATE TARN_STATE SET value = 1 WHERE key = 'format'")
        try await first.kill()
        let again = try Device("tablet", transport, file: first.file)
        try again.edit { try $0.post(titled: "Old")?.setValue("edited", forKey: "content") }
        try await again.container.sync(timeout: .seconds(60))
        let phone = try Device("phone", try await cloud.addDevice("phone", of: "mia"))
        try await phone.container.sync(timeout: .seconds(60))
        #expect(try phone.dump == "Post  content edited  title Old" && again.dump == phone.dump)
        #expect(try again.container.conflicts().isEmpty)
        for device in [again, phone] { try await device.discard() }
    }

    @Test func aStoreOfALaterFormatIsLeftAloneWithASentence() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "tablet")
        let first = try Device("tablet", transport)
        try await first.container.sync(timeout: .seconds(60))
        await first.container.stopSyncing()
        try change(first, "UPDATE TARN_STATE SET value = 99 WHERE key = 'format'")
        try await first.kill()
        let again = try Device("tablet", transport, file: first.file)
        try again.edit { $0.insert("Post", ["title": "Kept here"]) }
        try await again.until { status in
            guard case .error(let reason) = status.activity else { return false }
            return reason.contains("newer version of this library")
        }
        #expect(try again.dump == "Post  title Kept here")
        try await again.discard()
    }
}
