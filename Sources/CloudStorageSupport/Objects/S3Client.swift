// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Crypto
import Foundation
import SystemSupport

/// Requests to one bucket. Each may be repeated without harm, and is retried with backoff and jitter while the store is overloaded or
/// cannot be reached.
///
/// Memory and time of a request are bounded: bodies are streamed from files, responses have a size, exchanges a deadline.
package struct S3Client: Sendable {
    private static let attemptsMax = 4
    private static let backoff = Backoff(firstSeconds: 0.2, longestSeconds: 5)
    /// Without the time that the bytes take.
    private static let timeoutSeconds: Int64 = 30
    /// A slower exchange is ended.
    private static let bytesPerSecond: Int64 = 100_000
    private static let errorBytesMax = 64 << 10
    /// A page has at most 1,000 keys of 1,024 bytes, with some fields each.
    private static let pageBytesMax = 4 << 20

    package let location: S3Location
    private let signature: S3Signature
    private let transport: S3Transport
    /// Milliseconds since 1970 UTC.
    package let now: @Sendable () -> Int64
    private let pause: @Sendable (Duration) async throws -> Void

    package init(
        location: S3Location, signature: S3Signature, now: @escaping @Sendable () -> Int64, transport: @escaping S3Transport,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) }
    ) {
        self.location = location
        self.signature = signature
        self.now = now
        self.transport = transport
        self.pause = pause
    }

    // MARK: Objects

    /// - Parameter bodySHA256: Of the body: the store rejects a body that differs.
    func put(_ key: String, _ body: S3Request.Body, bodySHA256: String) async throws {
        try Self.check(try await send("PUT", key, body: body, bodySHA256: bodySHA256))
    }

    /// Bytes of an object.
    ///
    /// - Throws: `S3Failure.damaged` if the response has another length.
    func get(_ key: String, _ range: Range<Int64>) async throws -> [UInt8] {
        let header = S3Signature.Parameter("Range", "bytes=\(range.lowerBound)-\(range.upperBound - 1)")
        let response = try await send("GET", key, headers: [header], responseBytes: range.count)
        guard response.status == 206 else { throw response.status == 200 ? S3Failure.unreadable : .rejected(response) }
        guard response.body.count == range.count else { throw S3Failure.damaged }
        return response.body
    }

    /// A small object; nil if it does not exist.
    func get(_ key: String) async throws -> [UInt8]? {
        let response = try await send("GET", key)
        guard response.status != 200 else { return response.body }
        let failure = S3Failure.rejected(response)
        guard failure.isMissingObject else { throw failure }
        return nil
    }

    func delete(_ key: String) async throws {
        let response = try await send("DELETE", key)
        guard response.status != 404 else { return }
        try Self.check(response)
    }

    struct Page: Sendable {
        var objects: [(key: String, size: Int64)] = []
        /// For the next page; nil at the end.
        var continuation: String?
    }

    /// Objects in the order of their keys.
    ///
    /// - Parameter prefix: Of the keys, below the location's own.
    func list(_ prefix: String, continuation: String? = nil) async throws -> Page {
        var query = [S3Signature.Parameter("list-type", "2"), S3Signature.Parameter("prefix", location.prefix + prefix)]
        if let continuation { query.append(S3Signature.Parameter("continuation-token", continuation)) }
        let document = try await document("GET", nil, query, root: "ListBucketResult")
        var page = Page()
        for item in document.items("ListBucketResult/Contents") {
            guard let key = item["Key"], let size = item["Size"].flatMap(Int64.init), let own = ownKey(key) else { continue }
            page.objects.append((own, size))
        }
        if document.text("ListBucketResult/IsTruncated") == "true" {
            guard let next = document.text("ListBucketResult/NextContinuationToken"), next != continuation else {
                throw S3Failure.unreadable
            }
            page.continuation = next
        }
        return page
    }

    // MARK: Objects in parts

    func beginParts(_ key: String) async throws -> String {
        let root = "InitiateMultipartUploadResult"
        let document = try await document("POST", key, [S3Signature.Parameter("uploads", "")], root: root)
        guard let id = document.text("\(root)/UploadId"), !id.isEmpty else { throw S3Failure.unreadable }
        return id
    }

    /// - Parameter number: From 1.
    /// - Returns: The part's tag.
    func putPart(_ key: String, upload: String, number: Int, _ body: S3Request.Body, bodySHA256: String) async throws -> String {
        let query = [S3Signature.Parameter("partNumber", String(number)), S3Signature.Parameter("uploadId", upload)]
        let response = try await send("PUT", key, query, body: body, bodySHA256: bodySHA256)
        try Self.check(response)
        guard let tag = response.tag, !tag.contains("<"), !tag.contains("&") else { throw S3Failure.unreadable }
        return tag
    }

    /// Makes the object of its parts.
    ///
    /// If the first response was lost, the retry finds the upload completed: the object decides.
    func completeParts(_ key: String, upload: String, tags: [String], size: Int64) async throws {
        let parts = tags.enumerated().map { "<Part><PartNumber>\($0.offset + 1)</PartNumber><ETag>\($0.element)</ETag></Part>" }
        let body = Array("<CompleteMultipartUpload>\(parts.joined())</CompleteMultipartUpload>".utf8)
        let response = try await send(
            "POST", key, [S3Signature.Parameter("uploadId", upload)], body: .bytes(body),
            bodySHA256: Hex.text(SHA256.hash(data: Data(body))), isComplete: Self.isComplete)
        guard response.status == 200 || response.status == 404 else { throw S3Failure.rejected(response) }
        guard try await list(key).objects.contains(where: { $0.key == key && $0.size == size }) else {
            throw response.status == 200 ? S3Failure.damaged : .rejected(response)
        }
    }

    /// The store may fail after it sent the status.
    private static func isComplete(_ response: S3Response) -> Bool {
        response.status != 200 || !["", "Error"].contains(S3Document(response.body).root)
    }

    /// Ends an upload, with its parts.
    func abortParts(_ key: String, upload: String) async throws {
        let response = try await send("DELETE", key, [S3Signature.Parameter("uploadId", upload)])
        guard response.status != 404 else { return }
        try Self.check(response)
    }

    /// Uploads in parts that are neither complete nor aborted, 1,000 at most.
    func openParts(_ prefix: String) async throws -> [(key: String, upload: String)] {
        let query = [S3Signature.Parameter("prefix", location.prefix + prefix), S3Signature.Parameter("uploads", "")]
        let document = try await document("GET", nil, query, root: "ListMultipartUploadsResult")
        return document.items("ListMultipartUploadsResult/Upload").compactMap { item in
            guard let key = item["Key"].flatMap(ownKey), let upload = item["UploadId"] else { return nil }
            return (key, upload)
        }
    }

    // MARK: Exchanges

    /// A key without the location's prefix.
    private func ownKey(_ key: String) -> String? { key.hasPrefix(location.prefix) ? String(key.dropFirst(location.prefix.count)) : nil }

    private func document(_ method: String, _ key: String?, _ query: [S3Signature.Parameter], root: String) async throws -> S3Document {
        let response = try await send(method, key, query, responseBytes: Self.pageBytesMax)
        try Self.check(response)
        let document = S3Document(response.body)
        guard document.root == root else { throw S3Failure.unreadable }
        return document
    }

    private static func check(_ response: S3Response) throws {
        guard (200..<300).contains(response.status) else { throw S3Failure.rejected(response) }
    }

    /// - Parameters:
    ///   - key: Nil for the bucket itself.
    ///   - bodySHA256: Nil for no body.
    ///   - isComplete: Returns `false` for a response that the client retries although its status is a success.
    private func send(
        _ method: String, _ key: String?, _ query: [S3Signature.Parameter] = [], headers: [S3Signature.Parameter] = [],
        body: S3Request.Body = .bytes([]), bodySHA256: String? = nil, responseBytes: Int = 0,
        isComplete: (S3Response) -> Bool = { _ in true }
    ) async throws -> S3Response {
        let path = key.map { "/\(location.bucket)/\(location.prefix)\($0)" } ?? "/\(location.bucket)"
        let message = S3Signature.Message(
            method: method, host: location.host, path: path, query: query, headers: headers,
            bodySHA256: bodySHA256 ?? S3Signature.emptySHA256)
        let url = location.base + message.encodedPath + (query.isEmpty ? "" : "?\(message.encodedQuery)")
        let seconds = Self.timeoutSeconds + (body.byteCount + Int64(responseBytes)) / Self.bytesPerSecond
        var failure = S3Failure.unreachable
        for attempt in 0..<Self.attemptsMax {
            if attempt > 0 { try await pause(Self.backoff.delay(attempt: attempt, jitter: Double.random(in: 0...1))) }
            try Task.checkCancellation()
            // Signed for each attempt: a signature is valid for some minutes.
            let request = S3Request(
                method: method, url: url, headers: signature.headers(of: message, at: now() / 1000), body: body,
                responseBytesMax: max(responseBytes, Self.errorBytesMax), timeout: .seconds(seconds))
            do {
                let response = try await transport(request)
                guard Self.isTemporary(response) || !isComplete(response) else { return response }
                failure = .rejected(response)
            } catch let error as CancellationError {
                throw error
            } catch let error as StorageFailure {
                // The file that is sent can't be read.
                throw error
            } catch {
                failure = .unreachable
            }
        }
        throw failure
    }

    private static func isTemporary(_ response: S3Response) -> Bool {
        switch response.status {
        case 408, 429, 500, 502, 503, 504: true
        // A request that another one interfered with; a body that took too long.
        case 400, 409: ["OperationAborted", "RequestTimeout"].contains(S3Document(response.body).text("Error/Code"))
        default: false
        }
    }
}
