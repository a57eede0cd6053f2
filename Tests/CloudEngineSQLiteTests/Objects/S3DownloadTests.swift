// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngineSQLite
import CloudService
import CloudWire
import TestBasics
import Testing

@testable import CloudEngine
@testable import CloudStorageSupport

/// Downloads of assets in a bucket, by the service without sockets.
@Suite struct S3DownloadTests {
    private static let mia = Partition(containerIdentifier: "app", environment: .development, owner: "_mia")

    private struct Server {
        /// Bytes that the HTTP server reads at once.
        private static let pieceBytes = 1 << 18

        let folder = TemporaryFolder()
        let bucket = MemoryBucket()
        let store: SQLiteServerStore
        private let service: CloudService

        init() throws {
            let store = try SQLiteServerStore(
                path: folder.path, use: .server, objects: try bucket.assets(partBytes: 1 << 20), passwordRounds: 16)
            let (clock, bytes) = (bucket.clock, SeededBytes())
            service = CloudService(
                engine: Engine(sealer: store.sealer), storage: store, accounts: store, assets: store, push: PushHub(now: { clock.now }),
                surroundings: CloudService.Surroundings(now: { clock.now }, randomBytes: { bytes.next($0) }))
            self.store = store
        }

        func upload(_ bytes: [UInt8]) async throws -> StoredAsset {
            bucket.clock.advance(seconds: 1)
            let (now, id) = (bucket.clock.now, "upload-\(bucket.clock.now)")
            try await store.write(mia) { try $0.save([StoredUpload(id: id, recordName: "a", fieldName: "f", created: now)]) }
            let stored = try await store.receive(
                Pieces(pieces: [bytes]), forUpload: id, in: mia, bytesMax: 1_000_000, bytesExpected: nil, digest: nil, at: now)
            bucket.forgetRequests()
            return try #require(stored)
        }

        func respond(_ method: String, _ asset: StoredAsset, _ headers: [String: String] = [:]) async -> ServiceResponse {
            let path = AssetPath(partition: mia, verb: .download, file: asset.checksum, expiry: bucket.clock.now / 1000 + 60)
            return await service.respond(
                to: ServiceRequest(
                    method: method, path: path.sealed(by: store.sealer), headers: RequestHeaders(headers), baseURL: "http://tarn.example"))
        }

        func bytes(_ response: ServiceResponse) async throws -> [UInt8] {
            guard case .file(let file, let range) = response.body else { return [] }
            var bytes: [UInt8] = []
            while bytes.count < range.count {
                let count = min(Self.pieceBytes, range.count - bytes.count)
                let piece = try await file.read(at: range.lowerBound + Int64(bytes.count), count: count)
                try #require(!piece.isEmpty)
                bytes += piece
            }
            return bytes
        }
    }

    @Test func aSmallDownloadIsOneRequest() async throws {
        let server = try Server()
        let asset = try await server.upload([1, 2, 3, 4])
        let whole = await server.respond("GET", asset)
        #expect(whole.status == 200)
        #expect(try await server.bytes(whole) == [1, 2, 3, 4])
        #expect(server.bucket.requests.map { $0.prefix(11) } == ["GET assets/"])
        server.bucket.forgetRequests()
        let part = await server.respond("GET", asset, ["range": "bytes=1-2"])
        #expect(part.status == 206)
        #expect(try await server.bytes(part) == [2, 3])
        #expect(server.bucket.requests.map { $0.prefix(11) } == ["GET assets/"])
    }

    /// The first window is 256 KiB, and the next one has the rest.
    @Test func aLargeDownloadHasOneRequestForEachWindow() async throws {
        let server = try Server()
        let bytes = (0..<600_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let asset = try await server.upload(bytes)
        let isSame = try await server.bytes(await server.respond("GET", asset)) == bytes
        #expect(isSame)
        #expect(server.bucket.requests.count == 2)
    }

    /// A client that has the file already does not need the object.
    @Test func aConditionalDownloadIsNoRequest() async throws {
        let server = try Server()
        let asset = try await server.upload([1, 2, 3])
        #expect(await server.respond("GET", asset, ["if-none-match": "\"\(asset.checksum)\""]).status == 304)
        #expect(await server.respond("GET", asset, ["range": "bytes=3-"]).status == 416)
        #expect(server.bucket.requests.isEmpty)
    }

    /// The process knows the object, and the store has lost it since.
    @Test(arguments: ["GET", "HEAD"]) func aLostObjectIsNotFound(_ method: String) async throws {
        let server = try Server()
        let asset = try await server.upload([1, 2, 3])
        #expect(await server.respond(method, asset).status == 200)
        for key in server.bucket.keys { server.bucket[key] = nil }
        for headers in [[:], ["range": "bytes=1-"]] as [[String: String]] {
            let response = await server.respond(method, asset, headers)
            #expect(response.status == 404)
            #expect(response.failure == .missingFile)
        }
        #expect(try await server.upload([1, 2, 3]) == asset)
        #expect(await server.respond(method, asset).status == 200)
    }

    /// The response has not begun: devices get a status, and retry.
    @Test func aStoreThatCannotBeReachedIsTemporary() async throws {
        let server = try Server()
        let asset = try await server.upload([1, 2, 3])
        for _ in 0..<4 { server.bucket.intercept { _ in S3Response(status: 0) } }
        #expect(await server.respond("GET", asset).status == 503)
        #expect(await server.respond("GET", asset).status == 200)
    }
}
