// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import ManagedModel

/// The second half of an export decision: the items of the next batch, from the records and links that the scan marked.
package struct BatchPlan: Hashable, Sendable {
    package struct Needs: Hashable, Sendable {
        /// Keys of the rows to load, with the record names of all their to-one targets.
        package var keys: [RowKey] = []
        /// Record names whose deferred references to load.
        package var sources: [String] = []
    }

    package struct Loaded: Sendable {
        package var rows: [RowKey: Row] = [:]
        /// Record names of to-one targets.
        package var names: [RowKey: String] = [:]
        package var parked: [ParkedRelationship] = []
        /// Relocation stamps to send, by record name: with the first record of an object in its destination zone, and with forwarded edits.
        package var receipts: [String: RelocationStamp] = [:]
        /// The objects that the update of a record takes off its list of superseded ones, by record name.
        package var separated: [String: [RecordState]] = [:]

        package init() {}
    }

    package private(set) var items: [ExportBatch.Item] = []
    /// Records that need nothing sent, and objects whose update follows the list that they are taken off: written before the items are sent.
    package private(set) var changes = BookkeepingChanges()

    private init() {}

    package static func needs(of pending: [RecordState]) -> Needs {
        let uploads = pending.filter { $0.stage == .needsUpload }
        return Needs(keys: uploads.map(\.key), sources: uploads.map(\.recordName))
    }

    /// Plans a batch. Changes that do not fit remain for the next one.
    ///
    /// - Parameters:
    ///   - pending: Marked records without a failure, oldest mark first.
    ///   - itemsMax: At most this many items, and never more than the limit of the requests.
    ///   - requestsMax: Requests that may carry the batch together.
    package static func plan(
        records pending: [RecordState], links: [LinkState], loaded: Loaded, mapping: RecordMapping,
        itemsMax: Int = .max, requestsMax: Int = 1, limits: Limits = Limits()
    ) -> BatchPlan {
        precondition(itemsMax > 0, "a batch has room for one item")
        var plan = BatchPlan()
        plan.fill(pending, links, loaded, mapping, itemsMax: itemsMax, requestsMax: requestsMax, limits)
        return plan
    }

    private mutating func fill(
        _ pending: [RecordState], _ links: [LinkState], _ loaded: Loaded, _ mapping: RecordMapping, itemsMax: Int, requestsMax: Int,
        _ limits: Limits
    ) {
        let itemsMax = min(itemsMax, limits.operationsPerRequest * requestsMax)
        let bytesMax = limits.requestRecordBytes * requestsMax
        var parked: [String: [String: String]] = [:]
        for entry in loaded.parked { parked[entry.key.source, default: [:]][entry.key.relationship] = entry.destination }
        var bytes = 0
        /// - Parameter group: Items of one batch. Of a group that is larger than a batch, the first ones that fit.
        /// - Returns: How many items there was room for.
        func append(_ group: [ExportBatch.Item]) -> Int {
            let sizes = group.map(\.approximateBytes)
            if !items.isEmpty, items.count + group.count > itemsMax || bytes + sizes.reduce(0, +) > bytesMax { return 0 }
            for (index, (item, size)) in zip(group, sizes).enumerated() {
                if !items.isEmpty, items.count == itemsMax || bytes + size > bytesMax { return index }
                items.append(item)
                bytes += size
            }
            return group.count
        }
        func update(of state: RecordState) -> ExportBatch.Item? {
            guard let row = loaded.rows[state.key], let entity = mapping.entities[state.key.entityIndex] else { return nil }
            let local = LocalRecord(row: row, of: entity, names: loaded.names, parked: parked[state.recordName] ?? [:], state: state)
            return ExportBatch.Item(state, local, entity, limits, receipt: loaded.receipts[state.recordName])
        }
        /// Names of updated records, if updates take objects off lists.
        var planned: Set<String> = []
        /// Records that are updated with a later batch than the lists that their objects are taken off, by name.
        var deferred: [String: RecordState] = [:]
        /// Returns the updates of objects that an update takes off its record's list, transitively.
        func updates(separatedBy name: String) -> [ExportBatch.Item] {
            var updates: [ExportBatch.Item] = []
            var found: Set<String> = [name]
            var waiting = loaded.separated[name] ?? []
            while let state = waiting.popLast() {
                guard !planned.contains(state.recordName), found.insert(state.recordName).inserted, state.failure == nil,
                    state.stage == .uploaded || loaded.rows[state.key] != nil
                else { continue }
                updates.append(
                    (state.stage == .needsUpload ? update(of: state) : nil) ?? .touch(state, type: mapping.recordType(of: state)))
                waiting += loaded.separated[state.recordName] ?? []
            }
            return updates
        }
        /// Notes the objects of which this batch has the shorter list, and not the update.
        func deferUpdates(separatedBy list: ExportBatch.Item) {
            for state in loaded.separated[list.recordName] ?? [] where !planned.contains(state.recordName) {
                guard state.stage == .uploaded || loaded.rows[state.key] != nil, deferred[state.recordName] == nil else { continue }
                let updated = state.updated(after: list)
                if state.failure == nil || updated != state { deferred[state.recordName] = updated }
            }
        }
        defer {
            if !deferred.isEmpty {
                changes.records.removeAll { deferred[$0.recordName] != nil }
                changes.records += deferred.values.sorted { $0.recordName < $1.recordName }
            }
        }
        // A device that reads the deletion of one of two duplicates has to know the other one by then.
        let isInOrder = !mapping.hasUniqueness || pending.allSatisfy { $0.stage != .needsDelete }
        for state in isInOrder ? pending : pending.filter({ $0.stage != .needsDelete }) + pending.filter({ $0.stage == .needsDelete })
        where state.failure == nil {
            guard items.count < itemsMax else { return }
            switch state.stage {
            case .uploaded, .missing: continue
            case .needsDelete:
                if state.changeTag == nil, mapping.isUnique(state.key.entityIndex) {
                    // Never sent: a record of this name on the server is another device's.
                    changes.removedRecords.append(state.recordName)
                    continue
                }
                items.append(.deletion(of: state, type: mapping.recordType(of: state)))
            case .needsUpload:
                // A missing row was deleted after history was read; the next scan reads the deletion.
                guard loaded.rows[state.key] != nil, mapping.entities[state.key.entityIndex] != nil else { continue }
                if planned.contains(state.recordName) || deferred[state.recordName] != nil { continue }
                let isUnconfirmed = state.supersedingRecord != nil
                guard let item = update(of: state) ?? (isUnconfirmed ? .touch(state, type: mapping.recordType(of: state)) : nil) else {
                    var settled = state
                    settled.stage = .uploaded
                    changes.records.append(settled)
                    continue
                }
                let group = loaded.separated.isEmpty ? [item] : [item] + updates(separatedBy: state.recordName)
                let sent = group.prefix(append(group))
                if sent.isEmpty { return }
                if !loaded.separated.isEmpty {
                    planned.formUnion(sent.map(\.recordName))
                    for item in sent { deferUpdates(separatedBy: item) }
                }
            }
        }
        // A pair that moves in a list gets another record: the new one is saved before the old one is deleted.
        let deletions = links.filter { $0.stage == .needsDelete }
        for link in deletions.isEmpty ? links : links.filter({ $0.stage != .needsDelete }) + deletions where link.failure == nil {
            guard items.count < itemsMax else { return }
            if let item = ExportBatch.Item(link) { _ = append([item]) }
        }
    }
}

extension ExportBatch.Item {
    /// A change tag that no version of a record has: tags are numbers of changes, from 1.
    private static let tagOfNoVersion = "0"

    /// A server may have had the record of a lost version: after a restore, another device may have created it again with values that this
    /// device has not read. It is deleted only if it does not exist; the server rejects the deletion otherwise, and the import logs them.
    fileprivate static func deletion(of state: RecordState, type: String) -> Self {
        let mayExist = !state.isRelocated && state.system.created != nil
        let tag = state.changeTag ?? (mayExist ? tagOfNoVersion : nil)
        return Self(
            operation: tag == nil ? .forceDelete : .delete,
            record: Record(recordName: state.recordName, recordType: type, recordChangeTag: tag), uploads: [], mark: state.mark,
            isLink: false)
    }

    /// Has a record changed as it is: the item is rejected if the server deleted it.
    fileprivate static func touch(_ state: RecordState, type: String) -> Self {
        Self(
            operation: .update, record: Record(recordName: state.recordName, recordType: type, recordChangeTag: state.changeTag),
            uploads: [], mark: state.mark, isLink: false)
    }

    /// nil when the row equals the server's record.
    fileprivate init?(
        _ state: RecordState, _ local: LocalRecord, _ entity: EntityMapping, _ limits: Limits, receipt: RelocationStamp?
    ) {
        let isNew = state.changeTag == nil
        let changes = RecordChanges(
            of: local, entity: entity, ancestor: state.ancestor, fieldStates: state.fieldStates, isNew: isNew, limits: limits)
        guard !changes.isEmpty || receipt != nil else { return nil }
        var fields = changes.fields
        var reused: [ExportBatch.ReusedAsset] = []
        if isNew {
            // A record from another zone brings the fields that newer versions of the app wrote into it.
            for (name, field) in state.ancestor.unapplied where fields[name] == nil && !MirrorNames.isStoredOnly(name) {
                if case .asset? = field.value {
                    if let receipt { reused.append(ExportBatch.ReusedAsset(field: name, recordName: receipt.name, zone: receipt.zone)) }
                } else {
                    fields[name] = field
                }
            }
        }
        if var receipt {
            if isNew { receipt.addDigests(of: changes.fields, uploads: Set(changes.uploads.map(\.field)), entity) }
            fields[MirrorNames.moveReceipt] = Field(.bytes(receipt.encoded()))
        }
        self.init(
            operation: isNew ? .create : .update,
            record: Record(
                recordName: state.recordName, recordType: entity.recordType, recordChangeTag: state.changeTag,
                fields: fields),
            uploads: changes.uploads.map { ExportBatch.Upload(field: $0.field, content: $0.content, isEncrypted: $0.isEncrypted) },
            mark: state.mark, isLink: false)
        reusedAssets = reused.sorted { $0.field < $1.field }
        for property in entity.encryptedProperties(in: record.fields, uploads: uploads) {
            versions[property.fieldName] = state.fieldStates.nextVersion(of: property.fieldName, isNew: isNew)
        }
    }

    fileprivate init?(_ link: LinkState) {
        switch link.stage {
        case .uploaded, .missing: return nil
        case .needsDelete:
            // A join record never changes, so no edit can be missed.
            self.init(
                operation: .forceDelete, record: Record(recordName: link.recordName, recordType: MirrorNames.linkRecordType), uploads: [],
                mark: link.mark, isLink: true)
        case .needsUpload:
            // A join record never changes: one that the server has is not sent.
            self.init(
                operation: .create,
                record: Record(
                    recordName: link.recordName, recordType: MirrorNames.linkRecordType,
                    fields: RecordMapping.fields(of: link)),
                uploads: [], mark: link.mark, isLink: true)
        }
    }
}

extension RecordMapping {
    fileprivate func recordType(of state: RecordState) -> String { entities[state.key.entityIndex]?.recordType ?? "" }
}
