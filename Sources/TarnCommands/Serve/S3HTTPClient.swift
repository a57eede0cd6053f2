// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudService
import CloudStorageSupport
import NIOCore
import NIOHTTP1

/// The HTTP client for S3-compatible stores. The endpoint is the operator's; its responses are bounded in bytes and time all the same.
enum S3HTTPClient {
    private static let connectTimeout = TimeAmount.seconds(10)
    /// Further requests wait for a connection.
    private static let connectionsMax = 32

    private struct TimedOut: Error {}

    /// It lives as long as the process.
    private static let client: HTTPClient = {
        var configuration = HTTPClient.Configuration.outbound(connectTimeout: connectTimeout)
        configuration.connectionPool.concurrentHTTP1ConnectionsPerHostSoftLimit = connectionsMax
        configuration.httpVersion = .http1Only
        return HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
    }()

    @Sendable static func send(_ request: S3Request) async throws -> S3Response {
        var outgoing = HTTPClientRequest(url: request.url)
        outgoing.method = HTTPMethod(rawValue: request.method)
        for header in request.headers { outgoing.headers.replaceOrAdd(name: header.name, value: header.value) }
        switch request.body {
        case .bytes(let bytes): outgoing.body = .bytes(ByteBuffer(bytes: bytes))
        case .file(let file, let range):
            outgoing.body = .stream(FilePieces(file: file, range: range), length: .known(Int64(range.count)))
        }
        return try await withThrowingTaskGroup(of: S3Response.self) { [outgoing] group in
            group.addTask {
                let response = try await client.execute(outgoing, deadline: .distantFuture)
                let body = try await response.body.collect(upTo: request.responseBytesMax)
                return S3Response(
                    status: Int(response.status.code), tag: response.headers.first(name: "ETag"), body: Array(body.readableBytesView))
            }
            group.addTask {
                try await Task.sleep(for: request.timeout)
                throw TimedOut()
            }
            defer { group.cancelAll() }
            guard let response = try await group.next() else { throw CancellationError() }
            return response
        }
    }

    /// The bytes of a file, read as they are sent.
    private struct FilePieces: AsyncSequence, Sendable {
        static let pieceBytes = 1 << 18

        let file: any AssetReader
        let range: Range<Int64>

        struct AsyncIterator: AsyncIteratorProtocol {
            let file: any AssetReader
            var rest: Range<Int64>

            mutating func next() async throws -> ByteBuffer? {
                guard !rest.isEmpty else { return nil }
                let bytes = try await file.read(at: rest.lowerBound, count: Swift.min(FilePieces.pieceBytes, rest.count))
                // The request's head states the length; the client ends the request that has fewer bytes.
                guard !bytes.isEmpty else { return nil }
                rest = rest.lowerBound + Int64(bytes.count)..<rest.upperBound
                return ByteBuffer(bytes: bytes)
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(file: file, rest: range) }
    }
}
