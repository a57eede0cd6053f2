// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Crypto
import Foundation
import MirroringCore
import SystemSupport

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
            guard upload.isEncrypted else { return try await sent(.bytes(bytes)) }
            let sealed = try sealer.seal(bytes, number: 0, of: item.recordName, upload.field, in: place(zoneID))
            return try await sent(.bytes(sealed)).checked(SHA256.hash(data: sealed))
        }
        let file = try AssetFile()
        defer { file.remove() }
        var hash = SHA256()
        if upload.isEncrypted {
            try sealer.sealPieces(of: upload.content, of: item.recordName, upload.field, in: place(zoneID)) { bytes in
                hash.update(data: bytes)
                try file.write(bytes)
            }
        } else {
            try upload.content.forEachPiece(of: SealedPieces.pieceBytes) { try file.write($0) }
        }
        try file.close()
        let asset = try await sent(.file(file.url))
        return upload.isEncrypted ? try asset.checked(hash.finalize()) : asset
    }

    /// Requests receipts for assets of other records.
    ///
    /// - Returns: Assets by field, without those that their records no longer have: another device deleted the record, or changed it.
    func receipts(for reused: [ExportBatch.ReusedAsset]) async throws -> [String: AssetValue] {
        var assets: [String: AssetValue] = [:]
        for (zone, reused) in Dictionary(grouping: reused, by: \.zone) {
            let items = reused.map { RereferenceAssetsRequest.Item(recordName: $0.recordName, fieldName: $0.field) }
            let results: [RereferenceAssetsResponse.Result]
            do throws(CKError) {
                results = try await client.rereferenceAssets(RereferenceAssetsRequest(zoneID: zone, assets: items)).assets
            } catch {
                guard Self.isPermanent(error.code) else { throw error }
                continue
            }
            for (asset, result) in zip(reused, results) { if case .asset(let value) = result { assets[asset.field] = value } }
        }
        return assets
    }

    /// Whether another attempt to reuse assets fails, too.
    private static func isPermanent(_ code: CKError.Code) -> Bool {
        switch code {
        case .invalidArguments, .permissionFailure, .serverRejectedRequest, .unknownItem, .userDeletedZone, .zoneNotFound: true
        default: false
        }
    }

    // MARK: Download

    /// Contents of assets by ``ImportNeeds/AssetNeed/contentKey``, and those that do not open or are missing.
    struct Download: Sendable {
        var contents: [(AssetValue, Data)] = []
        var unreadable: [UnreadableAsset] = []
    }

    /// Downloads assets of one zone.
    ///
    /// - Throws: Also for an asset that its record no longer has: its page is fetched again.
    func download(_ needs: [ImportNeeds.AssetNeed], in zone: ZoneID) async throws -> Download {
        let (first, unavailable) = try await attempt(needs, in: zone)
        if unavailable.isEmpty { return first }
        let (present, replaced) = try await withPresentAddresses(unavailable, in: zone)
        if !replaced.isEmpty { throw CloudFailure.assetReplaced }
        let (second, missing) = try await attempt(present, in: zone)
        return Download(
            contents: first.contents + second.contents, unreadable: first.unreadable + second.unreadable + missing.map(\.missing))
    }

    /// - Returns: Also the needs of assets that the server does not have at their addresses.
    private func attempt(
        _ needs: [ImportNeeds.AssetNeed], in zone: ZoneID
    ) async throws -> (download: Download, unavailable: [ImportNeeds.AssetNeed]) {
        var download = Download()
        var unavailable: [ImportNeeds.AssetNeed] = []
        let contents = try await inParallel(needs, atMost: Self.transfersMax) { need -> Result<Data, Unreadable>? in
            do {
                return try await content(of: need, in: zone)
            } catch {
                guard CloudFailure(error).isAssetMissing else { throw error }
                return nil
            }
        }
        for (need, content) in zip(needs, contents) {
            switch content {
            case .success(let data): download.contents.append((need.contentKey, data))
            case .failure(let error):
                download.unreadable.append(UnreadableAsset(recordName: need.recordName, field: need.field, reason: error.reason))
            case nil: unavailable.append(need)
            }
        }
        return (download, unavailable)
    }

    /// Requests the records of assets for their present addresses.
    ///
    /// - Returns: Also the needs of assets that their records no longer have.
    private func withPresentAddresses(
        _ needs: [ImportNeeds.AssetNeed], in zone: ZoneID
    ) async throws -> (present: [ImportNeeds.AssetNeed], replaced: [ImportNeeds.AssetNeed]) {
        let keys = Set(needs.flatMap { [$0.field, $0.field + MirrorNames.assetSuffix] }).sorted()
        let results = try await results(of: Set(needs.map(\.recordName)).sorted(), desiredKeys: keys, in: zone)
        let records = results.compactMap { if case .record(let record) = $0 { record } else { nil } }
        return ImportNeeds.AssetNeed.addressed(needs, by: records)
    }

    /// Requests any number of records, in parts.
    func results(of names: [String], desiredKeys: [String]? = nil, in zone: ZoneID) async throws -> [RecordResult] {
        var parts = LookUpParts(names, client.limits)
        var results: [RecordResult] = []
        while let part = try await client.lookUp(&parts, in: zone, desiredKeys: desiredKeys) { results += part }
        return results
    }

    private struct Unreadable: Error {
        let reason: UnreadableReason
    }

    private func content(of need: ImportNeeds.AssetNeed, in zone: ZoneID) async throws -> Result<Data, Unreadable> {
        if need.asset.size >= Self.mappedBytesMin { return try await mapped(need, in: zone) }
        let bytes = try await client.downloadAsset(need.asset)
        return need.isEncrypted ? try opened(bytes, need, in: zone) : .success(Data(bytes))
    }

    private func opened(_ bytes: [UInt8], _ need: ImportNeeds.AssetNeed, in zone: ZoneID) throws -> Result<Data, Unreadable> {
        switch try sealer.open(bytes, of: need.recordName, need.field, in: place(zone)) {
        case .opened(let bytes, _, _): .success(Data(bytes))
        case .unreadable(let reason): .failure(Unreadable(reason: reason))
        }
    }

    /// Returns the content of an asset in an unlinked file, which is freed with the last reference to it.
    private func mapped(_ need: ImportNeeds.AssetNeed, in zone: ZoneID) async throws -> Result<Data, Unreadable> {
        let file = try AssetFile()
        defer { file.remove() }
        try file.close()
        try await client.downloadAsset(need.asset, to: file.url)
        let content = try AssetFile.mapped(file.url)
        if !need.isEncrypted { return .success(content) }
        guard let version = content.first, SealedPieces.versions.contains(version) else {
            // Earlier versions of this library encrypted every asset as one piece.
            return try opened([UInt8](content), need, in: zone)
        }
        let opened = try AssetFile(hasName: false)
        if let reason = try sealer.openPieces(content, of: need.recordName, need.field, in: place(zone), { try opened.write($0) }) {
            return .failure(Unreadable(reason: reason))
        }
        let decrypted = try opened.mapped()
        try opened.close()
        return .success(decrypted)
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
    /// - Returns: Also the names of the records that no longer have them, or whose contents do not open or are missing. Those are quarantined
    ///   when the page of the record is fetched again.
    func contents(of needs: [ImportNeeds.AssetNeed], in zone: ZoneID) async throws -> (contents: [(AssetValue, Data)], missing: Set<String>)
    {
        let (present, replaced) = try await withPresentAddresses(needs, in: zone)
        let (download, missing) = try await attempt(present, in: zone)
        return (download.contents, Set((replaced + missing).map(\.recordName) + download.unreadable.map(\.recordName)))
    }
}

extension AssetValue {
    /// Returns the asset if its checksum is that of the sent bytes: a record's encrypted field names the content by it.
    fileprivate func checked(_ digest: SHA256.Digest) throws -> AssetValue {
        guard fileChecksum.lowercased() == Hex.text(digest) else {
            throw CloudFailure(.serverRejectedRequest, "the checksum of the uploaded asset differs from that of the sent bytes")
        }
        return self
    }
}
