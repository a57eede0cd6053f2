// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Finds references that keep record types and fields from being removed.
package struct RemovalObstacles: Sendable {
    /// More reasons than these help no operator, and a database may have one for each of its records.
    private static let reasonsMax = 20

    let limits: Limits

    /// Finds in one slice of a partition's records the reasons for which types cannot be removed.
    ///
    /// A removal deletes records slice by slice. A deletion that a reference keeps from being made would leave a record without a type, after
    /// others are deleted. So all records are looked at first:
    ///
    ///     Note ── VALIDATE ──▶ Bed                             Bed stays, unless Note or its field is removed as well
    ///     Note ── VALIDATE ──▶ Plant ── DELETE_SELF ──▶ Bed    the same: Plant is deleted with Bed
    ///
    /// Records that are saved later are looked at by ``LaterObstacles``.
    ///
    /// - Parameter place: Where the slice before ended.
    /// - Returns: Where this one ends; nil after the last.
    package func find(
        to parts: RemovedParts, after place: RecordPlace?, in view: any PartitionReader, _ reasons: inout Set<String>
    ) throws -> RecordPlace? {
        guard reasons.count < Self.reasonsMax else { return nil }
        let records = try view.records(after: place, limit: limits.operationsPerRequest)
        let zones = Dictionary(try view.zones().map { ($0.key, $0) }) { first, _ in first }
        for (place, record) in records {
            // Records of a deleted zone are removed with it.
            guard let zone = zones[place.zone] else { continue }
            if parts.includes(record) {
                // The cascade of a record that another removed one cascades to is a part of that one's.
                guard try !parts.hasRemovedOwner(record, in: zone, view), try isCascadeTooLarge(record, parts, in: zone, view) else {
                    continue
                }
                reasons.insert(
                    "more than \(limits.recordsTakenAlong) records would be deleted with record '\(record.recordName)' of type "
                        + "'\(record.recordType)' by their DELETE_SELF references: delete some of them first")
            } else {
                try findHolds(by: record, on: parts, in: zone, view, &reasons)
            }
        }
        return records.last?.place
    }

    private func isCascadeTooLarge(
        _ record: Record, _ parts: RemovedParts, in zone: StoredZone, _ view: any PartitionReader
    ) throws -> Bool {
        let name = record.recordName
        var graph = ReferenceGraph([:], asked: [], zone: zone, view)
        var cascade = Cascade(BatchNames([name], [.success(.delete(record))]))
        if try cascade.add(name, &graph, atMost: limits.recordsTakenAlong) { return false }
        // The cascade has references in removed fields, too. Without them it is read record by record.
        return try parts.isCascade(of: name, largerThan: limits.recordsTakenAlong, in: zone, view, limits)
    }

    /// Finds the `VALIDATE` references of a record that stays to records that would be deleted.
    func findHolds(
        by record: Record, on parts: RemovedParts, in zone: StoredZone, _ view: any PartitionReader, _ reasons: inout Set<String>
    ) throws {
        var fields: [String: Set<String>] = [:]
        for (name, field) in parts.remaining(of: record).fields {
            for reference in field.value?.actingReferences ?? [] where reference.action == .validate {
                fields[reference.recordName, default: []].insert(name)
            }
        }
        guard !fields.isEmpty, try parts.removedType(deleting: record, in: zone, view, limits) == nil else { return }
        var names = fields.keys.sorted()[...]
        while !names.isEmpty {
            let leading = try view.leadingRecords(named: names, in: zone.key)
            for name in names.prefix(leading.count) {
                guard let target = leading.records[name]?.record, !target.isDeleted,
                    let removed = try parts.removedType(deleting: target, in: zone, view, limits)
                else { continue }
                for field in fields[name] ?? [] { reasons.insert(Self.reason(field, of: record, target: target, removed)) }
            }
            names = names.dropFirst(leading.count)
        }
    }

    private static func reason(_ field: String, of record: Record, target: Record, _ removed: String) -> String {
        let isCascaded = target.recordType != removed
        let targets =
            isCascaded ? "records of type '\(target.recordType)', which are deleted with them by DELETE_SELF references," : "them"
        return "record type '\(removed)' has records and cannot be removed: field '\(field)' of type '\(record.recordType)' refers to "
            + "\(targets) by VALIDATE references: remove the field as well, or delete these values first"
    }
}
