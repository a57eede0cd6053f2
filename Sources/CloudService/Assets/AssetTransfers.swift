// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import SystemSupport

/// Takes and gives the bytes of files.
struct AssetTransfers: ServiceSubject {
    let core: ServiceCore
    let assets: any AssetStorage
    let reservations: UploadReservations
    let resumed: ResumedUploads
    let errors: ErrorResponses

    /// Responds to a request for a file. The address is its own proof; no token is read here.
    func respond(to request: ServiceRequest) async throws -> ServiceResponse {
        let now = surroundings.now()
        // An upload that broke off goes on for longer than one begins.
        let goesOn = request.method == "HEAD" || request.method == "PATCH"
        let grace = goesOn ? Int64(engine.limits.assetResumeSeconds) * 1000 : 0
        let path = try AssetPath(opening: request.path, now: now - grace, by: engine.sealer)
        switch (path.verb, request.method) {
        case (.upload, "HEAD"), (.upload, "PATCH"):
            try profile.check(uploadMethod: request.method)
            return try await resumed.respond(to: request, path, at: now)
        case (.upload, "POST"), (.upload, "PUT"): return try await receive(request, path, at: now)
        case (.download, "GET"), (.download, "HEAD"):
            // Downloads have no grace period.
            return try await send(request, goesOn ? try AssetPath(opening: request.path, now: now, by: engine.sealer) : path)
        default: throw WireError(.notFound, "could not find handler for endpoint")
        }
    }

    private func receive(_ request: ServiceRequest, _ path: AssetPath, at now: Int64) async throws -> ServiceResponse {
        let engine = engine
        let left = try await storage.read(path.partition) { try engine.quotas.uploadBytesLeft(of: path.partition, in: $0) }
        let form = try request.header("content-type").flatMap { (type) throws(WireError) in try MultipartReader(contentType: type) }
        // The length of a form says little of the file in it.
        let length = form == nil ? request.header("content-length").flatMap(Int64.init) : nil
        if let left, left < length ?? 1 { throw Quotas.exceeded }
        let limit = min(engine.limits.assetBytes, left ?? .max)
        if let length, length > limit {
            throw WireError(.quotaExceeded, "an asset has at most \(limit) bytes", nativeCode: .limitExceeded)
        }
        let digest = try UploadHeaders.digest(request)
        let stored = try await reservations.withRoom(left ?? .max, of: engine.limits.assetBytes) {
            try await reservations.reserving(length ?? limit, of: left, in: path.partition) {
                try await assets.receive(
                    form.map { FileInForm(pieces: request.pieces, reader: $0) } ?? request.pieces, forUpload: path.file,
                    in: path.partition, bytesMax: limit, bytesExpected: length, digest: digest, at: now,
                    isOverQuota: { try engine.quotas.isOverQuota(path.partition, in: $0) })
            }
        }
        guard let stored else { throw WireError(.notFound, "no such upload was asked for") }
        let receipt = AssetUploadReceipt(checksum: stored.checksum, size: stored.size, receipt: path.file)
        return .json(receipt.encoded(), endpoint: "asset/upload")
    }

    /// Until the operator mounts the volume, the devices of all users retry.
    private static let missingFolderRetrySeconds = 30.0

    /// Bytes of a file that are read before the head of the response.
    private static let firstBytes: Int64 = 1 << 18

    private func send(_ request: ServiceRequest, _ path: AssetPath) async throws -> ServiceResponse {
        do {
            guard let reader = try await assets.open(checksum: path.file, in: path.partition) else {
                throw WireError(.notFound, "the asset no longer exists")
            }
            return try await Self.response(to: request, path, reader)
        } catch let failure as StorageFailure where failure == .missingFile || failure == .missingFolder {
            // Devices continue without a lost file, since a retry does not help before the operator restores it. They wait for a volume that
            // is not mounted. The server's log has the failure.
            let error =
                failure == .missingFile
                ? WireError(.notFound, "the file of the asset is missing")
                : WireError(.tryAgainLater, "the server does not have its files now", retryAfter: Self.missingFolderRetrySeconds)
            var response = errors.response(to: error, uuid: request.requestUUID)
            response.failure = failure
            return response
        }
    }

    /// Reads the first bytes of the body before the head: an S3 store reports only then that it has lost the object, and a response that has
    /// begun with status 200 can't become another one.
    private static func response(to request: ServiceRequest, _ path: AssetPath, _ file: any AssetReader) async throws -> ServiceResponse {
        var reader = file
        // A file never changes under its checksum, so the checksum is its tag.
        let tag = "\"\(path.file)\""
        var headers = [
            (name: HeaderNames.contentType, value: HeaderNames.bytes), (name: "Accept-Ranges", value: "bytes"),
            (name: "ETag", value: tag),
        ]
        if let digest = Hex.bytes(path.file) { headers.append((UploadHeaders.digest, UploadHeaders.text(ofDigest: digest))) }
        if let known = request.header("if-none-match"), known == "*" || known.contains(tag) {
            return ServiceResponse(status: 304, headers: headers, body: .bytes([]), endpoint: "asset/download")
        }
        if request.method == "HEAD" {
            if reader.size > 0 { _ = try await reader.read(at: 0, count: 1) }
            headers.append(("Content-Length", String(reader.size)))
            return ServiceResponse(headers: headers, body: .bytes([]), endpoint: "asset/download")
        }
        var range = 0..<reader.size
        var status = 200
        let asked = request.header("range").flatMap { request.header("if-range") ?? tag == tag ? $0 : nil }
        if let asked, ByteRange.beginsBehind(asked, size: reader.size) {
            headers.append(("Content-Range", "bytes */\(reader.size)"))
            return ServiceResponse(status: 416, headers: headers, body: .bytes([]), endpoint: "asset/download")
        }
        if let asked = asked.flatMap({ ByteRange.parse($0, size: reader.size) }) {
            range = asked
            status = 206
            headers.append(("Content-Range", "bytes \(asked.lowerBound)-\(asked.upperBound - 1)/\(reader.size)"))
        }
        if !range.isEmpty {
            let first = try await reader.read(at: range.lowerBound, count: Int(min(firstBytes, range.upperBound - range.lowerBound)))
            reader = PrefetchedReader(reader, first, at: range.lowerBound)
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

extension ServiceRequest {
    /// The body, piece by piece.
    var pieces: any AsyncSequence<[UInt8], any Error> & Sendable {
        switch body {
        case .stream(let pieces): pieces
        case .bytes(let bytes): OnePiece(bytes: bytes)
        }
    }
}

/// The single range of a `Range` header.
enum ByteRange {
    /// Whether an open range begins at or after the end: the client has the whole file.
    ///
    /// Source: RFC 9110, section 15.5.17.
    static func beginsBehind(_ header: String, size: Int64) -> Bool {
        guard header.hasPrefix("bytes="), !header.contains(",") else { return false }
        let parts = header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let first = Int64(parts[0]) else { return false }
        return first >= size && (parts[1].isEmpty || (Int64(parts[1]) ?? -1) >= first)
    }

    /// The first byte of a range that begins at an offset; nil for another.
    static func start(_ header: String) -> Int64? {
        guard header.hasPrefix("bytes="), !header.contains(",") else { return nil }
        return header.dropFirst(6).split(separator: "-", omittingEmptySubsequences: false).first.flatMap { Int64($0) }
    }

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
