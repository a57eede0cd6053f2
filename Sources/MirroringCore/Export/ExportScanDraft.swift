// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

extension ExportScan {
    /// The decisions of one scan while they are made.
    struct Draft {
        private let mapping: RecordMapping
        private let loaded: Loaded
        private let mark: Int64
        private var names: NewRecordNames
        private var records: [RowKey: RecordState]
        private var recordOrder: [RowKey] = []
        private var touched: Set<String> = []
        private var links: [String: LinkState]
        private var linkOrder: [String] = []
        private var linksByPair: [LinkPair: [String]] = [:]
        private var linksByEnd: [String: [String]] = [:]
        private let parkedBySource: [String: [ParkedRelationship]]
        private var keyByName: [String: RowKey]
        private var unparked: [ParkedRelationship.Key] = []
        private var conflicts: [ConflictEntry] = []

        /// - Parameter count: How many records there will probably be.
        init(mapping: RecordMapping, loaded: Loaded, mark: Int64, names: NewRecordNames, count: Int) {
            self.mapping = mapping
            self.loaded = loaded
            self.mark = mark
            self.names = names
            records = loaded.records
            if count > records.capacity {
                records.reserveCapacity(count)
                recordOrder.reserveCapacity(count)
            }
            keyByName =
                mapping.links.isEmpty
                ? [:] : Dictionary(loaded.records.values.map { ($0.recordName, $0.key) }, uniquingKeysWith: { first, _ in first })
            links = [:]
            parkedBySource = loaded.parked.isEmpty ? [:] : Dictionary(grouping: loaded.parked, by: \.key.source)
            for link in loaded.links where links[link.recordName] == nil { index(link) }
        }

        private mutating func index(_ link: LinkState) {
            links[link.recordName] = link
            linksByPair[link.pair, default: []].append(link.recordName)
            linksByEnd[link.pair.first, default: []].append(link.recordName)
            if link.pair.second != link.pair.first { linksByEnd[link.pair.second, default: []].append(link.recordName) }
        }

        var changes: BookkeepingChanges {
            var changes = BookkeepingChanges()
            changes.records = recordOrder.compactMap { records[$0] }
            changes.links = linkOrder.compactMap { links[$0] }
            changes.unparked = unparked
            changes.conflicts = conflicts
            return changes
        }

        mutating func markForUpload(_ key: RowKey) {
            guard var record = records[key] else {
                let record = RecordState(recordName: loaded.uniqueNames[key] ?? names.next(), key: key, stage: .needsUpload, mark: mark)
                if !mapping.links.isEmpty { keyByName[record.recordName] = key }
                recordOrder.append(key)
                records[key] = record
                return
            }
            // Deleted on another device: the next import removes the row, so its edits are not sent.
            guard record.stage != .missing else { return }
            record.stage = .needsUpload
            record.mark = ChangeMark.next(after: loaded.records[key]?.mark, in: mark)
            record.failure = nil
            put(record)
        }

        private mutating func put(_ record: RecordState) {
            // Links that were made here are in order since.
            if loaded.records[record.key] != nil, touched.insert(record.recordName).inserted { recordOrder.append(record.key) }
            records[record.key] = record
        }

        /// Sends pairs that have no record yet, and deletes the records of pairs that are gone.
        mutating func compareLinks(_ listing: Listing) {
            guard let link = mapping.link(entity: listing.owner.entityIndex, toMany: listing.relationship),
                let owner = records[listing.owner]?.recordName
            else { return }
            func pair(_ destination: String) -> LinkPair {
                link.pair(
                    owner: owner, ownersRelationship: listing.relationship, ownersEntity: listing.owner.entityIndex,
                    destination: destination, in: mapping)
            }
            var present: Set<LinkPair> = []
            for destination in loaded.destinations[listing] ?? [] {
                // An object of which history says nothing: it was there before mirroring was switched on.
                if records[destination] == nil { markForUpload(destination) }
                guard let name = records[destination]?.recordName else { continue }
                let pair = pair(name)
                present.insert(pair)
                if !(linksByPair[pair] ?? []).contains(where: { links[$0]?.isLive == true }) {
                    let new = LinkState(recordName: names.next(), pair: pair, stage: .needsUpload, mark: mark)
                    index(new)
                    touched.insert(new.recordName)
                    linkOrder.append(new.recordName)
                }
            }
            for name in linksByEnd[owner] ?? [] {
                guard let known = links[name], known.isLive, known.pair.kind == link.kind, !present.contains(known.pair)
                else { continue }
                let other = known.pair.first == owner ? known.pair.second : known.pair.first
                // The pair faces the other way (a relationship between objects of one entity) or waits for an
                // object that has not come: neither was taken apart here.
                guard pair(other) == known.pair, let end = keyByName[other], loaded.existing.contains(end) else { continue }
                delete(known)
            }
        }

        mutating func markForDeletion(_ key: RowKey) {
            guard var record = records[key] else { return }
            if record.stage != .needsDelete {
                record.stage = .needsDelete
                record.mark = ChangeMark.next(after: loaded.records[key]?.mark, in: mark)
                record.failure = nil
                put(record)
            }
            for name in linksByEnd[record.recordName] ?? [] {
                if let link = links[name], link.stage != .needsDelete { delete(link) }
            }
            for parked in parkedBySource[record.recordName] ?? [] {
                unparked.append(parked.key)
                // The deleting device did not see targets that had not arrived.
                conflicts.append(parked.lost(of: mapping.syncName(ofEntity: key.entityIndex), to: .localDeletion, at: record.modified))
            }
        }

        private mutating func delete(_ link: LinkState) {
            var link = link
            link.stage = .needsDelete
            link.mark = ChangeMark.next(after: touched.contains(link.recordName) ? nil : link.mark, in: mark)
            link.failure = nil
            if touched.insert(link.recordName).inserted { linkOrder.append(link.recordName) }
            links[link.recordName] = link
        }
    }
}
