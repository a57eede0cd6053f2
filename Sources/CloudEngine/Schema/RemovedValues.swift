// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Removes values of removed fields, and records of removed types.
package struct RemovedValues: Sendable {
    /// Records of one removal.
    private static let recordsPerRemoval = 25

    let rules: RecordRules

    /// Removes from one slice of a partition's records the values of removed fields, and records of removed types.
    ///
    /// Does not check references to the records: see ``RemovalObstacles`` and ``LaterObstacles``.
    ///
    /// - Parameters:
    ///   - parts: One of ``RemovedParts/passes``.
    ///   - place: Where the slice before ended.
    /// - Returns: Where this one ends; nil after the last.
    /// - Throws: `SchemaRefused` if a record or value cannot be removed; then the slice stays as it is.
    package func remove(
        of parts: RemovedParts, after place: RecordPlace?, in unit: any PartitionWriter, _ call: Call
    ) throws -> RecordPlace? {
        let records = try unit.records(after: place, limit: Self.recordsPerRemoval)
        var byZone: [Int64: [RecordOperation]] = [:]
        for (place, record) in records {
            if let operation = parts.operation(on: record) { byZone[place.zone, default: []].append(operation) }
        }
        for zone in try unit.zones() {
            guard let operations = byZone[zone.key] else { continue }
            try remove(operations, inZone: zone.name, unit, call)
        }
        return records.last?.place
    }

    /// Carries out removals. If their cascades are too large together, some are left to a later batch.
    private func remove(_ operations: [RecordOperation], inZone name: String, _ unit: any PartitionWriter, _ call: Call) throws {
        var remaining = operations
        // Each batch changes the zone.
        while !remaining.isEmpty, let zone = try unit.zone(named: name) {
            var batch = try RecordBatch(remaining, zone: zone, rules, unit, call, for: .schemaRemoval)
            try batch.decideAll()
            _ = try batch.write()
            var refused: [RecordOperation] = []
            for (operation, result) in zip(remaining, batch.results) {
                guard case .failure(_, let error, _) = result else { continue }
                refused.append(operation)
                guard refused.count < remaining.count else {
                    let record = operation.record
                    throw SchemaRefused(reasons: [
                        "record '\(record.recordName)' of type '\(record.recordType)' cannot be changed: \(error.reason)"
                    ])
                }
            }
            remaining = refused
        }
    }

    /// Counts in one slice of a partition's records what ``remove(of:after:in:_:)`` would remove.
    ///
    /// - Returns: Where this slice ends; nil after the last.
    package func count(
        of parts: RemovedParts, after place: RecordPlace?, in view: any PartitionReader, _ counts: inout SchemaRemovals
    ) throws -> RecordPlace? {
        let records = try view.records(after: place, limit: rules.limits.operationsPerRequest)
        for (_, record) in records {
            guard let operation = parts.operation(on: record) else { continue }
            if operation.kind == .forceDelete {
                counts.records[record.recordType, default: 0] += 1
            } else {
                for field in operation.record.fields.keys { counts.values["\(record.recordType).\(field)", default: 0] += 1 }
            }
        }
        return records.last?.place
    }
}
