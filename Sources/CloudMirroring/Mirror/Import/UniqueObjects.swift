// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import SQLiteStore

/// Objects with unique values: their record names follow from the values, and objects with the same values are merged.
struct UniqueObjects: FileTransactions {
    let file: MirrorFile

    // MARK: Names

    /// Returns the record names of new objects that follow from their values.
    func names(of keys: [RowKey], _ writer: StoreWriter, _ metadata: SyncMetadataReader) throws -> [RowKey: String] {
        guard mapping.hasUniqueness else { return [:] }
        var names: [RowKey: String] = [:]
        var taken: Set<String> = []
        for row in try writer.rows(keys.filter { mapping.isUnique($0.entityIndex) }) {
            guard let name = try name(of: row, besides: taken, metadata) else { continue }
            names[row.key] = name
            taken.insert(name)
        }
        return names
    }

    func name(of row: Row, besides taken: Set<String>, _ metadata: SyncMetadataReader) throws -> String? {
        try Rekeying.name(of: row, mapping: mapping) {
            // Deferred references to a record of the name, and links that wait for one, are to another object than this one.
            try !taken.contains($0) && !metadata.hasRecordAnywhere(named: $0)
                && metadata.deferredReferences(to: $0).isEmpty
                && metadata.links(touching: $0).allSatisfy { $0.stage == .needsDelete }
                && metadata.successor(of: $0) == nil
        }
    }

    /// Renames objects that were never sent if their names belong to other objects of a page.
    func makeRoom(for page: ImportPage, zone: Int64, _ writer: StoreWriter, _ related: inout RelatedRows) throws {
        guard mapping.hasUniqueness else { return }
        let metadata = reader(writer, zone: zone)
        for record in page.records {
            guard let entity = mapping.entity(of: record), mapping.isUnique(entity.entity.index),
                let state = try metadata.record(named: record.recordName), Rekeying.isRekeyable(state), let row = try writer.row(state.key),
                Rekeying.isNameTaken(from: state, row, by: record, mapping: mapping)
            else { continue }
            try rename(
                state, to: try name(of: row, besides: [], metadata) ?? surroundings.makeName(), row, writer, metadata, &related)
        }
    }

    private func rename(
        _ state: RecordState, to name: String, _ row: Row, _ writer: StoreWriter, _ metadata: SyncMetadataReader,
        _ related: inout RelatedRows
    ) throws {
        let tables = self.writer(writer, zone: metadata.zone)
        try unlink(Rekeying.pairsToUnlink(try metadata.links(touching: state.recordName)), writer, metadata, &related)
        try tables.renameRecord(state.recordName, to: name)
        try renameLinks(of: state.recordName, to: name, writer, metadata)
        // References that were sent with the old name lead to the other object.
        for key in try file.imports.referrers(to: state.key, row, writer) { try tables.markForUploadIfUploaded(key) }
    }

    /// Unlinks rows of pairs that belong to another object.
    private func unlink(_ pairs: [LinkPair], _ writer: StoreWriter, _ metadata: SyncMetadataReader, _ related: inout RelatedRows) throws {
        for pair in pairs {
            guard let relationship = mapping.links[pair.kind], let first = try metadata.record(named: pair.first)?.key,
                let second = try metadata.record(named: pair.second)?.key, try file.arrivals.isLinked(first, second, relationship, writer)
            else { continue }
            var changes = StoreChanges()
            changes.author = MirrorNames.importAuthor
            changes.links = [
                LinkChange(owner: first, relationship: relationship.first.relationship, destination: second, isAddition: false)
            ]
            try writer.apply(changes)
            related.add(linked: first, second, lists: [])
        }
    }

    /// Renames the ends of links that this device created.
    private func renameLinks(of old: String, to name: String, _ writer: StoreWriter, _ metadata: SyncMetadataReader) throws {
        var changes = BookkeepingChanges()
        changes.links = Rekeying.links(
            try metadata.links(touching: old), renaming: old, to: name, mark: try writer.latestTransaction(), mapping: mapping,
            makeName: surroundings.makeName)
        try self.writer(writer, zone: metadata.zone).write(changes, now: now)
    }

    // MARK: Loading

    /// Loads the records that supersede records of a page; at the end of an import, also deferred references and links to superseded records.
    func loadSuccessors(_ page: ImportPage, _ needs: ImportNeeds, _ metadata: SyncMetadataReader, into loaded: inout ImportPlan.Loaded)
        throws
    {
        if mapping.hasUniqueness { try loaded.restoreRedirects(of: page.deletions) { try metadata.record(named: $0) } }
        guard
            try !loaded.successors.isEmpty || metadata.hasMerged()
                || page.records.contains(where: { !mapping.mergedNames(of: $0).names.isEmpty })
        else { return }
        var names = needs.names + loaded.successors.values.sorted() + loaded.namesTakenOffLists(by: page, mapping: mapping)
        if !page.moreComing {
            let inUse = Set(try metadata.mergedNamesInUse() + page.records.flatMap { mapping.mergedNames(of: $0).names })
            for name in inUse.sorted() {
                loaded.parked += try metadata.deferredReferences(to: name)
                loaded.links += try metadata.links(touching: name)
            }
            names += inUse.sorted()
        }
        // A record that was merged into a deleted one may become an object again.
        for name in page.deletions {
            for other in try metadata.merged(into: name).names.sorted() {
                loaded.records[other] = try metadata.record(named: other)
                loaded.parked += try metadata.deferredReferences(to: other)
            }
        }
        while let name = names.popLast() {
            if loaded.records[name] == nil { loaded.records[name] = try metadata.record(named: name) }
            guard loaded.successors[name] == nil, let into = try metadata.successor(of: name) else { continue }
            loaded.successors[name] = into
            names.append(into)
            if !page.moreComing { loaded.links += try metadata.links(touching: into) }
        }
    }

    /// Loads the neighbours of rows with unique values that a plan gives to other rows, and of rows that lose a required object.
    ///
    /// A record with unique values of a row in another zone is withheld: merging both would reveal an object that is not shared, or is
    /// shared with others.
    ///
    /// - Returns: `true` if rows were loaded: the page has to be planned again.
    func surround(_ plan: ImportPlan, in loaded: inout ImportPlan.Loaded, zone: Int64, _ writer: StoreWriter) throws -> Bool {
        guard mapping.hasUniqueness || mapping.hasRequirements else { return false }
        let metadata = reader(writer, zone: zone)
        let neighbours = try UniqueNeighbours(
            of: plan, in: zone, owners: { try writer.keys(with: $0.constraint, values: $0.values) }, zoneOf: { try metadata.zone(of: $0) })
        let heldBack = neighbours.blocked.subtracting(loaded.heldBack)
        var new: [RowKey] = []
        var seen = Set(loaded.surrounded)
        for key in neighbours.keys where !key.isTemporary && seen.insert(key).inserted { new.append(key) }
        loaded.heldBack.formUnion(heldBack)
        if new.isEmpty { return !heldBack.isEmpty }
        try loadSurroundings(of: new, writer, metadata, into: &loaded)
        return true
    }

    /// Loads rows with their referrers, links, deferred references and required targets.
    func loadSurroundings(of new: [RowKey], _ writer: StoreWriter, _ metadata: SyncMetadataReader, into loaded: inout ImportPlan.Loaded)
        throws
    {
        var details = ImportNeeds.Details()
        details.keys = new
        details.referred = new
        for key in new {
            guard let state = try metadata.record(of: key) else { continue }
            loaded.records[state.recordName] = state
            // If the target of this device is deleted, the server's is shown.
            for target in mapping.entities[key.entityIndex]?.requiredTargets(of: state).values.sorted() ?? []
            where loaded.records[target] == nil {
                loaded.records[target] = try metadata.record(named: target)
            }
            loaded.parked += try metadata.deferredReferences(from: state.recordName)
            loaded.parked += try metadata.deferredReferences(to: state.recordName)
            details.linkEnds.append(state.recordName)
        }
        for parked in loaded.parked where loaded.records[parked.key.source] == nil {
            loaded.records[parked.key.source] = try metadata.record(named: parked.key.source)
        }
        try file.imports.load(details, writer, metadata, into: &loaded)
        loaded.surrounded += new
    }
}
