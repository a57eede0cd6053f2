// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import ManagedModel
import MirroringCore
import ObjectGraph
import SQLiteStore

/// Records of a zone that wait for what their objects require.
struct WithheldRecords: FileTransactions {
    let file: MirrorFile

    /// Fetches zones with withheld records again if the model requires other properties than before: a record that lacked a value is released
    /// by a change of the record alone.
    func fetchAgain(_ writer: StoreWriter) throws {
        let requirements = mapping.requirements
        if try StateTable.text(.requirements, writer) == requirements { return }
        for row in try ZoneTable.all(writer) {
            guard try reader(writer, zone: row.zone.number).hasIncomplete() else { continue }
            try ZoneTable.beginFullFetch(row.zone.number, expectsHistory: true, writer)
            // Nothing reads them any more.
            if !mapping.keepsIncomplete { try self.writer(writer, zone: row.zone.number).removeAllWithheld() }
        }
        try StateTable.set(.requirements, .text(requirements), writer)
    }

    /// Returns a page with the withheld records that its own release, behind those.
    ///
    /// - Parameter withheld: The records that stay withheld.
    func joined(_ page: ImportPage, of zone: MirrorZone, withholding withheld: Set<String>, _ reader: StoreReader) throws -> ImportPage {
        guard mapping.keepsIncomplete, !page.records.isEmpty || !page.moreComing else { return page }
        let metadata = self.reader(reader, zone: zone.number)
        guard try metadata.hasIncomplete() else { return page }
        var names = page.records.map(\.recordName)
        if mapping.hasUniqueness {
            names += page.records.flatMap { mapping.mergedNames(of: $0).names.sorted() }
            if !page.moreComing { names += try metadata.mergedNamesLacked() }
        }
        let waiting = try metadata.incomplete(lacking: names) + (page.moreComing ? [] : released(from: zone.number, reader))
        var page = page
        var seen = withheld.union(page.deletions).union(page.records.map(\.recordName))
        page.records += waiting.filter { page.mayRelease(withheldAt: $0.generation) && seen.insert($0.record.recordName).inserted }
            .map(\.record)
        return page
    }

    /// Returns the withheld records of a zone with unique values that no row of another zone has any more, and those that edits of their
    /// source records complete, with records that require them.
    private func released(from zone: Int64, _ reader: StoreReader) throws -> [IncompleteRecord] {
        let metadata = self.reader(reader, zone: zone)
        var held = try mapping.hasUniqueness ? metadata.heldBack().filter { try !isTaken($0.record, elsewhereThan: zone, reader) } : []
        if mapping.hasRequirements, scope == .private, zone != MirrorZone.home { held += try completed(in: metadata, reader) }
        return held.isEmpty ? [] : held + (try metadata.incomplete(lacking: held.map(\.record.recordName)))
    }

    /// Returns the withheld records to which edits of their source records give all that their objects require.
    private func completed(in metadata: SyncMetadataReader, _ reader: StoreReader) throws -> [IncompleteRecord] {
        let home = self.reader(reader)
        return try metadata.incomplete(with: MirrorNames.moveReceipt).filter { withheld in
            guard let stamp = RelocationStamp.ofHomeZone(withheld.record), let source = try home.record(named: stamp.name) else {
                return false
            }
            return try ResumedRelocation.isComplete(withheld, source: source, mapping: mapping) {
                try metadata.record(named: $0)?.hasRow == true
            }
        }
    }

    /// Returns `true` if a row of another zone has unique values of a record.
    private func isTaken(_ record: Record, elsewhereThan zone: Int64, _ reader: StoreReader) throws -> Bool {
        let metadata = self.reader(reader, zone: zone)
        // A record is shown in place of its source record.
        var source: RowKey?
        if scope == .private, zone != MirrorZone.home, let stamp = RelocationStamp.ofHomeZone(record),
            let state = try self.reader(reader).record(named: stamp.name), !state.isRelocated, stamp.names(state, mapping: mapping)
        {
            source = state.key
        }
        return try mapping.uniqueValues(of: record).contains { unique in
            try reader.keys(with: unique.constraint, values: unique.values).contains { try $0 != source && metadata.zone(of: $0) != zone }
        }
    }

    /// Returns the zones with withheld records that can be released, without those that will be fetched.
    func zonesToRelease() throws -> [ZoneTable.Row] {
        try store.read { reader in
            try ZoneTable.all(reader).filter { row in
                guard row.token != nil, !row.isFullFetch, row.zone.isHome || !row.needsFetch else { return false }
                return try !released(from: row.zone.number, reader).isEmpty
            }
        }
    }

    /// Decides on rows that lost required targets to a page of another zone: they get the server's target, or are withheld in their zone.
    ///
    /// - Parameter commit: The commit of the page, which gets the changed rows.
    func completeOrWithhold(_ incomplete: [RowKey], _ suspects: inout Set<RowKey>, _ commit: inout StoreCommit, _ writer: StoreWriter)
        throws
    {
        if incomplete.isEmpty { return }
        let anyZone = reader(writer)
        var keys: [Int64: [RowKey]] = [:]
        for key in incomplete { if let zone = try anyZone.zone(of: key) { keys[zone, default: []].append(key) } }
        for (zone, keys) in keys.sorted(by: { $0.key < $1.key }) {
            let page = ImportPage(records: [], deletions: [], askedWith: nil, token: "", moreComing: true)
            var loaded = ImportPlan.Loaded()
            loaded.incomplete = keys
            try file.uniqueObjects.loadSurroundings(of: keys, writer, reader(writer, zone: zone), into: &loaded)
            var draft = ImportPlan.make(page, loaded: loaded, mapping: mapping)
            while try file.uniqueObjects.surround(draft, in: &loaded, zone: zone, writer) {
                draft = ImportPlan.make(page, loaded: loaded, mapping: mapping)
            }
            let plan = draft.assigning(try file.imports.realKeys(for: draft.newKeys, writer))
            var joined = JoinedCommit(store: store.number)
            joined.append(commit)
            joined.append(try file.imports.write(plan, loaded: loaded, writer))
            try self.writer(writer, zone: zone).write(plan.bookkeeping, now: now)
            try file.followers.deferCleared(plan.clearedElsewhere, writer)
            commit = joined.commit()
            commit.relationshipOwners.formUnion(
                try file.order.arrange(file.order.listsTouched(by: plan, zone: zone, writer), zone: zone, writer))
            commit.relationshipOwners.subtract(commit.inserted)
            if mapping.hasOneToOne { suspects.formUnion(OneToOneRepair.suspects(in: plan, loaded: loaded.rows, mapping: mapping)) }
            try completeOrWithhold(plan.incompleteElsewhere, &suspects, &commit, writer)
        }
    }

    func count() throws -> Int {
        guard mapping.keepsIncomplete else { return 0 }
        return try store.read { try reader($0).incompleteCount() }
    }
}
