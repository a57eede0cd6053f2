// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension CloudService {
    /// Takes and gives the bytes of files. The address is its own proof; no token is read here.
    func respondToAsset(_ request: ServiceRequest) async throws -> ServiceResponse {
        let now = surroundings.now()
        let path = try AssetPath(opening: request.path, now: now, by: engine.sealer)
        switch (path.verb, request.method) {
        case (.upload, "POST"), (.upload, "PUT"): return try await receive(request, path, at: now)
        case (.download, "GET"): return try await send(request, path)
        default: throw WireError(.notFound, "could not find handler for endpoint")
        }
    }

    private func receive(_ request: ServiceRequest, _ path: AssetPath, at now: Int64) async throws -> ServiceResponse {
        let limit = engine.limits.assetBytes
        let length = request.header("content-length").flatMap(Int64.init)
        if let length, length > limit {
            throw WireError(.quotaExceeded, "an asset has at most \(limit) bytes", nativeCode: .limitExceeded)
        }
        let pieces: any AsyncSequence<[UInt8], any Error> & Sendable =
            switch request.body {
            case .stream(let pieces): pieces
            case .bytes(let bytes): OnePiece(bytes: bytes)
            }
        let stored = try await assets.receive(
            pieces, forUpload: path.file, in: path.partition, bytesMax: limit, bytesExpected: length, at: now)
        guard let stored else { throw WireError(.notFound, "no such upload was asked for") }
        let receipt = AssetUploadReceipt(
            asset: AssetValue(fileChecksum: stored.checksum, size: stored.size, receipt: path.file))
        return .json(receipt.encoded(), endpoint: "asset/upload")
    }

    private func send(_ request: ServiceRequest, _ path: AssetPath) async throws -> ServiceResponse {
        guard let reader = try await assets.open(checksum: path.file, in: path.partition) else {
            throw WireError(.notFound, "the asset is no longer there")
        }
        var headers = [
            (name: HeaderNames.contentType, value: HeaderNames.bytes), (name: "Accept-Ranges", value: "bytes"),
        ]
        var range = 0..<reader.size
        var status = 200
        if let asked = request.header("range").flatMap({ ByteRange.parse($0, size: reader.size) }) {
            range = asked
            status = 206
            headers.append(("Content-Range", "bytes \(asked.lowerBound)-\(asked.upperBound - 1)/\(reader.size)"))
        }
        return ServiceResponse(status: status, headers: headers, body: .file(reader, range), endpoint: "asset/download")
    }
}

/// A body that came whole.
private struct OnePiece: AsyncSequence, Sendable {
    typealias Element = [UInt8]
    typealias Failure = any Error

    struct Iterator: AsyncIteratorProtocol {
        var bytes: [UInt8]?

        mutating func next() async throws -> [UInt8]? {
            defer { bytes = nil }
            return bytes
        }
    }

    let bytes: [UInt8]

    func makeAsyncIterator() -> Iterator { Iterator(bytes: bytes) }
}

/// The single range of a `Range` header.
enum ByteRange {
    /// - Returns: Nil where the whole file is the right answer: several ranges, another unit, a range outside the file.
    ///
    /// Source: RFC 9110, section 14.2: a server may ignore the header.
    static func parse(_ header: String, size: Int64) -> Range<Int64>? {
        guard size > 0, header.hasPrefix("bytes="), !header.contains(",") else { return nil }
        let parts = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        switch (Int64(parts[0]), Int64(parts[1])) {
        case (let first?, let last?) where first >= 0 && first <= last && first < size: return first..<min(last, size - 1) + 1
        case (let first?, nil) where parts[1].isEmpty && first >= 0 && first < size: return first..<size
        case (nil, let count?) where parts[0].isEmpty && count > 0: return max(0, size - count)..<size
        default: return nil
        }
    }
}
