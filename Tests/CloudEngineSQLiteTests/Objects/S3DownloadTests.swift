// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
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

        let folder: TemporaryFolder
        let bucket: MemoryBucket
        let store: SQLiteServerStore
        private let service: CloudService

        /// - Parameter hasStore: `false` for a server that stores all files in its folder.
        init(folder: TemporaryFolder = TemporaryFolder(), bucket: MemoryBucket = MemoryBucket(), hasStore: Bool = true) throws {
            (self.folder, self.bucket) = (folder, bucket)
            let objects = hasStore ? try bucket.assets(partBytes: 1 << 20) : nil
            let store = try SQLiteServerStore(path: folder.path, use: .server, objects: objects, passwordRounds: 16)
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

    /// A file from before the server had the store is in the folder, of which the volume is not mounted.
    @Test(arguments: [false, true]) func aMissingFolderOfFormerFilesIsTemporary(_ isMountPoint: Bool) async throws {
        let files = FileManager.default
        let former = try Server(hasStore: false)
        let old = try await former.upload([1, 2])
        try former.store.close()
        let server = try Server(folder: former.folder, bucket: former.bucket)
        let new = try await server.upload([3, 4])
        let (folder, unmounted) = ("\(former.folder.path)/assets", "\(former.folder.path)/unmounted")
        try files.moveItem(atPath: folder, toPath: unmounted)
        if isMountPoint { try files.createDirectory(atPath: folder, withIntermediateDirectories: true) }
        let missing = await server.respond("GET", old)
        #expect(missing.status == 503)
        #expect(missing.failure == .missingFolder)
        #expect(try await server.bytes(await server.respond("GET", new)) == [3, 4])
        // A lost object was never in the folder, whether the process knows its name or not.
        for key in server.bucket.keys { server.bucket[key] = nil }
        #expect(await server.respond("GET", new).status == 404)
        #expect(await server.respond("GET", new).status == 404)

        if isMountPoint { try files.removeItem(atPath: folder) }
        try files.moveItem(atPath: unmounted, toPath: folder)
        #expect(try await server.bytes(await server.respond("GET", old)) == [1, 2])
        try files.removeItem(atPath: server.store.assetFolder.file(part: 1, checksum: old.checksum))
        #expect(await server.respond("GET", old).status == 404, "the folder has others")
    }

    /// A row from before format 26 does not say that its file is in the store. The clean-up has seen the object, and the store loses it then.
    @Test func aLostObjectOfAnEarlierFormatIsNotFound() async throws {
        let former = try Server(hasStore: false)
        let old = try await former.upload([1, 2])
        let unseen = try await former.upload([5, 6])
        try former.store.close()
        let server = try Server(folder: former.folder, bucket: former.bucket)
        // The store is this database's from now on.
        _ = try await server.upload([3, 4])
        try FileManager.default.removeItem(atPath: "\(former.folder.path)/assets")
        let name = ObjectName(part: 1, checksum: old.checksum, milliseconds: server.bucket.clock.now, random: "0123456789abcdef")
        server.bucket[name.key] = [1, 2]
        #expect(try await server.store.place(ofAsset: old.checksum, part: 1) == .folder)
        server.bucket.clock.advance(seconds: 2 * 86_400)
        try await server.store.removeUnreferencedObjects(now: server.bucket.clock.now)
        #expect(try await server.store.place(ofAsset: old.checksum, part: 1) == .store)
        #expect(try await server.bytes(await server.respond("GET", old)) == [1, 2])
        for key in server.bucket.keys { server.bucket[key] = nil }
        #expect(await server.respond("GET", old).status == 404)
        #expect(await server.respond("GET", unseen).status == 503, "it may be in the folder")
    }

    /// The upload of a file whose volume is not mounted makes an object, and the folder is not needed any more.
    @Test func anUploadReplacesAFileOfAMissingFolder() async throws {
        let former = try Server(hasStore: false)
        let asset = try await former.upload([1, 2])
        try former.store.close()
        let server = try Server(folder: former.folder, bucket: former.bucket)
        #expect(try await server.store.place(ofAsset: asset.checksum, part: 1) == .folder)
        try FileManager.default.removeItem(atPath: "\(former.folder.path)/assets")
        #expect(try await server.upload([1, 2]) == asset)
        #expect(try await server.store.place(ofAsset: asset.checksum, part: 1) == .store)
        #expect(try await server.bytes(await server.respond("GET", asset)) == [1, 2])
    }
}
