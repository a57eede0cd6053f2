// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import Foundation

/// Source of an asset's content.
package enum AssetSource: Sendable {
    case file(URL)
    case bytes([UInt8])
}

extension CloudDatabaseClient {
    /// Uploads the content of an asset. The caller then saves the record that refers to it, with the value returned
    /// here.
    ///
    /// - Parameters:
    ///   - source: The server's operator sets the maximum size; with iCloud it is the documented one.
    ///   - progress: Receives the sizes of the pieces as they are sent.
    /// - Throws: ``CKError`` with `.assetFileNotFound`, `.assetFileModified` if the file changes while it is sent,
    ///   `.limitExceeded`, or the error of the server. The record is not saved.
    package func uploadAsset(
        _ source: AssetSource, recordType: String, recordName: String, fieldName: String,
        zoneID: ZoneID = .defaultZone, progress: ByteProgress? = nil
    ) async throws(CKError) -> AssetValue {
        let fileState = try FileState(source)
        // The service's own error is that of an exceeded quota, which would pause a mirrored store.
        guard !dialect.hasFixedLimits || fileState.byteCount <= limits.assetBytes else {
            throw CKError(
                .limitExceeded, "an asset of \(fileState.byteCount) bytes exceeds the limit of \(limits.assetBytes): save a smaller one")
        }
        let item = AssetUploadRequest.Item(recordType: recordType, recordName: recordName, fieldName: fieldName)
        let response = try await post(.uploadAssets, AssetUploadRequest(items: [item], zoneID: zoneID))
        let granted: AssetUploadResponse = try read(response)
        let address: String
        switch granted.results.first {
        case .address(let granted): address = granted.url
        case .failure(_, _, let error): throw CKError(error)
        case nil: throw CKError.unreadable("the server returned no upload address for the asset")
        }

        let sent = AssetUploadObserver(progress)
        let receipt: AssetUploadReceipt
        switch source {
        case .bytes(let bytes): receipt = try await upload(.bytes(bytes), to: address, sent)
        case .file(let url) where ResumableUpload.isOffered(response) && fileState.byteCount > 0:
            receipt = try await uploadInParts(url, fileState.byteCount, to: address, sent)
        case .file(let url): receipt = try await upload(.file(url, byteCount: fileState.byteCount), to: address, sent)
        }
        guard try FileState(source) == fileState else {
            throw CKError(.assetFileModified, "the file of an asset changed during the upload; save the record again")
        }
        guard receipt.asset.size == fileState.byteCount else {
            throw CKError.unreadable("the server received \(receipt.asset.size) of \(fileState.byteCount) bytes of the asset")
        }
        if case .file = source, !sent.matches(receipt.asset.fileChecksum) {
            throw CKError.unreadable("the checksum of the uploaded asset differs from that of the sent bytes; save the record again")
        }
        return receipt.asset
    }

    /// Requests receipts for assets of records, by which other records of the database can have them.
    ///
    /// - Throws: ``CKError``. Failures of single assets are results.
    ///
    /// Source: *CloudKit Web Services Reference*, "Rereferencing Assets".
    package func rereferenceAssets(_ request: RereferenceAssetsRequest) async throws(CKError) -> RereferenceAssetsResponse {
        let response: RereferenceAssetsResponse = try read(try await post(.rereferenceAssets, request))
        guard response.assets.count == request.assets.count else {
            throw CKError.unreadable("the server returned \(response.assets.count) results for \(request.assets.count) assets")
        }
        return response
    }

    private func upload(
        _ body: TransportRequest.Body, to address: String, _ sent: AssetUploadObserver
    ) async throws(CKError) -> AssetUploadReceipt {
        var request = uploadRequest("POST", address, body)
        request.sent = sent
        return try read(try await send(request))
    }

    /// Uploads a file in parts. After a broken connection it resumes at the server's offset, unless two attempts in a
    /// row make no progress. A server may report an old offset until it notices the break.
    private func uploadInParts(
        _ file: URL, _ count: Int64, to address: String, _ sent: AssetUploadObserver
    ) async throws(CKError) -> AssetUploadReceipt {
        var offset: Int64 = 0
        var isStuck = false
        while true {
            var part = uploadRequest("PATCH", address, .file(file, byteCount: count - offset, from: offset))
            part.headers.add(ResumableUpload.offset, String(offset))
            part.headers.add(ResumableUpload.isComplete, "?1")
            part.sent = sent
            let broken: CKError
            do throws(CKError) {
                let response = try await send(part)
                guard response.status == 409, let serverOffset = ResumableUpload.offset(in: response) else { return try read(response) }
                guard serverOffset != offset, 0...count ~= serverOffset else { throw CKError(response) }
                offset = serverOffset
                continue
            } catch {
                broken = error
            }
            guard broken.code == .networkFailure else { throw broken }
            let response = try await send(uploadRequest("HEAD", address, .none))
            guard 200..<300 ~= response.status, let serverOffset = ResumableUpload.offset(in: response), serverOffset <= count,
                serverOffset > offset || !isStuck
            else { throw broken }
            isStuck = serverOffset <= offset
            // If only the receipt was lost, the last part is empty.
            offset = serverOffset
        }
    }

    private func uploadRequest(_ method: String, _ address: String, _ body: TransportRequest.Body) -> TransportRequest {
        var request = TransportRequest(
            method: method, target: .asset(address: address), headers: headers, body: body,
            responseBytesMax: Limits.messageBytes)
        if case .none = body { return request }
        request.headers.add(HeaderNames.contentType, HeaderNames.bytes)
        return request
    }

    /// Idle timeout of a download.
    package static var idleTimeout: Duration { .seconds(30) }

    /// Downloads the content of an asset into memory.
    package func downloadAsset(_ asset: AssetValue) async throws(CKError) -> [UInt8] {
        let sink = AssetSink(asset, to: nil, memoryMax: limits.assetBytes, nil)
        try await download(asset, sink, clock: ContinuousClock())
        return sink.bytes
    }

    /// Downloads the content of an asset into a file. The file is replaced atomically, after the size and the checksum
    /// are verified.
    package func downloadAsset(
        _ asset: AssetValue, to destination: URL, progress: ByteProgress? = nil
    ) async throws(CKError) {
        try await downloadAsset(asset, to: destination, progress: progress, clock: ContinuousClock())
    }

    package func downloadAsset<C: Clock<Duration>>(
        _ asset: AssetValue, to destination: URL, progress: ByteProgress? = nil, clock: C
    ) async throws(CKError) {
        let partial = destination.appendingPathExtension("part-" + UUID().uuidString)
        do {
            // Other users may read the folder. The content is readable by this user only from the first byte on.
            let descriptor = open(partial.path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
            let handle = FileHandle(fileDescriptor: descriptor, closeOnDealloc: true)
            defer { try? handle.close() }
            let sink = AssetSink(asset, to: handle, progress)
            try await download(asset, sink, clock: clock)
            try sink.synchronize()
            if rename(partial.path, destination.path) != 0 { throw CocoaError(.fileWriteUnknown) }
        } catch {
            try? FileManager.default.removeItem(at: partial)
            if let error = error as? CKError { throw error }
            throw CKError(.assetNotAvailable, "the asset could not be written to the disk", cause: error)
        }
    }

    /// Downloads the content in one or more attempts. Each attempt resumes after the bytes received so far. Stops when
    /// two attempts in a row make no progress. One may: a kept connection was closed already, or it broke before the
    /// received bytes were read, and the HTTP client drops those.
    private func download<C: Clock<Duration>>(_ asset: AssetValue, _ sink: AssetSink, clock: C) async throws(CKError) {
        guard let address = asset.downloadURL else {
            throw CKError(.assetNotAvailable, "the record has no download address for the asset; fetch the record again")
        }
        let limit = transport.needsIdleTimeout ? Self.idleTimeout : nil
        let silence = CKError(.networkFailure, "the download of an asset timed out; fetch the record again")
        var isStuck = false
        while true {
            let start = sink.received
            do {
                try await withIdleTimeout(within: limit, by: clock, orThrow: silence) { heard in
                    try await download(from: address, sink, heard)
                }
                return try sink.finish()
            } catch {
                let broken = CKError(transportFailure: error)
                let received = sink.received
                guard broken.code == .networkFailure, received < asset.size, !sink.isOversized else { throw broken }
                guard received > start || !isStuck else { throw broken }
                isStuck = received <= start
            }
        }
    }

    private func download(from address: String, _ sink: AssetSink, _ heard: @escaping @Sendable () -> Void) async throws {
        // Source: CloudKit Web Services leave the file name in an address to the client.
        var request = TransportRequest(
            method: "GET", target: .asset(address: address.replacing("${f}", with: "asset")), headers: headers,
            responseBytesMax: Limits.messageBytes)
        let start = sink.received
        if start > 0 { request.headers.add(HeaderNames.range, "bytes=\(start)-") }
        let stream = try await transport.stream(request)
        // A proxy that ignores ranges sends all of it again.
        var receivedBytes = stream.status == 200 ? start : 0
        guard stream.status == 200 || stream.status == 206 && start > 0 else {
            if stream.status == 429 || stream.status >= 500 {
                throw CKError(TransportResponse(status: stream.status, headers: stream.headers))
            }
            let isMissing = HTTPStatus.isMissing(stream.status)
            throw CKError(
                .assetNotAvailable, "the download of an asset failed with HTTP status \(stream.status)",
                userInfo: isMissing ? [CKError.assetMissingKey: NSNumber(value: true)] : [:])
        }
        for try await chunk in stream.chunks {
            heard()
            let piece = chunk.dropFirst(Int(min(receivedBytes, Int64(chunk.count))))
            receivedBytes -= Int64(chunk.count - piece.count)
            if !piece.isEmpty { try await sink.receive(piece) }
        }
    }
}

/// Resumable uploads.
///
/// Source: the IETF draft *Resumable Uploads for HTTP*.
private enum ResumableUpload {
    static let offset = "Upload-Offset"
    static let isComplete = "Upload-Complete"

    /// Returns whether the server offers resumable uploads.
    static func isOffered(_ response: TransportResponse) -> Bool {
        Capability.parse(response.headers[HeaderNames.capabilities] ?? "").contains(.resumableUpload)
    }

    static func offset(in response: TransportResponse) -> Int64? {
        response.headers[offset].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
    }
}

/// Size and modification time of a file, to detect changes without reading it.
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
                throw CKError(.assetFileNotFound, "the file of an asset is missing or not readable", cause: error)
            }
        }
    }
}
