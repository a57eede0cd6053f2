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
        try checkCount(request.items.count, of: "asset tokens", atMost: limits.assetTokensPerRequest)
        let zone = try liveZone(request.zoneID, in: unit, call)
        guard try ShareAccess(unit, zone: zone, call).canWriteAnything else {
            throw WireError(.accessDenied, "the participant may only read")
        }
        guard try uploadBytesLeft(of: call.partition, in: unit) != 0 else { throw Self.quotaExceeded }
        let open = try unit.openUploadCount()
        guard open + request.items.count <= limits.openUploads else {
            throw WireError(
                .quotaExceeded, "a database has at most \(limits.openUploads) uploads without a complete file",
                retryAfter: Double(limits.assetUploadSeconds), nativeCode: .limitExceeded)
        }
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
}
