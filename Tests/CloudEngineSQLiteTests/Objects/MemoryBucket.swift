// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import Crypto
import Foundation
import Synchronization
import SystemSupport
import TestBasics

@testable import CloudStorageSupport

/// A bucket in memory, behind the transport of the S3 client: requests are those that a store gets, and failures come when a test wants
/// them. `S3ServerTests` run the same code against a store's own program.
final class MemoryBucket: Sendable {
    private struct Upload {
        let key: String
        var parts: [Int: [UInt8]] = [:]
    }

    private struct State {
        var objects: [String: [UInt8]] = [:]
        var uploads: [String: Upload] = [:]
        var uploadCount = 0
        var requests: [String] = []
        var interceptors: [@Sendable (S3Request) -> S3Response?] = []
    }

    private static let prefix = "/bucket/tarn/"
    /// Keys of a page, so that lists have several.
    private static let pageCount = 2

    private let state = Mutex(State())
    let clock: HandClock

    init(clock: HandClock = HandClock()) { self.clock = clock }

    /// A new client, as of another process.
    func client(pause: @escaping @Sendable (Duration) async throws -> Void = { _ in }) throws -> S3Client {
        guard let location = S3Location("s3://bucket/tarn", endpoint: "http://localhost:9000") else { throw S3Failure.unreadable }
        return S3Client(
            location: location, signature: S3Signature(key: S3Key(id: "id", secret: "secret"), region: "us-east-1"),
            now: { [clock] in clock.now }, transport: { [self] in try await respond(to: $0) }, pause: pause)
    }

    func assets(partBytes: Int64 = 4) throws -> S3Assets { S3Assets(client: try client(), partBytes: partBytes) }

    // MARK: State

    /// Keys of the assets, in their order.
    var keys: [String] { state.withLock { $0.objects.keys.filter { $0.hasPrefix("assets/") }.sorted() } }
    /// Method and key of each request, with the name of the first query parameter.
    var requests: [String] { state.withLock { $0.requests } }
    var openUploadCount: Int { state.withLock { $0.uploads.count } }
    subscript(_ key: String) -> [UInt8]? {
        get { state.withLock { $0.objects[key] } }
        set { state.withLock { $0.objects[key] = newValue } }
    }

    func forgetRequests() { state.withLock { $0.requests = [] } }

    /// Answers the next request in place of the bucket, or lets it through.
    func intercept(_ interceptor: @escaping @Sendable (S3Request) -> S3Response?) {
        state.withLock { $0.interceptors.append(interceptor) }
    }

    // MARK: Requests

    private struct NoConnection: Error {}

    static func error(_ status: Int, _ code: String) -> S3Response {
        S3Response(status: status, body: Array("<?xml version=\"1.0\"?><Error><Code>\(code)</Code></Error>".utf8))
    }

    private func respond(to request: S3Request) async throws -> S3Response {
        guard let url = URLComponents(string: request.url) else { throw S3Failure.unreadable }
        let query = Dictionary((url.queryItems ?? []).map { ($0.name, $0.value ?? "") }, uniquingKeysWith: { first, _ in first })
        let key = url.path.hasPrefix(Self.prefix) ? String(url.path.dropFirst(Self.prefix.count)) : nil
        let body = try await Self.bytes(request.body)
        let interceptor = state.withLock { state -> (@Sendable (S3Request) -> S3Response?)? in
            state.requests.append("\(request.method) \(key ?? "/")" + (url.queryItems?.first.map { " \($0.name)" } ?? ""))
            return state.interceptors.isEmpty ? nil : state.interceptors.removeFirst()
        }
        if let response = interceptor?(request) {
            // Status 0 stands for a connection that broke off.
            guard response.status != 0 else { throw NoConnection() }
            return response
        }
        let hash = request.headers.first { $0.name == "X-Amz-Content-SHA256" }?.value
        guard hash == Hex.text(SHA256.hash(data: Data(body))) else { return Self.error(400, "XAmzContentSHA256Mismatch") }
        let range = request.headers.first { $0.name == "Range" }?.value
        return state.withLock { Self.respond(request.method, key, query, range, body, &$0) }
    }

    private static func bytes(_ body: S3Request.Body) async throws -> [UInt8] {
        switch body {
        case .bytes(let bytes): bytes
        case .file(let file, let range): try await file.read(at: range.lowerBound, count: range.count)
        }
    }

    private static func respond(
        _ method: String, _ key: String?, _ query: [String: String], _ range: String?, _ body: [UInt8], _ state: inout State
    ) -> S3Response {
        let upload = query["uploadId"]
        switch (method, key) {
        case ("GET", nil) where query["uploads"] != nil: return uploads(query["prefix"] ?? "", state)
        case ("GET", nil): return list(query, state)
        case ("POST", let key?) where query["uploads"] != nil:
            state.uploadCount += 1
            let id = "upload/+\(state.uploadCount)"
            state.uploads[id] = Upload(key: key)
            return xml("<InitiateMultipartUploadResult><UploadId>\(id)</UploadId></InitiateMultipartUploadResult>")
        case ("PUT", _?) where upload != nil:
            guard let number = query["partNumber"].flatMap(Int.init), let upload, state.uploads[upload] != nil else {
                return error(404, "NoSuchUpload")
            }
            state.uploads[upload]?.parts[number] = body
            return S3Response(status: 200, tag: "\"tag-\(number)\"")
        case ("POST", let key?):
            guard let upload, let parts = state.uploads.removeValue(forKey: upload)?.parts else { return error(404, "NoSuchUpload") }
            let listed = S3Document(body).items("CompleteMultipartUpload/Part").compactMap { $0["PartNumber"].flatMap(Int.init) }
            state.objects[key] = listed.flatMap { parts[$0] ?? [] }
            return xml("<CompleteMultipartUploadResult><ETag>\"e\"</ETag></CompleteMultipartUploadResult>")
        case ("DELETE", _?) where upload != nil:
            if let upload { state.uploads[upload] = nil }
            return S3Response(status: 204)
        case ("PUT", let key?):
            state.objects[key] = body
            return S3Response(status: 200)
        case ("DELETE", let key?):
            state.objects[key] = nil
            return S3Response(status: 204)
        case ("GET", let key?):
            guard let object = state.objects[key] else { return error(404, "NoSuchKey") }
            guard let range else { return S3Response(status: 200, body: object) }
            let ends = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
            return S3Response(status: 206, body: Array(object[ends[0]...min(ends[1], object.count - 1)]))
        default: return error(405, "MethodNotAllowed")
        }
    }

    private static func xml(_ text: String) -> S3Response { S3Response(status: 200, body: Array(text.utf8)) }

    private static func list(_ query: [String: String], _ state: State) -> S3Response {
        let after = query["continuation-token"] ?? ""
        let all = state.objects.keys.map { "tarn/\($0)" }.filter { $0.hasPrefix(query["prefix"] ?? "") && $0 > after }.sorted()
        let page = all.prefix(pageCount)
        let items = page.map { key in
            "<Contents><Key>\(key)</Key><Size>\(state.objects[String(key.dropFirst(5))]?.count ?? 0)</Size><Owner><ID>o</ID></Owner></Contents>"
        }
        let isLast = page.count == all.count
        let next = isLast ? "" : "<NextContinuationToken>\(page.last ?? "")</NextContinuationToken>"
        return xml(
            "<?xml version=\"1.0\"?><ListBucketResult xmlns=\"x\"><IsTruncated>\(!isLast)</IsTruncated>\(next)\(items.joined())</ListBucketResult>"
        )
    }

    private static func uploads(_ prefix: String, _ state: State) -> S3Response {
        let items = state.uploads.filter { "tarn/\($0.value.key)".hasPrefix(prefix) }.map { id, upload in
            "<Upload><Key>tarn/\(upload.key)</Key><UploadId>\(id)</UploadId></Upload>"
        }
        return xml("<ListMultipartUploadsResult><Bucket>bucket</Bucket>\(items.joined())</ListMultipartUploadsResult>")
    }
}
