// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import Testing

/// The framework with a server that allows only small responses.
@Suite struct SmallAnswerTests {
    @Test func clientsSplitRequestsThatExceedTheLimitsOfAResponse() async throws {
        var limits = Limits()
        limits.recordsPerResponse = 3
        limits.responseRecordBytes = 2000
        try await LiveServer.run(limits: limits) { server in
            let device = try await BadNetworkTests.Device(server)
            defer { device.relay.stop() }
            let zones = (0..<7).map { CKRecordZone(zoneName: "Bed \($0)") }
            _ = try await device.database.modifyRecordZones(saving: [device.zone] + zones, deleting: [])
            let records = (0..<10).map { device.plant("\($0)") }
            for record in records { record["note"] = String(repeating: "x", count: 800) }
            _ = try await device.database.modifyRecords(saving: records, deleting: [])
            let found = try await device.database.records(for: records.map(\.recordID))
            #expect(found.values.compactMap { try? $0.get() }.count == 10)
            #expect(try await device.database.recordZones(for: zones.map(\.zoneID)).count == 7)
            let changes = CKFetchRecordZoneChangesOperation(recordZoneIDs: zones.map(\.zoneID) + [device.zone.zoneID])
            let error = await withCheckedContinuation { continuation in
                changes.fetchRecordZoneChangesCompletionBlock = { continuation.resume(returning: $0) }
                device.database.add(changes)
            }
            #expect(error == nil)
        }
    }
}
