// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

/// Earlier states of zones and records.
package struct ZoneHistory: ServiceSubject {
    let core: ServiceCore
    let announcements: Announcements

    /// Zones that an app or an operator deleted, the last one first; empty if the server keeps no history to restore them from.
    ///
    /// - Parameter limit: Zones at most, of the 10,000 that were deleted or changed first.
    package func deletedZones(_ call: Call, limit: Int) async throws -> [String] {
        try await core.read(call) { view in
            guard try view.historyStart(now: call.now) != nil else { return [] }
            let deleted = try view.zones(changedAfter: 0, limit: 10_000).filter { $0.isDeleted && $0.deletionReason == .deleted }
            return deleted.reversed().prefix(limit).map(\.name)
        }
    }

    /// Restores a zone to a time; see `ZoneRestores.restore(_:to:in:_:)`.
    ///
    /// - Parameter time: Milliseconds since 1970 UTC.
    package func restore(_ zoneID: ZoneID, to time: Int64, _ call: Call) async throws -> ZoneRestoration {
        let engine = engine
        let outcome = try await core.write(call, parts: 8) { try engine.restores.restore(zoneID, to: time, in: $0, call) }
        await announcements.tell(outcome.notifications, outcome.news, call)
        return outcome.response
    }

    /// Changes of a record, newest first; see `ChangeLog.biography(of:in:from:limit:_:_:)`.
    package func biography(
        of recordName: String, in zoneID: ZoneID, from number: Int64?, limit: Int, _ call: Call
    ) async throws -> RecordBiography {
        let engine = engine
        return try await core.read(call) {
            try engine.changeLog.biography(of: recordName, in: zoneID, from: number, limit: limit, $0, call)
        }
    }

    /// The start of the history that the server keeps, in milliseconds since 1970 UTC; nil if it keeps none.
    package func start(_ call: Call) async throws -> Int64? {
        try await core.read(call, isBrief: true) { try $0.historyStart(now: call.now) }
    }
}
