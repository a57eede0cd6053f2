// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

extension Engine {
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
}
