// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// One batch of changes to one zone, from its plan to the server's response.
///
///     planned ──uploads, encoding──▶ written (in the outbox) ──response──▶ settled: a ``BatchVerdict``
///
/// A written batch is sent byte for byte, and replayed byte for byte while its response is missing.
package struct ExportBatch: Hashable, Sendable {
    package enum Phase: Hashable, Sendable {
        /// Assets may have to be uploaded before a request can be written.
        case planned
        case written(Request)
    }

    /// The encoded form of a batch: one request, or several that the server executes in one transaction.
    package struct Request: Hashable, Sendable {
        /// The idempotency key: the server executes requests with one key once, and repeats its response.
        package let key: String
        package let bodies: [[UInt8]]
        /// The bodies before values were encrypted; nil if no value was.
        package let plainBodies: [[UInt8]]?
        /// How many items each body has.
        package let counts: [Int]
        /// Whether the request was sent before: the server may have stored its first bodies.
        package let isReplay: Bool

        package init(key: String, bodies: [[UInt8]], plainBodies: [[UInt8]]?, counts: [Int], isReplay: Bool = false) {
            self.key = key
            self.bodies = bodies
            self.plainBodies = plainBodies
            self.counts = counts
            self.isReplay = isReplay
        }

        /// Returns the key of one of the bodies. The key of the last one is the key of all.
        package func key(ofPart part: Int) -> String { part == bodies.count - 1 ? key : "\(key)-\(part)" }
    }

    package enum Operation: Hashable, Sendable {
        case create
        /// Writes the given fields if the change tag is current.
        case update
        /// Deletes if the change tag is current: a concurrent edit is imported first, so that it reaches the conflict log.
        case delete
        /// Deletes any version; a missing record counts as deleted.
        case forceDelete
    }

    package struct Upload: Hashable, Sendable {
        package let field: String
        package let content: LongValue
        /// Whether the server must not see the content.
        package let isEncrypted: Bool
    }

    /// An asset that a record of another zone has, and that the item's record gets from there: this version of the app does not know the field,
    /// so that the device does not have the content.
    package struct ReusedAsset: Hashable, Sendable {
        package let field: String
        /// The record that has the asset, and its zone.
        package let recordName: String
        package let zone: ZoneID

        package init(field: String, recordName: String, zone: ZoneID) {
            self.field = field
            self.recordName = recordName
            self.zone = zone
        }
    }

    /// A batch has thousands of items, which are passed from step to step: a copy counts one reference.
    package struct Item: Hashable, Sendable {
        private struct Content: Hashable, Sendable {
            let operation: Operation
            let record: Record
            let uploads: [Upload]
            let mark: Int64
            let isLink: Bool
            var reusedAssets: [ReusedAsset] = []
            var versions: [String: UInt64] = [:]
            var digests: [String: ContentDigest] = [:]
        }

        private var content: SharedValue<Content>

        package var operation: Operation { content.value.operation }
        /// Complete for a new record, only the changed keys of a known one, no fields for a deletion.
        package var record: Record { _read { yield content.value.record } }
        /// Assets to upload first; the responses become the record's fields of these names.
        package var uploads: [Upload] { content.value.uploads }
        /// Assets of other records, for which the server gives receipts first; empty for a written item.
        package internal(set) var reusedAssets: [ReusedAsset] {
            get { content.value.reusedAssets }
            set { content.value.reusedAssets = newValue }
        }
        /// Whether the item can be written as it is.
        package var isWritable: Bool { uploads.isEmpty && reusedAssets.isEmpty }
        /// The transaction of the latest change in the item. A record that changed later stays pending.
        var mark: Int64 { content.value.mark }
        package var isLink: Bool { content.value.isLink }
        /// The numbers of the encrypted values that the item sends, by inline field; empty for an item of the outbox.
        package internal(set) var versions: [String: UInt64] {
            get { content.value.versions }
            set { content.value.versions = newValue }
        }
        /// Digests of the uploaded assets of a written item.
        private(set) var digests: [String: ContentDigest] {
            get { content.value.digests }
            set { content.value.digests = newValue }
        }

        package var recordName: String { record.recordName }

        package func with(_ assets: [String: AssetValue]) -> Record {
            var record = record
            for field in uploads.map(\.field) + reusedAssets.map(\.field) {
                if let asset = assets[field] { record.fields[field] = Field(.asset(asset)) }
            }
            return record
        }

        /// Returns the item as it is written, with its assets in place of uploads and reused assets.
        package func written(with assets: [String: AssetValue]) -> Item {
            var item = Item(operation: operation, record: with(assets), uploads: [], mark: mark, isLink: isLink)
            item.digests = uploadedDigests
            item.versions = versions
            return item
        }

        var uploadedDigests: [String: ContentDigest] {
            uploads.reduce(into: digests) { $0[$1.field] = $1.content.digest }
        }

        /// The properties that the record does not contain, as a line of text: mark, kind and digests.
        package var note: String {
            ([String(mark), isLink ? "link" : "object"] + uploadedDigests.sorted { $0.key < $1.key }.flatMap { [$0.key, $0.value.text] })
                .joined(separator: " ")
        }

        /// Restores a written item from the outbox; nil for a note of another form.
        package init?(_ operation: Operation, _ record: Record, note: some StringProtocol) {
            let parts = note.split(separator: Character(" ")).map { String($0) }
            guard parts.count >= 2, parts.count.isMultiple(of: 2), let mark = Int64(parts[0]) else { return nil }
            self.init(operation: operation, record: record, uploads: [], mark: mark, isLink: parts[1] == "link")
            for index in stride(from: 2, to: parts.count, by: 2) { digests[parts[index]] = ContentDigest(text: parts[index + 1]) }
        }

        init(operation: Operation, record: Record, uploads: [Upload], mark: Int64, isLink: Bool) {
            content = SharedValue(Content(operation: operation, record: record, uploads: uploads, mark: mark, isLink: isLink))
        }
    }

    package let zone: MirrorZone
    /// Once written, without the items with rejected uploads.
    package let items: [Item]
    /// The zone's sync token if all changes up to it were imported; nil where that does not save an import.
    package var syncToken: String?
    /// A change token of the history of the zone that the batch is for; nil before the first import.
    package let historyToken: String?
    package let phase: Phase

    package init(items: [Item], zone: MirrorZone, syncToken: String? = nil, historyToken: String? = nil, phase: Phase = .planned) {
        self.items = items
        self.zone = zone
        self.syncToken = syncToken
        self.historyToken = historyToken
        self.phase = phase
    }

    /// nil for a batch that is only planned.
    package var request: Request? { if case .written(let request) = phase { request } else { nil } }

    /// Returns how many items each request of a batch has, in order.
    package static func requestCounts(of items: [Item], limits: Limits) -> [Int] {
        var counts: [Int] = []
        var bytes = 0
        for item in items {
            let size = item.approximateBytes
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
}

extension ExportBatch.Operation {
    /// The operation of a request.
    package var kind: RecordOperation.Kind {
        switch self {
        case .create: .create
        case .update: .update
        case .delete: .delete
        case .forceDelete: .forceDelete
        }
    }

    /// Restores the operation of a written request; nil for one that no batch has.
    package init?(_ kind: RecordOperation.Kind) {
        switch kind {
        case .create: self = .create
        case .update: self = .update
        case .delete: self = .delete
        case .forceDelete: self = .forceDelete
        case .forceUpdate, .replace, .forceReplace: return nil
        }
    }
}

extension ExportBatch.Item {
    var approximateBytes: Int {
        record.recordName.utf8.count + record.recordType.utf8.count
            + record.fields.reduce(0) { $0 + $1.key.utf8.count + ($1.value.value?.approximateBytes ?? 0) }
    }
}

/// The result of planning: the next batch, and what remains.
package struct ExportPlan: Hashable, Sendable {
    /// nil when nothing is left to be sent.
    package var batch: ExportBatch?
    /// Changes that are not on the server, the batch included.
    package var pendingCount: Int
    /// Why the server rejected a change permanently; nil if it rejected none.
    package var rejection: String?

    package init(batch: ExportBatch?, pendingCount: Int, rejection: String?) {
        self.batch = batch
        self.pendingCount = pendingCount
        self.rejection = rejection
    }
}
