// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

/// Relocations in pages of changes: records that other devices have relocated, and edits of source records.
struct RelocationArrivals: FileTransactions {
    let file: MirrorFile

    // MARK: Stamps

    /// Returns the stamp to send with a row's record; nil for a row that was not relocated.
    func stamp(of row: Row, for state: RecordState, _ reader: StoreReader) throws -> RelocationStamp? {
        guard scope == .private, let (source, number) = try self.reader(reader).sourceRecord(of: row.key),
            let zone = try ZoneTable.row(number, reader)?.zone
        else { return scope == .private ? RelocationStamp.forwardingAwaited(to: state) : nil }
        if state.changeTag != nil { return RelocationStamp.forwarding(source, to: state) }
        var stamp = RelocationStamp(name: source.recordName, zone: zone.id)
        let metadata = self.reader(reader, zone: number)
        if let entity = mapping.entities[row.key.entityIndex], let name = try metadata.record(of: row.key)?.recordName {
            var names: [RowKey: String] = [:]
            for key in row.references { names[key] = try metadata.record(of: key)?.recordName }
            let deferred = try metadata.zone(of: row.key).map { try self.reader(reader, zone: $0).deferredReferences(from: name) } ?? []
            entity.addSource(source, row, names: names, parked: deferred, to: &stamp)
        }
        return stamp
    }

    // MARK: Pages of the zone of a share

    /// Loads the merge bases of source records of a page's objects: edits forwarded from there are not sent yet.
    func loadFormer(_ page: ImportPage, _ reader: StoreReader, into loaded: inout ImportPlan.Loaded) throws {
        guard scope == .private else { return }
        let home = self.reader(reader)
        for record in page.records {
            guard let state = loaded.records[record.recordName], state.stage == .needsUpload,
                let source = try home.sourceRecord(of: state.key),
                source.zone == MirrorZone.home
            else { continue }
            loaded.former[record.recordName] = source.state.ancestor
        }
    }

    /// Adopts and reconciles relocated records of a page, before it is planned.
    ///
    /// - Returns: Relocations of this device that are resumed with the rows of the page.
    func prepareArrivals(
        in page: inout ImportPage, _ zone: MirrorZone, _ writer: StoreWriter, _ related: inout RelatedRows
    ) throws -> [ResumedRelocation] {
        guard scope == .private else { return [] }
        let home = self.writer(writer, zone: MirrorZone.home), destination = self.writer(writer, zone: zone.number)
        var adopted: [String] = [], reconciled: [String] = [], resumed: [ResumedRelocation] = []
        let owner = try StateTable.text(.user, writer)
        for (index, record) in page.records.enumerated() where record.mayBeRelocation(by: owner) {
            if record.recordType == MirrorNames.linkRecordType {
                try prepareArrival(ofLink: record.recordName, home, destination, writer)
                continue
            }
            switch RecordArrival.decide(record, try stored(record, home.reader, destination.reader), mapping: mapping) {
            case .ordinary: continue
            case .completed(let completed): page.replace(at: index, with: completed)
            case .adopted(let state, let source, let completed):
                try home.moveRecord(named: source.recordName, to: destination, as: state)
                page.replace(at: index, with: completed)
                adopted.append(record.recordName)
            case .reconciled(let state, let source, let completed):
                var changes = BookkeepingChanges()
                changes.records = [state]
                try home.removeRecord(named: source.recordName)
                try destination.write(changes, now: now)
                page.replace(at: index, with: completed)
                reconciled.append(record.recordName)
            case .resumed(let relocation, let completed):
                page.replace(at: index, with: completed)
                resumed.append(relocation)
            }
        }
        for name in adopted + reconciled { try resolveDeferredReferences(of: name, destination) }
        try file.arrivals.relate(arrived: adopted + reconciled, in: zone.number, writer, &related)
        if !adopted.isEmpty { try ZoneTable.set(.receives, .int(1), of: zone.number, writer) }
        return resumed
    }

    /// Gives rows of a page the source records that they had before they were withheld, and lets objects of the home zone that are linked
    /// with new rows follow those.
    func resume(_ relocations: [ResumedRelocation], after plan: ImportPlan, _ zone: MirrorZone, _ writer: StoreWriter) throws {
        guard scope == .private, !zone.isHome else { return }
        let home = reader(writer)
        if try home.hasLinks(), try plan.insertedNames.contains(where: { try !home.links(touching: $0).isEmpty }) {
            try ZoneTable.set(.receives, .int(1), of: zone.number, writer)
        }
        for relocation in relocations {
            let changes = relocation.changes(after: plan.bookkeeping, mapping: mapping)
            try self.writer(writer, zone: MirrorZone.home).write(changes.home, now: now)
            try self.writer(writer, zone: zone.number).write(changes.destination, now: now)
        }
    }

    private func stored(_ record: Record, _ home: SyncMetadataReader, _ destination: SyncMetadataReader) throws -> RecordArrival.Stored {
        var stored = RecordArrival.Stored(record: try destination.record(named: record.recordName))
        if let known = stored.record {
            if known.changeTag == nil, let source = try home.sourceRecord(of: known.key), source.zone == MirrorZone.home {
                stored.source = source.state
            }
        } else if let stamp = RelocationStamp.ofHomeZone(record) {
            stored.stamped = try home.record(named: stamp.name)
            stored.withheld = try destination.withheldRecord(named: record.recordName)
        }
        return stored
    }

    private func prepareArrival(ofLink name: String, _ home: SyncMetadataWriter, _ destination: SyncMetadataWriter, _ writer: StoreWriter)
        throws
    {
        guard try destination.reader.link(named: name) == nil, let link = try home.reader.link(named: name) else { return }
        let ends = try [link.pair.first, link.pair.second].map { try destination.reader.record(named: $0) ?? home.reader.record(named: $0) }
        var isLinked = false
        if let first = ends[0]?.key, let second = ends[1]?.key, let relationship = mapping.links[link.pair.kind] {
            isLinked = try file.arrivals.self.isLinked(first, second, relationship, writer)
        }
        switch LinkArrival.decide(isKnown: false, home: link, hasBothEnds: !ends.contains(nil), isLinked: isLinked, mapping: mapping) {
        case .ordinary: return
        case .adopted(let adopted): try home.moveLink(to: destination, as: adopted)
        case .forgotten:
            var changes = BookkeepingChanges()
            changes.removedLinks = [name]
            try home.write(changes, now: now)
        }
    }

    /// Lets the next merge set references of an adopted record to targets that arrived before it.
    private func resolveDeferredReferences(of name: String, _ destination: SyncMetadataWriter) throws {
        let metadata = destination.reader
        guard let state = try metadata.record(named: name) else { return }
        let resolved = try DeferredReferenceArrival.resolvedFields(of: state, metadata.deferredReferences(from: name), mapping: mapping) {
            try metadata.record(named: $0) != nil
        }
        if resolved.isEmpty { return }
        var changes = BookkeepingChanges()
        changes.unparked = resolved.map(\.key)
        changes.records = [state.withoutMergeBase(of: resolved.map(\.field))]
        try destination.write(changes, now: now)
    }

    // MARK: Pages of the home zone

    /// Loads the rows of targets that were relocated: in the home zone, other devices may let relocated objects refer to them.
    func loadTargetsElsewhere(_ needs: ImportNeeds, _ reader: StoreReader, into loaded: inout ImportPlan.Loaded) throws {
        guard scope == .private, loaded.records.values.contains(where: \.isRelocated) else { return }
        for name in needs.names where loaded.records[name] == nil {
            guard let zone = try self.reader(reader).currentZone(ofRecordNamed: name),
                let state = try self.reader(reader, zone: zone).record(named: name),
                state.stage != .needsDelete
            else { continue }
            loaded.targetsElsewhere[name] = state.key
            loaded.existing.insert(state.key)
        }
    }

    /// Loads the deferred references of relocated records of a page, which are those of their current records.
    func loadRelocatedReferences(_ reader: StoreReader, into loaded: inout ImportPlan.Loaded) throws {
        guard scope == .private else { return }
        let home = self.reader(reader)
        for source in loaded.records.values.sorted(by: { $0.recordName < $1.recordName }) where source.isRelocated {
            guard let current = try home.record(of: source.key), let zone = try home.zone(of: source.key) else { continue }
            let references = try self.reader(reader, zone: zone).deferredReferences(from: current.recordName)
            loaded.parked += RelocatedReferences.named(source.recordName, references)
        }
    }

    /// Writes the changes of a plan; deferred references of relocated records to the zones of their current records.
    func writeBookkeeping(of plan: ImportPlan, _ zone: MirrorZone, _ writer: StoreWriter) throws {
        var changes = plan.bookkeeping
        if scope == .private, zone.isHome {
            let home = reader(writer)
            let taken = try RelocatedReferences.take(from: &changes) { source in
                guard let state = try home.record(named: source), state.isRelocated, let current = try home.record(of: state.key),
                    let zone = try home.zone(of: state.key)
                else { return nil }
                return (zone, current.recordName)
            }
            for (zone, changes) in taken { try self.writer(writer, zone: zone).write(changes, now: now) }
            try DeletedNameTable.remove(DeletedNames.ended(by: plan), writer)
        }
        try self.writer(writer, zone: zone.number).write(changes, now: now)
    }

    /// Stores source records of relocated objects that a restored server has again.
    func restoreSources(in page: ImportPage, _ writer: StoreWriter) throws {
        guard scope == .private, let generation = page.generation, try StateTable.int(.isHomeHistoryLost, writer) == 1 else { return }
        if !page.moreComing { try StateTable.set(.isHomeHistoryLost, .null, writer) }
        let home = self.writer(writer, zone: MirrorZone.home)
        let owner = try StateTable.text(.user, writer), mark = try writer.latestTransaction()
        for record in page.records where record.recordType != MirrorNames.linkRecordType {
            guard try !home.reader.hasRecord(named: record.recordName),
                let current = try home.reader.recordAnywhere(named: record.recordName),
                try home.reader.sourceRecord(of: current.key) == nil,
                let source = try RelocatedRecord.restoredSource(
                    record, of: current, owner: owner, generation: generation, mark: mark, mapping: mapping,
                    key: { try writer.allocateKeys(for: current.key.entityIndex, count: 1).first ?? current.key })
            else { continue }
            try home.writeSource(source)
        }
    }

    /// Removes records of a page of the home zone that other devices have relocated.
    func withoutRelocated(_ page: ImportPage, _ reader: StoreReader) throws -> ImportPage {
        guard scope == .private, try ZoneTable.all(reader).count > 1 else { return page }
        var page = page
        let home = self.reader(reader)
        func isLink(_ record: Record) -> Bool { record.recordType == MirrorNames.linkRecordType }
        page.records = try page.recordsOfHome(
            isInHome: { try isLink($0) ? home.link(named: $0.recordName) != nil : home.record(named: $0.recordName) != nil },
            isElsewhere: {
                if isLink($0) { return try home.hasLinkAnywhere(named: $0.recordName) }
                guard mapping.hasUniqueness else { return try home.hasRecordAnywhere(named: $0.recordName) }
                return try home.recordAnywhere(named: $0.recordName)?.isRelocation(of: $0, mapping: mapping) == true
            })
        return page
    }

    /// Undoes relocations if another device has deleted the source record, so that the object is deleted as any object of the home zone. No
    /// other device has relocated it: of two devices, the second one knows of the first.
    func undoRelocations(of deletions: [String], _ writer: StoreWriter) throws {
        guard scope == .private, try ZoneTable.all(writer).count > 1 else { return }
        let home = self.writer(writer, zone: MirrorZone.home)
        for name in deletions {
            guard let source = try home.reader.record(named: name), UndoneRelocation.isDecided(byDeletionOf: source, mapping: mapping),
                let current = try home.reader.record(of: source.key),
                let zone = try home.reader.zone(of: source.key)
            else { continue }
            let destination = self.writer(writer, zone: zone)
            let undone = UndoneRelocation(source: source, current: current, mark: try writer.latestTransaction())
            if let state = undone.destination {
                try destination.write(state)
            } else {
                try destination.removeRecord(named: current.recordName)
            }
            try home.write(undone.source)
            try destination.deleteLinks(of: current.recordName)
            try destination.removeDeferredReferences(from: current.recordName)
        }
    }

    /// Sends edits of source records that the relocating device did not forward before it deleted them.
    func forwardAwaited(after page: ImportPage, _ writer: StoreWriter) throws {
        let isEndOfFullFetch = page.generation != nil && !page.moreComing
        guard scope == .private, isEndOfFullFetch || !page.deletions.isEmpty, try ZoneTable.hasShares(writer) else { return }
        for zone in try ZoneTable.all(writer) where !zone.zone.isHome {
            let destination = self.writer(writer, zone: zone.zone.number)
            for name in page.deletions {
                let state = try destination.reader.record(named: name)
                if let forwarding = state?.forwardingAwaited(ofDeleted: name, mapping: mapping) { try destination.write(forwarding) }
            }
            for withheld in mapping.keepsIncomplete ? try destination.reader.incomplete(with: MirrorNames.awaited) : [] {
                if let forwarding = withheld.forwardingAwaited(after: page) { try destination.write(forwarding) }
            }
            for name in isEndOfFullFetch ? try destination.reader.namesAwaitingEdits() : [] {
                let state = try destination.reader.record(named: name)
                if let forwarding = state?.forwardingAwaited(ofDeleted: nil, mapping: mapping) { try destination.write(forwarding) }
            }
        }
    }
}
