// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import MirroringCore

/// One zone of a server: records with change tags, tombstones, and a feed in order of commits.
package struct ServerModel: Sendable {
    package private(set) var records: [String: Record] = [:]
    /// Saves and deletions, with ascending numbers.
    private var feed: [Change] = []
    /// The indices of the last changes, by record name.
    private var lastChanges: [String: Int] = [:]
    private var counter = 0
    private var assets: [AssetValue: [UInt8]] = [:]
    /// Whether the server has lost the contents of its assets.
    package var hasLostAssets = false
    package private(set) var creations = 0

    private struct Change {
        let number: Int
        let name: String
        /// Whether the record did not change since.
        var isLast = true
    }

    package init() {}

    /// The change tag of the last change.
    package var lastChangeTag: String { Self.tag(counter) }

    /// Returns a number in base 36.
    private static func tag(_ number: Int) -> String {
        var digits: [UInt8] = []
        var rest = number
        repeat {
            let digit = UInt8(truncatingIfNeeded: rest % 36)
            digits.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10)
            rest /= 36
        } while rest > 0
        return String(decoding: digits.reversed(), as: UTF8.self)
    }

    package mutating func upload(_ bytes: [UInt8]) -> AssetValue {
        let asset = AssetValue(fileChecksum: ContentDigest(bytes).text, size: Int64(bytes.count), receipt: "receipt")
        assets[AssetValue(fileChecksum: asset.fileChecksum, size: asset.size)] = bytes
        return asset
    }

    package func download(_ asset: AssetValue) -> [UInt8]? {
        hasLostAssets ? nil : assets[AssetValue(fileChecksum: asset.fileChecksum, size: asset.size)]
    }

    package mutating func apply(_ operation: ExportBatch.Operation, _ sent: Record, by device: String) -> ItemOutcome {
        counter += 1
        let stamp = RecordStamp(timestamp: Int64(counter), userRecordName: "_user", deviceID: device)
        switch operation {
        case .delete where records[sent.recordName].map { $0.recordChangeTag != sent.recordChangeTag } ?? false:
            return .refused(CloudFailure(.serverRecordChanged, "oplock"))
        case .delete, .forceDelete:
            guard records.removeValue(forKey: sent.recordName) != nil else { return .refused(CloudFailure(.unknownItem, "not found")) }
            note(sent.recordName)
            return .deleted
        case .create:
            guard records[sent.recordName] == nil else { return .refused(CloudFailure(.serverRecordChanged, "exists")) }
            creations += 1
            var record = Record(recordName: sent.recordName, recordType: sent.recordType)
            record.created = stamp
            return save(record, sent.fields, stamp)
        case .update:
            guard let record = records[sent.recordName] else { return .refused(CloudFailure(.unknownItem, "not found")) }
            guard record.recordChangeTag == sent.recordChangeTag else { return .refused(CloudFailure(.serverRecordChanged, "oplock")) }
            return save(record, sent.fields, stamp)
        }
    }

    private mutating func save(_ record: Record, _ fields: [String: Field], _ stamp: RecordStamp) -> ItemOutcome {
        var record = record
        if record.fields.isEmpty, !fields.values.contains(where: { if case nil = $0.value { true } else { false } }) {
            record.fields = fields
        } else {
            for (name, field) in fields { record.fields[name] = field.value == nil ? nil : field }
        }
        // Addresses differ from response to response, as on real servers.
        for (name, field) in assets.isEmpty ? [:] : record.fields {
            if case .asset(var asset)? = field.value {
                asset.receipt = nil
                asset.downloadURL = "https://assets.example/\(counter)"
                record.fields[name] = Field(.asset(asset))
            }
        }
        record.modified = stamp
        record.recordChangeTag = Self.tag(counter)
        records[record.recordName] = record
        note(record.recordName)
        return .saved(record)
    }

    private mutating func note(_ name: String) {
        if let former = lastChanges.updateValue(feed.count, forKey: name) { feed[former].isLast = false }
        feed.append(Change(number: counter, name: name))
    }

    package func page(after token: String?, limit: Int) -> ImportPage {
        let from = token.flatMap { Int($0) } ?? 0
        var changed: [Record] = [], deletions: [String] = [], moreComing = false
        var last = max(from, counter), count = 0
        for item in feed[index(after: from)...] where item.isLast {
            let record = records[item.name]
            if record == nil, token == nil { continue }
            guard count < limit else {
                moreComing = true
                break
            }
            if let record { changed.append(record) } else { deletions.append(item.name) }
            (last, count) = (item.number, count + 1)
        }
        return ImportPage(records: changed, deletions: deletions, askedWith: token, token: String(last), moreComing: moreComing)
    }

    /// The index of the first change behind a number.
    private func index(after number: Int) -> Int {
        var low = 0, high = feed.count
        while low < high {
            let middle = (low + high) / 2
            if feed[middle].number <= number { low = middle + 1 } else { high = middle }
        }
        return low
    }

    package var links: [Record] { records.values.filter { $0.recordType == MirrorNames.linkRecordType } }
}
