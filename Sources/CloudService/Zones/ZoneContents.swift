// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

/// The size of a zone, for lists.
package struct ZoneSize: Hashable, Sendable {
    package var name: String
    /// nil above the number of changes that were counted, deleted records included.
    package var records: Int?
    package var bytes: StoredBytes
}

/// Reads zones for operators: their sizes, and their records.
package struct ZoneContents: ServiceSubject {
    let core: ServiceCore

    /// Scans records of a zone for those of a type; see `RecordScanner.scan(_:forType:before:limit:examining:bytesMax:desiredKeys:in:_:)`.
    package func scan(
        _ zoneID: ZoneID, forType recordType: String, before number: Int64?, limit: Int, examining most: Int,
        bytesMax: Int = RecordScanner.bytesMax, desiredKeys: [String]? = nil, _ call: Call
    ) async throws -> RecordScan {
        let engine = engine
        return try await core.read(call) { view in
            try engine.scanner.scan(
                zoneID, forType: recordType, before: number, limit: limit, examining: most, bytesMax: bytesMax, desiredKeys: desiredKeys,
                in: view, call)
        }
    }

    /// The zones of a call's database with their sizes, the default zone included if it was ever written to.
    ///
    /// - Parameters:
    ///   - limit: Zones at most, by name.
    ///   - counted: Changes at most that are counted in each zone.
    package func sizes(_ call: Call, limit: Int, counting counted: Int = 10_000) async throws -> [ZoneSize] {
        try await core.read(call) { view in
            try view.zones().prefix(limit).map { zone in
                let slice = ChangeSlice(after: 0)
                let most = counted + 1
                let changes = try view.count(slice, in: zone.key, shares: nil, includingDeleted: true, atMost: most)
                let records = changes < most ? try view.count(slice, in: zone.key, shares: nil, includingDeleted: false, atMost: most) : nil
                return ZoneSize(name: zone.name, records: records, bytes: zone.usage)
            }
        }
    }

    /// See `FeedTokens.present(of:in:_:)`.
    package func presentToken(of zoneID: ZoneID, _ call: Call) async throws -> String {
        let engine = engine
        return try await core.read(call, isBrief: true) { try engine.tokens.present(of: zoneID, in: $0, call) }
    }

    /// The zones of a partition.
    func zones(of partition: Partition) async throws -> [StoredZone] {
        let terms = WorkTerms(requester: "", milliseconds: engine.limits.readMilliseconds)
        return try await storage.read(partition, terms) { try $0.zones() }
    }
}
