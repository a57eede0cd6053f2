// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import EngineFixtures
import Testing

@Suite struct ZoneDeletionTests {
    @Test(arguments: ZoneDeletionReason.allCases)
    func devicesLearnWhyAZoneIsGone(_ reason: ZoneDeletionReason) async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("a")))
        let token = try await bench.databaseChanges().syncToken
        _ = try await bench.write { try $0.zones.delete(Bench.garden, because: reason, in: $1, $2) }

        let changes = try await bench.databaseChanges(since: token)
        #expect(changes.zones.map(\.deletionReason) == [reason])
        #expect(changes.zones.first?.isDeleted == true)
        #expect(try DatabaseChangesResponse(json: changes.encoded()) == changes)
        let text = String(decoding: changes.encoded(), as: UTF8.self)
        #expect(text.contains("deletionReason") == (reason != .deleted), "a plain deletion is told as documented")

        let error = await refusal { try await bench.modify(.init(.create, .plant("b"))) }
        #expect(error?.code == .zoneNotFound)
        #expect(error?.nativeCode == (reason == .purged ? .userDeletedZone : nil))
        #expect(error?.didResetEncryptedData == (reason == .encryptedDataReset))
        #expect(try error.map { try WireError(json: $0.encoded()) } == error)

        try await bench.makeZone(Bench.garden)
        let again = try await bench.databaseChanges(since: changes.syncToken)
        #expect(again.zones.map(\.isDeleted) == [false])
    }
}
