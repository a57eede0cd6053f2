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
    /// - Parameters:
    ///   - source: How large it may be is the server's operator to say.
    ///   - progress: Told of pieces as they are sent.
    /// - Throws: ``CKError`` with `.assetFileNotFound`, `.assetFileModified` if the file changed meanwhile,
    ///   `.limitExceeded`, or what the server says.
    package func uploadAsset(
        _ source: AssetSource, recordType: String, recordName: String, fieldName: String,
        zoneID: ZoneID = .defaultZone, progress: ByteProgress? = nil
    ) async throws(CKError) -> AssetValue {
        let before = try FileState(source)
        let item = AssetUploadRequest.Item(recordType: recordType, recordName: recordName, fieldName: fieldName)
        let answer = try await post(.uploadAssets, AssetUploadRequest(items: [item], zoneID: zoneID))
        let granted: AssetUploadResponse = try read(answer)
        let address: String
        switch granted.results.first {
        case .address(let granted): address = granted.url
        case .failure(_, _, let error): throw CKError(error)
        case nil: throw CKError.unreadable("the server gave no address for the asset")
        }

        let sent = SentFile(progress)
        let receipt: AssetUploadReceipt
        switch source {
        case .bytes(let bytes): receipt = try await upload(.bytes(bytes), to: address, sent)
        case .file(let url) where ResumableUpload.isOffered(answer) && before.byteCount > 0:
            receipt = try await uploadInParts(url, before.byteCount, to: address, sent)
        case .file(let url): receipt = try await upload(.file(url, byteCount: before.byteCount), to: address, sent)
        }
        guard try FileState(source) == before else {
            throw CKError(.assetFileModified, "the file of an asset changed while it was sent; save the record again")
        }
        guard receipt.asset.size == before.byteCount else {
            throw CKError.unreadable("the server received \(receipt.asset.size) of \(before.byteCount) bytes of the asset")
        }
        if case .file = source, !sent.agrees(with: receipt.asset.fileChecksum) {
            throw CKError.unreadable("the server received other bytes of the asset than were sent; save the record again")
        }
        return receipt.asset
    }

    private func upload(
        _ body: TransportRequest.Body, to address: String, _ sent: SentFile
    ) async throws(CKError) -> AssetUploadReceipt {
        var request = uploadRequest("POST", address, body)
        request.sent = sent
        return try read(try await send(request))
    }

    /// Sends a file in as many parts as it takes: after a break, from where the server says that it is, as long as two
    /// attempts bring something. A server may not have seen the break yet when it is asked.
    private func uploadInParts(
        _ file: URL, _ count: Int64, to address: String, _ sent: SentFile
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
                let answer = try await send(part)
                guard answer.status == 409, let there = ResumableUpload.offset(in: answer) else { return try read(answer) }
                guard there != offset, 0...count ~= there else { throw CKError(answer) }
                offset = there
                continue
            } catch {
                broken = error
            }
            guard broken.code == .networkFailure else { throw broken }
            let answer = try await send(uploadRequest("HEAD", address, .none))
            guard 200..<300 ~= answer.status, let there = ResumableUpload.offset(in: answer), there <= count,
                there > offset || !isStuck
            else { throw broken }
            isStuck = there <= offset
            // Once more with nothing, if only the receipt was lost.
            offset = there
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

    /// How long the server may be silent while it sends an asset.
    package static var silenceDeadline: Duration { .seconds(30) }

    /// Fetches the content of an asset into memory.
    package func downloadAsset(_ asset: AssetValue) async throws(CKError) -> [UInt8] {
        let sink = AssetSink(asset, to: nil, memoryMax: limits.assetBytes, nil)
        try await download(asset, sink, clock: ContinuousClock())
        return sink.bytes
    }

    /// Fetches the content of an asset into a file. The file appears when it is complete and checked, in the place of what
    /// was there.
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
            // Whoever else uses this machine may look into the folder; the content is this user's from the first byte on.
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

    /// Fetches the content piece by piece. A download that breaks off or falls silent goes on from where it was, as long as
    /// each attempt brings something.
    private func download<C: Clock<Duration>>(_ asset: AssetValue, _ sink: AssetSink, clock: C) async throws(CKError) {
        guard let address = asset.downloadURL else {
            throw CKError(.assetNotAvailable, "the record names an asset without an address; fetch the record again")
        }
        let limit = transport.fallsSilent ? Self.silenceDeadline : nil
        let silence = CKError(.networkFailure, "the server fell silent while it sent an asset; try again")
        var failure: CKError?
        while true {
            let start = sink.received
            do {
                try await whileHeard(within: limit, by: clock, orThrow: silence) { heard in
                    try await download(from: address, sink, heard)
                }
                return try sink.finish()
            } catch {
                let broken = CKError(transportFailure: error)
                let received = sink.received
                guard broken.code == .networkFailure, received < asset.size else { throw broken }
                guard received > start else { throw failure ?? broken }
                failure = broken
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
        // What ignores ranges on the way sends all of it again.
        var known = stream.status == 200 ? start : 0
        guard stream.status == 200 || stream.status == 206 && start > 0 else {
            if stream.status == 429 || stream.status >= 500 {
                throw CKError(TransportResponse(status: stream.status, headers: stream.headers))
            }
            throw CKError(.assetNotAvailable, "the server answered \(stream.status) when asked for an asset")
        }
        for try await chunk in stream.chunks {
            heard()
            let piece = chunk.dropFirst(Int(min(known, Int64(chunk.count))))
            known -= Int64(chunk.count - piece.count)
            if !piece.isEmpty { try await sink.take(piece) }
        }
    }
}

/// Uploads that go on after a break.
///
/// Source: the IETF draft *Resumable Uploads for HTTP*.
private enum ResumableUpload {
    static let offset = "Upload-Offset"
    static let isComplete = "Upload-Complete"

    /// Whether a server says that it can do it.
    static func isOffered(_ response: TransportResponse) -> Bool {
        Capability.parse(response.headers[HeaderNames.capabilities] ?? "").contains(.resumableUpload)
    }

    static func offset(in response: TransportResponse) -> Int64? {
        response.headers[offset].flatMap { Int64($0) }.flatMap { $0 >= 0 ? $0 : nil }
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
