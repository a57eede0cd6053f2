// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import ManagedModel

/// Second half of an export: what to send in one request, from the records and links that were marked.
package struct ExportBatch: Hashable, Sendable {
    package enum Operation: Hashable, Sendable {
        case create
        /// Given fields are written if the change tag still holds.
        case update
        /// If the change tag still holds: what others changed meanwhile is imported first, so that it is in the conflict log.
        case delete
        /// Whatever the version; a record that is not there counts as deleted.
        case forceDelete
    }

    package struct Upload: Hashable, Sendable {
        package let field: String
        package let content: LongValue
        /// Whether the server must not see the content.
        package let isEncrypted: Bool
    }

    package struct Item: Hashable, Sendable {
        package let operation: Operation
        /// Complete for a new record, changed keys only for a known one, no fields for a deletion.
        package let record: Record
        /// To be uploaded first; the answers go into the record's fields of these names.
        package let uploads: [Upload]
        /// The mark that is settled when the item is accepted.
        let mark: Int64
        package let isLink: Bool
        /// What was uploaded, of an item that has been sent.
        private(set) var digests: [String: ContentDigest] = [:]

        package var recordName: String { record.recordName }

        package func with(_ assets: [String: AssetValue]) -> Record {
            var record = record
            for upload in uploads { if let asset = assets[upload.field] { record.fields[upload.field] = Field(.asset(asset)) } }
            return record
        }

        /// The item as it is sent, which needs nothing more.
        package func sent(with assets: [String: AssetValue]) -> Item {
            var item = Item(operation: operation, record: with(assets), uploads: [], mark: mark, isLink: isLink)
            item.digests = uploadedDigests
            return item
        }

        var uploadedDigests: [String: ContentDigest] {
            uploads.reduce(into: digests) { $0[$1.field] = $1.content.digest }
        }

        /// What its record does not say: the mark, whether it is a link, and digests, as a line of text.
        package var note: String {
            ([String(mark), isLink ? "link" : "object"] + uploadedDigests.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value.text] })
                .joined(separator: " ")
        }

        /// An item that was sent, from what was kept of it; nil for a note of another kind.
        package init?(_ operation: Operation, _ record: Record, note: some StringProtocol) {
            let parts = note.split(separator: Character(" ")).map { String($0) }
            guard parts.count >= 2, parts.count.isMultiple(of: 2), let mark = Int64(parts[0]) else { return nil }
            self.init(operation: operation, record: record, uploads: [], mark: mark, isLink: parts[1] == "link")
            for index in stride(from: 2, to: parts.count, by: 2) { digests[parts[index]] = ContentDigest(text: parts[index + 1]) }
        }

        private init(operation: Operation, record: Record, uploads: [Upload], mark: Int64, isLink: Bool) {
            self.operation = operation
            self.record = record
            self.uploads = uploads
            self.mark = mark
            self.isLink = isLink
        }
    }

    package struct Needs: Hashable, Sendable {
        /// Whose rows to load, with the record names of all their to-one targets.
        package var keys: [RowKey] = []
        /// Record names whose parked relationships to load.
        package var sources: [String] = []
    }

    package struct Loaded: Sendable {
        package var rows: [RowKey: Row] = [:]
        /// Record names of to-one targets.
        package var names: [RowKey: String] = [:]
        package var parked: [ParkedRelationship] = []
        /// What the first record of an object in its new zone says of its old one, by record name.
        package var receipts: [String: MoveReceipt] = [:]

        package init() {}
    }

    package private(set) var items: [Item] = []
    /// Records that turned out to need nothing: to be written before the next batch is planned.
    package private(set) var changes = BookkeepingChanges()

    /// What was sent.
    package init(items: [Item]) { self.items = items }

    package static func needs(of pending: [RecordState]) -> Needs {
        let uploads = pending.filter { $0.stage == .needsUpload }
        return Needs(keys: uploads.map(\.key), sources: uploads.map(\.recordName))
    }

    /// - Parameters:
    ///   - pending: Marked records without a failure, oldest mark first. What does not fit waits for the next batch.
    ///   - itemsMax: At most this many items, and never more than the limit of the requests.
    ///   - requestsMax: Requests that may carry the batch together.
    package init(
        records pending: [RecordState], links: [LinkState], loaded: Loaded, mapping: RecordMapping,
        itemsMax: Int = .max, requestsMax: Int = 1, limits: Limits = Limits()
    ) {
        precondition(itemsMax > 0, "a batch has room for one item")
        let itemsMax = min(itemsMax, limits.operationsPerRequest * requestsMax)
        let bytesMax = limits.requestRecordBytes * requestsMax
        var parked: [String: [String: String]] = [:]
        for entry in loaded.parked { parked[entry.key.source, default: [:]][entry.key.relationship] = entry.destination }
        var bytes = 0
        func fits(_ item: Item) -> Bool {
            let size = Self.approximateBytes(of: item.record)
            guard items.isEmpty || bytes + size <= bytesMax else { return false }
            bytes += size
            return true
        }
        // Who hears that one of two equal objects is gone has to know the other by then.
        let isInOrder = !mapping.hasUniqueness || pending.allSatisfy { $0.stage != .needsDelete }
        for state in isInOrder ? pending : pending.filter({ $0.stage != .needsDelete }) + pending.filter({ $0.stage == .needsDelete })
        where state.failure == nil {
            guard items.count < itemsMax else { return }
            switch state.stage {
            case .uploaded, .missing: continue
            case .needsDelete:
                if state.changeTag == nil, mapping.isUnique(state.key.entityIndex) {
                    // Never sent: what the server has under the name, if anything, is somebody else's.
                    changes.removedRecords.append(state.recordName)
                    continue
                }
                items.append(.deletion(of: state, type: mapping.recordType(of: state)))
            case .needsUpload:
                // A row that is gone was deleted after history was read; the next scan sees to it.
                guard let row = loaded.rows[state.key], let entity = mapping.entities[state.key.entityIndex] else { continue }
                let local = LocalRecord(row: row, names: loaded.names, parked: parked[state.recordName] ?? [:], state: state)
                guard let item = Item(state, local, entity, limits, receipt: loaded.receipts[state.recordName]) else {
                    var settled = state
                    settled.stage = .uploaded
                    changes.records.append(settled)
                    continue
                }
                guard fits(item) else { return }
                items.append(item)
            }
        }
        // A pair that moves in a list gets another record: the new one comes before the old one goes.
        let deletions = links.filter { $0.stage == .needsDelete }
        for link in deletions.isEmpty ? links : links.filter({ $0.stage != .needsDelete }) + deletions where link.failure == nil {
            guard items.count < itemsMax else { return }
            guard let item = Item(link), fits(item) else { continue }
            items.append(item)
        }
    }

    /// How many items each request of the batch has, in order.
    package func requestCounts(limits: Limits) -> [Int] {
        var counts: [Int] = []
        var bytes = 0
        for item in items {
            let size = Self.approximateBytes(of: item.record)
            if let count = counts.last, count < limits.operationsPerRequest, bytes + size <= limits.requestRecordBytes {
                counts[counts.count - 1] = count + 1
                bytes += size
            } else {
                counts.append(1)
                bytes = size
            }
        }
        return counts
    }

    private static func approximateBytes(of record: Record) -> Int {
        record.recordName.utf8.count + record.recordType.utf8.count
            + record.fields.reduce(0) { $0 + $1.key.utf8.count + ($1.value.value?.approximateBytes ?? 0) }
    }
}

extension ExportBatch.Item {
    fileprivate static func deletion(of state: RecordState, type: String) -> Self {
        Self(
            operation: state.changeTag == nil ? .forceDelete : .delete,
            record: Record(recordName: state.recordName, recordType: type, recordChangeTag: state.changeTag), uploads: [], mark: state.mark,
            isLink: false)
    }

    /// nil when the row says what the server has.
    fileprivate init?(
        _ state: RecordState, _ local: LocalRecord, _ entity: EntityMapping, _ limits: Limits, receipt: MoveReceipt?
    ) {
        let isNew = state.changeTag == nil
        let changes = RecordChanges(of: local, entity: entity, ancestor: state.ancestor, isNew: isNew, limits: limits)
        guard !changes.isEmpty else { return nil }
        var fields = changes.fields
        if isNew {
            // A record that comes from another zone brings what newer versions of the app wrote into it.
            for (name, field) in state.ancestor.unapplied where fields[name] == nil && name != MirrorNames.awaited {
                if case .asset? = field.value { continue }
                fields[name] = field
            }
            if var receipt {
                receipt.note(changes.fields, uploads: Set(changes.uploads.map(\.field)), of: entity)
                fields[MirrorNames.moveReceipt] = Field(.bytes(receipt.encoded()))
            }
        }
        self.init(
            operation: isNew ? .create : .update,
            record: Record(
                recordName: state.recordName, recordType: entity.recordType, recordChangeTag: state.changeTag,
                fields: fields),
            uploads: changes.uploads.map { ExportBatch.Upload(field: $0.field, content: $0.content, isEncrypted: $0.isEncrypted) },
            mark: state.mark, isLink: false)
    }

    fileprivate init?(_ link: LinkState) {
        switch link.stage {
        case .uploaded, .missing: return nil
        case .needsDelete:
            // A link never changes, so there is nothing to be overlooked.
            self.init(
                operation: .forceDelete, record: Record(recordName: link.recordName, recordType: MirrorNames.linkRecordType), uploads: [],
                mark: link.mark, isLink: true)
        case .needsUpload:
            // A link never changes: one that the server has already needs nothing.
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
