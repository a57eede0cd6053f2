// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Addresses for files of assets, and receipts for those of stored records.
package struct AssetRequests: Sendable {
    let limits: Limits
    let sealer: Sealer

    /// Hands out addresses to which files may be sent.
    ///
    /// Source: *CloudKit Web Services Reference*, "Uploading Assets".
    package func requestUploads(
        _ request: AssetUploadRequest, in unit: any PartitionWriter, _ call: Call
    ) throws -> Outcome<AssetUploadResponse> {
        try limits.checkCount(request.items.count, of: "asset tokens", atMost: limits.assetTokensPerRequest)
        let zone = try ZoneAccess(unit, call).liveZone(request.zoneID)
        guard try ShareAccess(unit, zone: zone, call).canWriteAnything else {
            throw WireError(.accessDenied, "the participant may only read")
        }
        guard try Quotas(limits: limits).uploadBytesLeft(of: call.partition, in: unit) != 0 else { throw Quotas.exceeded }
        try checkOpenUploads(request.items.count, in: unit, call)
        let addresses = AssetAddresses(sealer: sealer, call, secondsValid: limits.assetUploadSeconds)
        var uploads: [StoredUpload] = []
        let results: [AssetUploadResult] = request.items.map { item in
            let recordName = item.recordName ?? call.makeIdentifier()
            if let error = NameChecks.record(recordName, limits) ?? NameChecks.field(item.fieldName) {
                return .failure(recordName: item.recordName, fieldName: item.fieldName, error)
            }
            let id = call.makeIdentifier()
            uploads.append(
                StoredUpload(id: id, recordName: recordName, fieldName: item.fieldName, created: call.now))
            return .address(
                AssetUploadAddress(recordName: recordName, fieldName: item.fieldName, url: addresses.upload(id: id)))
        }
        if !uploads.isEmpty { try unit.save(uploads) }
        return Outcome(AssetUploadResponse(results: results))
    }

    /// Limits the uploads that an owner begins and does not complete. In a database of many users, one of them could use up the limit of all.
    ///
    /// - Throws: `WireError` with `.throttled`: an earlier address expires soon.
    private func checkOpenUploads(_ count: Int, in unit: any PartitionWriter, _ call: Call) throws {
        guard call.partition.scope == .private, !call.isParticipant else { return }
        let open = try unit.openUploadCount(since: call.now - Int64(limits.assetUploadSeconds) * 1000)
        guard open + count <= limits.openUploads else {
            throw WireError(.throttled, "the database has too many uploads without a complete file", retryAfter: 60)
        }
    }

    /// Gives assets of records receipts, by which they can be stored in other records of the database.
    ///
    /// The receipt expires as that of an upload does, and keeps the file until then. One request gets receipts for as many assets as a record
    /// may have: a record may have thousands of them, and a request may name it many times.
    ///
    /// Source: *CloudKit Web Services Reference*, "Rereferencing Assets".
    package func rereference(
        _ request: RereferenceAssetsRequest, in unit: any PartitionWriter, _ call: Call
    ) throws -> Outcome<RereferenceAssetsResponse> {
        try limits.checkCount(request.assets.count, of: "assets", atMost: limits.assetTokensPerRequest)
        let zone = try ZoneAccess(unit, call).liveZone(request.zoneID)
        let stored = try RecordGroups.allRecords(
            named: Array(Set(request.assets.map(\.recordName))), in: zone, unit, memoryMax: limits.storedMemoryMax)
        var access = RecordAccess(unit, call)
        let sharing = try ShareAccess(unit, zone: zone, call)
        let shares = sharing.isParticipant ? try unit.shareNames(ofRecords: Array(stored.keys), in: zone.key) : [:]
        let addresses = AssetAddresses(sealer: sealer, call, secondsValid: limits.assetDownloadSeconds)
        var uploads: [StoredUpload] = []
        var room = limits.recordBytes
        let results: [RereferenceAssetsResponse.Result] = try request.assets.map { item in
            func failure(_ error: WireError) -> RereferenceAssetsResponse.Result {
                .failure(recordName: item.recordName, fieldName: item.fieldName, error)
            }
            guard let record = stored[item.recordName]?.record, !record.isDeleted,
                sharing.canRead(item.recordName, share: shares[item.recordName])
            else {
                return failure(WireError(.notFound, "record not found"))
            }
            guard try access.allows(.read, record) else { return failure(access.refusal) }
            guard room > 0 else { return failure(Self.tooManyReceipts) }
            // Elements with one file share its receipt.
            var receipts: [String: String] = [:]
            func withReceipt(_ asset: AssetValue) -> AssetValue {
                var shown = addresses.withDownload(asset)
                if let receipt = receipts[asset.fileChecksum] {
                    shown.receipt = receipt
                    return shown
                }
                let file = StoredAsset(checksum: asset.fileChecksum, size: asset.size)
                let upload = StoredUpload(
                    id: call.makeIdentifier(), recordName: item.recordName, fieldName: item.fieldName, asset: file, created: call.now)
                uploads.append(upload)
                receipts[asset.fileChecksum] = upload.id
                shown.receipt = upload.id
                return shown
            }
            switch record.fields[item.fieldName]?.value {
            case .asset(let asset):
                room -= RecordSize.bytes(of: FieldValue.asset(asset))
                return .asset(withReceipt(asset))
            case .list(let elements, of: .asset):
                room -= RecordSize.bytes(of: FieldValue.list(elements, of: .asset))
                return .list(elements.compactMap { if case .asset(let asset) = $0 { withReceipt(asset) } else { nil } })
            default: return failure(WireError(.notFound, "the record has no asset in this field"))
            }
        }
        if !uploads.isEmpty {
            try unit.save(uploads)
            // A file counts as just used, so that it outlives its records as long as its receipts.
            try unit.touch(assets: uploads.compactMap { $0.asset?.checksum }, at: call.now)
        }
        return Outcome(RereferenceAssetsResponse(assets: results))
    }

    private static let tooManyReceipts = WireError(
        .badRequest, "the assets of one request are too many: request receipts for fewer fields", nativeCode: .limitExceeded)
}
