// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Client change tokens of the devices of one user in one zone.
package enum StoredClientTokens {
    /// Devices with a token. The save of one more removes the tokens of all others.
    package static let devicesMax = 100
}

/// A partition's own row. A partition that was never written to is `PartitionState()`.
package struct PartitionState: Hashable, Sendable {
    /// Raised after a restore, so that tokens handed out in between expire.
    package var epoch: Int64
    /// Number of the last change; numbers grow in the order of commits.
    package var counter: Int64
    /// Tokens below this number miss zone deletions that have been forgotten.
    package var floor: Int64
    package var usage = StoredBytes()
    /// Bytes of answers to requests with idempotency keys, with the keys.
    package var answerBytes: Int64 = 0
    /// Deleted records that are stored as tombstones.
    package var tombstones: Int64 = 0

    package init(epoch: Int64 = 1, counter: Int64 = 0, floor: Int64 = 0) {
        self.epoch = epoch
        self.counter = counter
        self.floor = floor
    }
}

/// Where the history of a partition that was restored from a backup goes on.
package struct RestorePoint: Hashable, Sendable {
    /// Epoch of the tokens that the server issued before the restore.
    package var epoch: Int64
    /// Number of the last change in the backup.
    package var counter: Int64
    /// Epoch of the tokens since the restore.
    package var nextEpoch: Int64

    package init(epoch: Int64, counter: Int64, nextEpoch: Int64) {
        self.epoch = epoch
        self.counter = counter
        self.nextEpoch = nextEpoch
    }
}

/// Usage of a database or a zone, which counts against its owner's quota.
package struct StoredBytes: Hashable, Sendable {
    /// Names and values of the records that are there.
    package var records: Int64
    /// Files that records refer to: each once in a zone, however many of its records do.
    package var assets: Int64

    package init(records: Int64 = 0, assets: Int64 = 0) {
        self.records = records
        self.assets = assets
    }

    package var total: Int64 { records + assets }

    func left(of quota: Int64) -> Int64 { max(0, quota - total) }

    package static func += (a: inout StoredBytes, b: StoredBytes) {
        a.records += b.records
        a.assets += b.assets
    }

    package static prefix func - (a: StoredBytes) -> StoredBytes { StoredBytes(records: -a.records, assets: -a.assets) }
}

/// Changes between two numbers.
package struct ChangeSlice: Hashable, Sendable {
    /// Only changes behind this one.
    package var after: Int64
    /// Only changes before this one.
    package var before: Int64
    package var isNewestFirst: Bool

    package init(after: Int64, before: Int64 = .max, isNewestFirst: Bool = false) {
        self.after = after
        self.before = before
        self.isNewestFirst = isNewestFirst
    }
}

package struct StoredZone: Hashable, Sendable {
    /// The default zone's key.
    package static let defaultKey: Int64 = 0

    /// Number of the change that made the zone. A zone made again under the same name has another key, so that
    /// tokens of the old one expire.
    package var key: Int64
    package var name: String
    /// Number of the last change inside the zone, or of its deletion.
    package var change: Int64
    package var isDeleted: Bool
    /// Tokens below this number miss record deletions that have been forgotten.
    package var floor: Int64
    /// Why the zone is gone, where it is.
    package var deletionReason = ZoneDeletionReason.deleted
    package var usage = StoredBytes()

    package init(key: Int64, name: String, change: Int64, isDeleted: Bool = false, floor: Int64 = 0) {
        self.key = key
        self.name = name
        self.change = change
        self.isDeleted = isDeleted
        self.floor = floor
    }

    /// The default zone before anything was stored in it.
    static var untouchedDefault: StoredZone { StoredZone(key: defaultKey, name: ZoneID.defaultZoneName, change: 0) }

    package var isDefault: Bool { key == Self.defaultKey }
}

/// A record or a tombstone, with the number of its last change.
package struct StoredRecord: Hashable, Sendable {
    /// Complete, without zone; assets in it have neither receipt nor address.
    package var record: Record
    package var change: Int64

    package init(record: Record, change: Int64) {
        self.record = record
        self.change = change
    }
}

/// The type of a record type's field, as first used.
package struct FieldSchema: Hashable, Sendable {
    /// Wire name of the type, such as `STRING` or `INT64_LIST`.
    package var type: String
    package var isEncrypted: Bool
    package var indexes: FieldIndexes

    /// - Parameter indexes: Nil means those that a field gets by use.
    package init(type: String, isEncrypted: Bool, indexes: FieldIndexes? = nil) {
        self.type = type
        self.isEncrypted = isEncrypted
        self.indexes = indexes ?? FieldIndexes.byUse(type: type, isEncrypted: isEncrypted)
    }
}

/// An upload that was asked for, and the file once it has come.
package struct StoredUpload: Hashable, Sendable {
    package var id: String
    package var recordName: String
    package var fieldName: String
    /// Nil while the bytes have not come.
    package var asset: StoredAsset?
    /// Milliseconds since 1970 UTC.
    package var created: Int64

    package init(id: String, recordName: String, fieldName: String, asset: StoredAsset? = nil, created: Int64) {
        self.id = id
        self.recordName = recordName
        self.fieldName = fieldName
        self.asset = asset
        self.created = created
    }
}

package struct StoredAsset: Hashable, Sendable {
    package var checksum: String
    /// Bytes.
    package var size: Int64

    package init(checksum: String, size: Int64) {
        self.checksum = checksum
        self.size = size
    }
}

/// The answer to a request that carried an idempotency key.
package struct StoredAnswer: Hashable, Sendable {
    /// Distinguishes a retry from another request with the same key.
    package var fingerprint: UInt64
    package var body: [UInt8]

    package init(fingerprint: UInt64, body: [UInt8]) {
        self.fingerprint = fingerprint
        self.body = body
    }

    /// Begins the body of a refusal; an answer begins with a brace.
    private static let refusalMark = UInt8(ascii: "!")

    package init(fingerprint: UInt64, refusing error: WireError) {
        self.init(fingerprint: fingerprint, body: [Self.refusalMark] + error.encoded())
    }

    /// nil for the answer to a request that was carried out.
    ///
    /// - Throws: `WireError` for an invalid body.
    package func refusal() throws -> WireError? { body.first == Self.refusalMark ? try WireError(json: Array(body.dropFirst())) : nil }
}
