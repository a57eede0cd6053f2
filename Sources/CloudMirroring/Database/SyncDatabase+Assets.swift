// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import MirroringCore

extension SyncDatabase {
    /// Concurrent transfers of assets.
    static let transfersMax = 8
    /// The size in bytes from which an asset is transferred through a file, in pieces.
    static let mappedBytesMin: Int64 = 4_000_000

    // MARK: Upload

    func send(_ upload: ExportBatch.Upload, of item: ExportBatch.Item, to zoneID: ZoneID) async throws -> AssetValue {
        func sent(_ source: AssetSource) async throws(CKError) -> AssetValue {
            try await client.uploadAsset(
                source, recordType: item.record.recordType, recordName: item.recordName, fieldName: upload.field, zoneID: zoneID)
        }
        if upload.content.byteCount < Self.mappedBytesMin {
            let bytes = upload.content.bytes
            return try await sent(.bytes(upload.isEncrypted ? try sealer.seal(bytes, of: item.recordName, upload.field) : bytes))
        }
        let file = try AssetFile()
        defer { file.remove() }
        if upload.isEncrypted {
            try sealer.sealPieces(of: upload.content, of: item.recordName, upload.field) { try file.write($0) }
        } else {
            try upload.content.forEachPiece(of: SealedPieces.pieceBytes) { try file.write($0) }
        }
        try file.close()
        return try await sent(.file(file.url))
    }

    // MARK: Download

    func download(_ needs: [ImportNeeds.AssetNeed]) async throws -> [(AssetValue, Data)] {
        try await inParallel(needs, atMost: Self.transfersMax) { need in
            if need.asset.size >= Self.mappedBytesMin { return (need.asset, try await mapped(need)) }
            let bytes = try await client.downloadAsset(need.asset)
            return (need.asset, Data(need.isEncrypted ? try sealer.open(bytes, of: need.recordName, need.field) : bytes))
        }
    }

    /// Returns the content of an asset in an unlinked file, which is freed with the last reference to it.
    private func mapped(_ need: ImportNeeds.AssetNeed) async throws -> Data {
        let file = try AssetFile()
        defer { file.remove() }
        try file.close()
        try await client.downloadAsset(need.asset, to: file.url)
        let content = try AssetFile.mapped(file.url)
        if !need.isEncrypted { return content }
        guard content.first == SealedPieces.version else {
            // Earlier versions of this library encrypted every asset as one piece.
            return Data(try sealer.open([UInt8](content), of: need.recordName, need.field))
        }
        let opened = try AssetFile()
        defer { opened.remove() }
        try sealer.openPieces(content, of: need.recordName, need.field) { try opened.write($0) }
        try opened.close()
        return try AssetFile.mapped(opened.url)
    }
}

/// Runs a closure for each item, several of them concurrently.
///
/// - Returns: Results in the order of the items.
/// - Throws: The error of the first failure. The others are cancelled.
func inParallel<Item: Sendable, Output: Sendable>(
    _ items: [Item], atMost width: Int, _ body: @escaping @Sendable (Item) async throws -> Output
) async throws -> [Output] {
    if items.count < 2 {
        var outputs: [Output] = []
        for item in items { outputs.append(try await body(item)) }
        return outputs
    }
    return try await withThrowingTaskGroup(of: (Int, Output).self) { group in
        var outputs: [Output?] = Array(repeating: nil, count: items.count)
        func start(_ index: Int) { group.addTask { (index, try await body(items[index])) } }
        for index in 0..<min(width, items.count) { start(index) }
        var next = min(width, items.count)
        while let (index, output) = try await group.next() {
            outputs[index] = output
            if next < items.count { start(next) }
            next += 1
        }
        return outputs.compactMap(\.self)
    }
}

extension SyncDatabase {
    /// Downloads assets with addresses that may have expired.
    ///
    /// - Returns: Also the names of the records that no longer have them.
    func contents(of needs: [ImportNeeds.AssetNeed], in zone: ZoneID) async throws -> (contents: [(AssetValue, Data)], missing: Set<String>) {
        let names = Set(needs.map(\.recordName)).sorted()
        var assets: [String: [AssetValue]] = [:]
        for start in stride(from: 0, to: names.count, by: client.limits.operationsPerRequest) {
            let part = Array(names[start..<min(start + client.limits.operationsPerRequest, names.count)])
            for case .record(let record) in try await client.lookupRecords(LookupRecordsRequest(recordNames: part, zoneID: zone)).results
            where !record.isDeleted {
                assets[record.recordName] = record.fields.values.compactMap { if case .asset(let asset)? = $0.value { asset } else { nil } }
            }
        }
        var there: [ImportNeeds.AssetNeed] = []
        var missing: Set<String> = []
        for need in needs {
            if let asset = assets[need.recordName]?.first(where: { $0.withoutAddress == need.asset.withoutAddress }) {
                there.append(ImportNeeds.AssetNeed(asset: asset, recordName: need.recordName, field: need.field, isEncrypted: need.isEncrypted))
            } else {
                missing.insert(need.recordName)
            }
        }
        return (try await download(there), missing)
    }
}
