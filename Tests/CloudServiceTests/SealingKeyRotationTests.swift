// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import ServiceFixtures
import StorageFixtures
import TestBasics
import Testing

/// Rotation of the key that authenticates tokens and addresses.
@Suite struct SealingKeyRotationTests {
    /// The outcomes of everything that was made with an earlier key, as words.
    private static func outcomes(_ bo: Village.Villager, of mia: Village.Villager, token: String?, guid: String) async throws -> [String] {
        let feed = try await bo.changes(of: mia, since: token)
        let link = try await bo.resolve(guid)
        let isFound = if case .share = link { "found" } else { "not found" }
        return [feed.error?.code.rawValue ?? "page", isFound]
    }

    @Test(arguments: ServerKind.installed) func tokensAndLinksHoldUntilTheirKeyIsRetired(_ kind: ServerKind) async throws {
        let village = try Village(place: ServerPlace(kind))
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        _ = try await bo.accept(guid)
        let before = try await bo.changes(of: mia)
        let identity = Engine(sealer: village.store.sealer).serverIdentity

        #expect(try await village.store.rotateSealingKey(now: 5) == 2)
        #expect(try await Self.outcomes(bo, of: mia, token: before.token, guid: guid) == ["page", "found"])
        let after = try await bo.changes(of: mia)
        #expect(after.token != before.token, "new tokens are made with the new key")

        try await village.store.retireSealingKey(1)
        // A token of a retired key is like one of another server; the link is stored with the share.
        let ended = try await Self.outcomes(bo, of: mia, token: before.token, guid: guid)
        #expect(ended[0] != "page")
        #expect(ended[1] == "found")
        #expect(try await Self.outcomes(bo, of: mia, token: after.token, guid: guid) == ["page", "found"])
        let forged = guid.dropLast() + (guid.hasSuffix("0") ? "1" : "0")
        #expect(try await Self.outcomes(bo, of: mia, token: nil, guid: String(forged)) == ["page", "not found"])
        #expect(Engine(sealer: village.store.sealer).serverIdentity == identity)
        let keys = try await village.store.sealingKeyDescriptions()
        #expect(keys.map(\.number) == [2])
        #expect(keys.map(\.isCurrent) == [true])
        #expect(keys.map(\.made) == [5])
    }

    @Test(arguments: ServerKind.installed) func aServerNoticesTheRotationOfAnotherProcess(_ kind: ServerKind) async throws {
        let village = try Village(place: ServerPlace(kind))
        let mia = try await village.villager("mia")
        _ = try await village.store.revocationCount()
        let token = try await mia.ask(.private, .databaseChanges, DatabaseChangesRequest(syncToken: nil), DatabaseChangesResponse.self)
            .syncToken
        let command = try village.place.open(isServer: false)
        #expect(try await command.rotateSealingKey(now: 5) == 2)
        try await command.retireSealingKey(1)
        #expect(Self.isKey(command.sealer, village.store.sealer) == false)
        // The server looks every second.
        _ = try await village.store.revocationCount()
        #expect(Self.isKey(command.sealer, village.store.sealer))
        await #expect(throws: WireError.self) {
            try await mia.ask(.private, .databaseChanges, DatabaseChangesRequest(syncToken: token), DatabaseChangesResponse.self)
        }
        try command.close()
    }

    private static func isKey(_ sealer: Sealer, _ other: Sealer) -> Bool {
        other.isCode(sealer.code(of: [1], purpose: .webToken), of: [1], purpose: .webToken)
    }

    @Test(.onSQLite("PostgreSQL is backed up by its own programs")) func aBackupHasAllKeysAndARestartKeepsThem() async throws {
        let village = try Village()
        let first = village.store.sealer.code(of: [1], purpose: .webToken)
        let identity = village.store.sealer.serverIdentity
        _ = try await village.store.rotateSealingKey(now: 5)
        let copy = TemporaryFolder()
        _ = try await #require(village.store as? SQLiteServerStore).backUp(to: "\(copy.path)/copy")
        let restored = try SQLiteServerStore(path: "\(copy.path)/copy", use: .server)
        #expect(restored.sealer.isCode(first, of: [1], purpose: .webToken))
        #expect(Self.isKey(village.store.sealer, restored.sealer))
        #expect(restored.sealer.serverIdentity == identity)
        try restored.close()
    }

    @Test(arguments: ServerKind.installed) func onlyEarlierKeysAreRetired(_ kind: ServerKind) async throws {
        let village = try Village(place: ServerPlace(kind))
        await #expect(throws: StorageFailure.self) { try await village.store.retireSealingKey(1) }
        _ = try await village.store.rotateSealingKey(now: 5)
        await #expect(throws: StorageFailure.self) { try await village.store.retireSealingKey(3) }
        try await village.store.retireSealingKey(1)
        await #expect(throws: StorageFailure.self) { try await village.store.retireSealingKey(1) }
    }
}
