// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import MirroringCore

/// One zone of a server: records with change tags, tombstones, and a feed in order of commits.
package struct ServerModel: Sendable {
    package private(set) var records: [String: Record] = [:]
    private var numbers: [String: Int] = [:]
    private var tombstones: [String: Int] = [:]
    private var counter = 0
    private var assets: [AssetValue: [UInt8]] = [:]
    package private(set) var creations = 0

    package init() {}

    package mutating func upload(_ bytes: [UInt8]) -> AssetValue {
        let asset = AssetValue(fileChecksum: ContentDigest(bytes).text, size: Int64(bytes.count), receipt: "receipt")
        assets[AssetValue(fileChecksum: asset.fileChecksum, size: asset.size)] = bytes
        return asset
    }

    package func download(_ asset: AssetValue) -> [UInt8]? { assets[AssetValue(fileChecksum: asset.fileChecksum, size: asset.size)] }

    package mutating func apply(_ operation: ExportBatch.Operation, _ sent: Record, by device: String) -> ItemOutcome {
        counter += 1
        let stamp = RecordStamp(timestamp: Int64(counter), userRecordName: "_user", deviceID: device)
        switch operation {
        case .delete where records[sent.recordName].map { $0.recordChangeTag != sent.recordChangeTag } ?? false:
            return .refused(CloudFailure(.serverRecordChanged, "oplock"))
        case .delete, .forceDelete:
            guard records.removeValue(forKey: sent.recordName) != nil else { return .refused(CloudFailure(.unknownItem, "not found")) }
            numbers[sent.recordName] = nil
            tombstones[sent.recordName] = counter
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
        for (name, field) in fields { record.fields[name] = field.value == nil ? nil : field }
        // Addresses differ from response to response, as on real servers.
        for (name, field) in record.fields {
            if case .asset(var asset)? = field.value {
                asset.receipt = nil
                asset.downloadURL = "https://assets.example/\(counter)"
                record.fields[name] = Field(.asset(asset))
            }
        }
        record.modified = stamp
        record.recordChangeTag = String(counter, radix: 36)
        records[record.recordName] = record
        numbers[record.recordName] = counter
        return .saved(record)
    }

    package func page(after token: String?, limit: Int) -> ImportPage {
        let from = token.flatMap { Int($0) } ?? 0
        var feed = numbers.filter { $0.value > from }
        if token != nil { feed.merge(tombstones.filter { $0.value > from }) { live, _ in live } }
        let entries = feed.sorted { $0.value < $1.value }
        let shown = entries.prefix(limit)
        return ImportPage(
            records: shown.compactMap { records[$0.key] }, deletions: shown.map(\.key).filter { records[$0] == nil },
            askedWith: token, token: String(shown.last?.value ?? max(from, counter)), moreComing: entries.count > limit)
    }

    package var links: [Record] { records.values.filter { $0.recordType == MirrorNames.linkRecordType } }
}
