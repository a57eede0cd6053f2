// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

extension Engine {
    /// Gives assets of records receipts, by which they can be stored in other records of the database.
    ///
    /// The receipt expires as that of an upload does, and keeps the file until then.
    ///
    /// Source: *CloudKit Web Services Reference*, "Rereferencing Assets".
    package func rereferenceAssets(
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
            func withReceipt(_ asset: AssetValue) -> AssetValue {
                let file = StoredAsset(checksum: asset.fileChecksum, size: asset.size)
                let upload = StoredUpload(
                    id: call.makeIdentifier(), recordName: item.recordName, fieldName: item.fieldName, asset: file, created: call.now)
                uploads.append(upload)
                var shown = addresses.withDownload(asset)
                shown.receipt = upload.id
                return shown
            }
            switch record.fields[item.fieldName]?.value {
            case .asset(let asset): return .asset(withReceipt(asset))
            case .list(let elements, of: .asset):
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
}
