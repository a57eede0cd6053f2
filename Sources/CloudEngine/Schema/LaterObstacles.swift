// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Finds references that keep record types from being removed in records that were saved since all records were looked at.
package struct LaterObstacles: Sendable {
    /// Records that the first unit looks at again. While apps save more than a unit looks at, the next one looks at twice as many.
    package static let recordsAtFirst = 25
    /// Records of one unit, since all saves wait for it: those of eight requests of an app.
    package static let recordsAtMost = 1600

    let limits: Limits

    /// Finds the reasons. A removal calls it in each of its units, since apps save records between them:
    ///
    ///     all records checked │ save of a Note with a VALIDATE reference to a Bed │ unit that deletes the Bed
    ///
    /// Units of a partition are serial, so that no save comes between this check and the deletions of its unit.
    ///
    /// - Parameter recordsMax: Records that this unit looks at.
    /// - Returns: `false` if there are more records, which the next unit looks at. No record may be deleted before.
    package func find(
        to parts: RemovedParts, _ checked: inout CheckedChanges, atMost recordsMax: Int = Self.recordsAtFirst,
        in view: any PartitionReader, _ reasons: inout Set<String>
    ) throws -> Bool {
        var room = recordsMax
        for zone in try view.zones() {
            while zone.change > checked.last(in: zone.key) {
                guard room > 0 else { return false }
                let slice = ChangeSlice(after: checked.last(in: zone.key))
                let changed = try view.records(
                    slice, in: zone.key, includingDeleted: false, limit: room, bytesMax: RecordSize.storedBytesAtOnce)
                room -= changed.count
                for record in changed { try find(afterChangeOf: record.record, to: parts, in: zone, view, &reasons) }
                checked.advance(to: changed.last?.change ?? zone.change, in: zone.key)
            }
        }
        return true
    }

    /// Looks at all records for which a change of a record may matter: itself, those that are deleted with it, and those that refer to one of
    /// them by `VALIDATE`.
    ///
    ///     Bed ◀── DELETE_SELF ── changed Plant ◀── DELETE_SELF ── Leaf ◀── VALIDATE ── Note
    ///
    /// Without the change, Leaf may have stayed, or may have been deleted with another record.
    private func find(
        afterChangeOf record: Record, to parts: RemovedParts, in zone: StoredZone, _ view: any PartitionReader, _ reasons: inout Set<String>
    ) throws {
        let name = record.recordName
        let tooMany =
            "record '\(name)' of type '\(record.recordType)', to which very many records refer, was changed during the removal: try it again"
        var graph = ReferenceGraph([:], asked: [], zone: zone, view)
        var cascade = Cascade(BatchNames([name], [.success(.delete(record))]))
        guard try cascade.add(name, &graph, atMost: limits.recordsTakenAlong) else {
            reasons.insert(tooMany)
            return
        }
        var names = cascade.names
        for target in cascade.names {
            let room = limits.referencesPerRequest - names.count
            let sources = try view.sources(ofReferencesTo: target, .validate, in: zone.key, after: "", limit: max(0, room) + 1)
            guard sources.count <= room else {
                reasons.insert(tooMany)
                return
            }
            names.formUnion(sources)
        }
        let obstacles = RemovalObstacles(limits: limits)
        var open = names.sorted()[...]
        while !open.isEmpty {
            let leading = try view.leadingRecords(named: open, in: zone.key)
            for name in open.prefix(leading.count) {
                guard let record = leading.records[name]?.record, !record.isDeleted else { continue }
                try obstacles.findHolds(by: record, on: parts, in: zone, view, &reasons)
            }
            open = open.dropFirst(leading.count)
        }
    }
}
