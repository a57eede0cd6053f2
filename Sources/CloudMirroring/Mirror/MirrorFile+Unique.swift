// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import SQLiteStore

// Objects with values that must be unique: their record names follow from the values, and what has the same values is merged.

extension MirrorFile {
    /// After so many names that belong to others an object gets one that follows from nothing.
    private static let nameAttemptsMax = 8

    // MARK: Names

    /// Names of new objects of a scan that follow from their values.
    func uniqueNames(of keys: [RowKey], _ writer: StoreWriter, _ bookkeeping: BookkeepingReader) throws -> [RowKey: String] {
        guard mapping.hasUniqueness else { return [:] }
        var names: [RowKey: String] = [:]
        var taken: Set<String> = []
        for row in try writer.rows(keys.filter { mapping.isUnique($0.entityIndex) }) {
            guard let name = try uniqueName(of: row, besides: taken, bookkeeping) else { continue }
            names[row.key] = name
            taken.insert(name)
        }
        return names
    }

    private func uniqueName(of row: Row, besides taken: Set<String>, _ bookkeeping: BookkeepingReader) throws -> String? {
        guard let unique = mapping.uniqueValues(of: row).first else { return nil }
        return try (0..<Self.nameAttemptsMax).lazy.map { mapping.recordName(for: unique, attempt: $0) }.first {
            // What waits for a record of the name waits for another object than this one.
            try !taken.contains($0) && bookkeeping.record(named: $0) == nil && bookkeeping.parked(destination: $0).isEmpty
                && bookkeeping.successor(of: $0) == nil
        }
    }

    /// Gives other names to objects that were never sent and whose names belong to records of a page that are something else: they had
    /// the same values once.
    func makeRoom(for page: ImportPage, zone: Int64, _ writer: StoreWriter) throws {
        guard mapping.hasUniqueness else { return }
        let bookkeeping = reader(writer, zone: zone)
        for record in page.records {
            guard let entity = mapping.entity(of: record), mapping.isUnique(entity.entity.index),
                let state = try bookkeeping.record(named: record.recordName), state.changeTag == nil, state.stage == .needsUpload, !state.isMovedOut,
                let row = try writer.row(state.key), Set(mapping.uniqueValues(of: row)).isDisjoint(with: mapping.uniqueValues(of: record))
            else { continue }
            try rename(state, to: try uniqueName(of: row, besides: [], bookkeeping) ?? surroundings.makeName(), row, writer, bookkeeping)
        }
    }

    private func rename(
        _ state: RecordState, to name: String, _ row: Row, _ writer: StoreWriter, _ bookkeeping: BookkeepingReader
    ) throws {
        let arguments: [SQLValue] = [.int(bookkeeping.zone), .text(state.recordName), .text(name)]
        try writer.execute("UPDATE TARN_RECORD SET name = ?3, failure = NULL WHERE zone = ?1 AND name = ?2", arguments)
        try writer.execute("UPDATE TARN_PARKED SET source = ?3 WHERE zone = ?1 AND source = ?2", arguments)
        try MergedTable.move(state.recordName, from: bookkeeping.zone, to: bookkeeping.zone, as: name, writer)
        try renameLinks(of: state.recordName, to: name, writer, bookkeeping)
        // What was sent with the old name says another object.
        for key in try referrers(to: state.key, row, writer) {
            try writer.execute(
                "UPDATE TARN_RECORD SET stage = ? WHERE entity = ? AND pk = ? AND stage = ?",
                [
                    .int(Int64(MirrorStage.needsUpload.rawValue)), .text(bookkeeping.entityName(key)), .int(key.primaryKey),
                    .int(Int64(MirrorStage.uploaded.rawValue)),
                ])
        }
    }

    /// Lets pairs that this device made of an object be of its new name; those that others made are of whose name it was.
    private func renameLinks(of old: String, to name: String, _ writer: StoreWriter, _ bookkeeping: BookkeepingReader) throws {
        var changes = BookkeepingChanges()
        let mark = try writer.latestTransaction()
        for var link in try bookkeeping.links(touching: old) where link.changeTag == nil || link.mark > 0 {
            let wasSent = link.changeTag != nil || link.stage == .uploaded
            link.pair = link.pair.renaming(old, to: name, isSymmetric: mapping.links[link.pair.kind]?.isSymmetric == true)
            if wasSent, link.isLive {
                // Links never change, and this one leads to somebody else's object.
                var new = LinkState(recordName: surroundings.makeName(), pair: link.pair, stage: .needsUpload, mark: mark)
                new.ranks = link.ranks
                changes.links.append(new)
                link.stage = .needsDelete
                link.mark = mark
                link.failure = nil
            }
            changes.links.append(link)
        }
        try self.writer(writer, zone: bookkeeping.zone).write(changes, now: now)
    }

    // MARK: What a page touches besides

    /// Loads what took over objects that a page names; at the end of an import, what still waits for such objects, too.
    func loadSuccessors(_ page: ImportPage, _ needs: ImportNeeds, _ bookkeeping: BookkeepingReader, into loaded: inout ImportPlan.Loaded) throws {
        guard try bookkeeping.hasMerged() || page.records.contains(where: { !mapping.mergedNames(of: $0).names.isEmpty }) else { return }
        var names = needs.names
        if !page.moreComing {
            let inUse = Set(try bookkeeping.mergedNamesInUse() + page.records.flatMap { mapping.mergedNames(of: $0).names })
            for name in inUse.sorted() {
                loaded.parked += try bookkeeping.parked(destination: name)
                loaded.links += try bookkeeping.links(touching: name)
            }
            names += inUse.sorted()
        }
        // What was merged here into something that is gone may have to go on by itself.
        for name in page.deletions {
            for other in try bookkeeping.merged(into: name).names.sorted() {
                loaded.records[other] = try bookkeeping.record(named: other)
                loaded.parked += try bookkeeping.parked(destination: other)
            }
        }
        while let name = names.popLast() {
            if loaded.records[name] == nil { loaded.records[name] = try bookkeeping.record(named: name) }
            guard loaded.successors[name] == nil, let into = try bookkeeping.successor(of: name) else { continue }
            loaded.successors[name] = into
            names.append(into)
            if !page.moreComing { loaded.links += try bookkeeping.links(touching: into) }
        }
    }

    /// Loads what surrounds rows that have values that a plan gives to others, and rows that lose what they must have.
    ///
    /// What is to have values of a row in another zone waits: to make one of the two would give one away that is shared with nobody, or
    /// with others.
    ///
    /// - Returns: Whether there was any that was not loaded: then the page has to be planned again.
    func surround(_ plan: ImportPlan, in loaded: inout ImportPlan.Loaded, zone: Int64, _ writer: StoreWriter) throws -> Bool {
        guard mapping.hasUniqueness || mapping.hasRequirements else { return false }
        let bookkeeping = reader(writer, zone: zone)
        var found = plan.takenBack
        var heldBack: Set<String> = []
        var owners: [UniqueValues: RowKey] = [:]
        let deleted = plan.deletedKeys, names = plan.recordNames
        for (unique, key) in plan.unique {
            let all = try writer.keys(with: unique.constraint, values: unique.values).filter { $0 != key && !deleted.contains($0) }
            var same = try all.filter { try bookkeeping.zone(of: $0) == zone }
            if same.count < all.count, let name = names[key] { heldBack.insert(name) }
            if let owner = owners[unique], owner != key { same.append(owner) }
            owners[unique] = key
            if !same.isEmpty { found += same + [key] }
        }
        for (unique, key) in plan.given {
            found += try writer.keys(with: unique.constraint, values: unique.values).filter {
                try $0 != key && !deleted.contains($0) && bookkeeping.zone(of: $0) == zone
            }
        }
        var new: [RowKey] = []
        var seen = Set(loaded.surrounded)
        for key in found where !key.isTemporary && seen.insert(key).inserted { new.append(key) }
        heldBack.subtract(loaded.heldBack)
        loaded.heldBack.formUnion(heldBack)
        if new.isEmpty { return !heldBack.isEmpty }
        var details = ImportNeeds.Details()
        details.keys = new
        details.referred = new
        for key in new {
            guard let state = try bookkeeping.record(of: key) else { continue }
            loaded.records[state.recordName] = state
            // What was set here may be gone, and then what the server says is to be shown.
            for target in mapping.entities[key.entityIndex]?.requiredTargets(of: state).values.sorted() ?? [] where loaded.records[target] == nil {
                loaded.records[target] = try bookkeeping.record(named: target)
            }
            loaded.parked += try bookkeeping.parked(source: state.recordName)
            loaded.parked += try bookkeeping.parked(destination: state.recordName)
            details.linkEnds.append(state.recordName)
        }
        for parked in loaded.parked where loaded.records[parked.key.source] == nil {
            loaded.records[parked.key.source] = try bookkeeping.record(named: parked.key.source)
        }
        try load(details, writer, bookkeeping, into: &loaded)
        loaded.surrounded += new
        return true
    }
}
