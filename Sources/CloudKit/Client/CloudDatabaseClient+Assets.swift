// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import Foundation

/// Where the content of an asset is.
package enum AssetSource: Sendable {
    case file(URL)
    case bytes([UInt8])
}

extension CloudDatabaseClient {
    /// Sends the content of an asset; the record that names it is saved afterwards, with the value returned here.
    ///
    /// - Parameter source: At most `limits.assetBytes`.
    /// - Throws: ``CKError`` with `.assetFileNotFound`, `.assetFileModified` if the file changed meanwhile,
    ///   `.limitExceeded`, or what the server says.
    package func uploadAsset(
        _ source: AssetSource, recordType: String, recordName: String, fieldName: String,
        zoneID: ZoneID = .defaultZone
    ) async throws(CKError) -> AssetValue {
        let before = try FileState(source)
        guard before.byteCount <= limits.assetBytes else {
            throw CKError(.limitExceeded, "an asset of \(before.byteCount) bytes is larger than \(limits.assetBytes)")
        }
        let item = AssetUploadRequest.Item(recordType: recordType, recordName: recordName, fieldName: fieldName)
        let granted: AssetUploadResponse = try read(
            try await post(.uploadAssets, AssetUploadRequest(items: [item], zoneID: zoneID)))
        let address: String
        switch granted.results.first {
        case .address(let granted): address = granted.url
        case .failure(_, _, let error): throw CKError(error)
        case nil: throw CKError.unreadable("the server gave no address for the asset")
        }

        let body: TransportRequest.Body =
            switch source {
            case .file(let url): .file(url, byteCount: before.byteCount)
            case .bytes(let bytes): .bytes(bytes)
            }
        var request = TransportRequest(
            method: "POST", target: .asset(address: address), headers: headers, body: body,
            responseBytesMax: Limits.messageBytes)
        request.headers.add(HeaderNames.contentType, HeaderNames.bytes)
        let receipt: AssetUploadReceipt = try read(try await send(request))
        guard try FileState(source) == before else {
            throw CKError(.assetFileModified, "the file of an asset changed while it was sent; save the record again")
        }
        guard receipt.asset.size == before.byteCount else {
            throw CKError.unreadable("the server received \(receipt.asset.size) of \(before.byteCount) bytes of the asset")
        }
        return receipt.asset
    }

    /// Fetches the content of an asset into memory.
    package func downloadAsset(_ asset: AssetValue) async throws(CKError) -> [UInt8] {
        var content: [UInt8] = []
        content.reserveCapacity(Int(min(max(asset.size, 0), limits.assetBytes)))
        try await download(asset) { content.append(contentsOf: $0) }
        return content
    }

    /// Fetches the content of an asset into a file. The file appears when it is complete, in the place of what was
    /// there.
    package func downloadAsset(_ asset: AssetValue, to destination: URL) async throws(CKError) {
        let partial = destination.appendingPathExtension("part-" + UUID().uuidString)
        do {
            try Data().write(to: partial)
            let handle = try FileHandle(forWritingTo: partial)
            defer { try? handle.close() }
            try await download(asset) { try handle.write(contentsOf: $0) }
            try handle.synchronize()
            if rename(partial.path, destination.path) != 0 { throw CocoaError(.fileWriteUnknown) }
        } catch {
            try? FileManager.default.removeItem(at: partial)
            if let error = error as? CKError { throw error }
            throw CKError(.assetNotAvailable, "the asset could not be written to the disk", cause: error)
        }
    }

    /// Fetches the content piece by piece. A download that breaks off goes on from where it was, as long as each attempt
    /// brings something.
    private func download(_ asset: AssetValue, _ take: ([UInt8]) throws -> Void) async throws(CKError) {
        guard let address = asset.downloadURL else {
            throw CKError(.assetNotAvailable, "the record names an asset without an address; fetch the record again")
        }
        var received: Int64 = 0
        var failure: CKError?
        repeat {
            let start = received
            do {
                try await download(asset, from: address, &received, take)
                return
            } catch {
                let broken = CKError(transportFailure: error)
                guard broken.code == .networkFailure, received > start, received < asset.size else {
                    throw failure ?? broken
                }
                failure = broken
            }
        } while true
    }

    private func download(
        _ asset: AssetValue, from address: String, _ received: inout Int64, _ take: ([UInt8]) throws -> Void
    ) async throws {
        // Source: CloudKit Web Services leave the file name in an address to the client.
        var request = TransportRequest(
            method: "GET", target: .asset(address: address.replacing("${f}", with: "asset")), headers: headers,
            responseBytesMax: Limits.messageBytes)
        if received > 0 { request.headers.add(HeaderNames.range, "bytes=\(received)-") }
        let stream = try await transport.stream(request)
        guard stream.status == (received > 0 ? 206 : 200) else {
            throw CKError(.assetNotAvailable, "the server answered \(stream.status) when asked for an asset")
        }
        for try await chunk in stream.chunks {
            received += Int64(chunk.count)
            guard received <= asset.size else { break }
            try take(chunk)
        }
        guard received == asset.size else {
            throw CKError(.networkFailure, "an asset came with another size than its record says; try again")
        }
    }
}

/// What can be told of a file's content without reading it.
private struct FileState: Equatable {
    var byteCount: Int64
    var modified: Date?

    init(_ source: AssetSource) throws(CKError) {
        switch source {
        case .bytes(let bytes): byteCount = Int64(bytes.count)
        case .file(let url):
            do {
                let attributes = try FileManager.default.attributesOfItem(atPath: url.path)
                byteCount = (attributes[.size] as? NSNumber)?.int64Value ?? 0
                modified = attributes[.modificationDate] as? Date
            } catch {
                throw CKError(.assetFileNotFound, "the file of an asset is not there or not readable", cause: error)
            }
        }
    }
}
