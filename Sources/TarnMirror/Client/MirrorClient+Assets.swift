// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SystemSupport

/// Contents of assets: long values, which stand in files of the server. They are transferred whole, through memory.
extension MirrorClient {
    /// Uploads the long values of an item.
    ///
    /// - Returns: The assets by field, or the failure of this item alone.
    func upload(_ item: ExportBatch.Item) async throws -> Result<[String: AssetValue], CloudFailure> {
        var assets: [String: AssetValue] = [:]
        for upload in item.uploads {
            do {
                assets[upload.field] = try await send(upload, of: item)
            } catch let failure as CloudFailure where failure.code == .limitExceeded {
                return .failure(CloudFailure(.invalidArguments, failure.reason))
            } catch let failure as CloudFailure where failure.code == .permissionFailure {
                return .failure(failure)
            }
        }
        return .success(assets)
    }

    private func send(_ upload: ExportBatch.Upload, of item: ExportBatch.Item) async throws -> AssetValue {
        let place = AssetUploadRequest.Item(recordType: item.record.recordType, recordName: item.recordName, fieldName: upload.field)
        let granted: AssetUploadResponse = try read(
            try await post(.uploadAssets, AssetUploadRequest(items: [place], zoneID: Self.home)))
        let address: String
        switch granted.results.first {
        case .address(let granted): address = granted.url
        case .failure(_, _, let error): throw CloudFailure(error)
        case nil: throw CloudFailure.unreadable("the server returned no upload address for the asset")
        }
        let content = upload.content.bytes
        var headers = headers()
        headers[HeaderNames.contentType] = HeaderNames.bytes
        let receipt: AssetUploadReceipt = try read(
            try await transport.send(
                MirrorRequest(method: "POST", target: .asset(address: address), headers: headers, body: Data(content))))
        guard receipt.asset.size == content.count else {
            throw CloudFailure.unreadable("the server received \(receipt.asset.size) of \(content.count) bytes of the asset")
        }
        return receipt.asset
    }

    /// Downloads the content of an asset, and compares its size and checksum.
    func download(_ asset: AssetValue) async throws -> Data {
        guard let address = asset.downloadURL, let size = Int(exactly: asset.size), 0...Int(limits.assetBytes) ~= size else {
            throw CloudFailure(.assetNotAvailable, "the record has no download address for the asset, or the asset is too large")
        }
        let response = try await transport.send(
            MirrorRequest(
                // Source: CloudKit Web Services leave the file name in an address to the client.
                method: "GET", target: .asset(address: address.replacing("${f}", with: "asset")), headers: headers(), body: nil,
                // Not below the size of a response with the reason of a failure.
                responseBytesMax: max(size, Limits.messageBytes)))
        guard response.status == 200 else {
            if response.status == 429 || response.status >= 500 { throw CloudFailure(response) }
            var failure = CloudFailure(.assetNotAvailable, "the download of an asset failed with HTTP status \(response.status)")
            failure.isAssetMissing = HTTPStatus.isMissing(response.status)
            throw failure
        }
        guard response.body.count == size, Hex.text(SHA256.hash(response.body)) == asset.fileChecksum.lowercased() else {
            throw CloudFailure(.networkFailure, "the downloaded asset is incomplete or has another checksum")
        }
        return response.body
    }
}
