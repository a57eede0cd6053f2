// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudStorageSupport
import CloudWire
import Crypto
import Foundation
import NIOHTTP1
import ServiceFixtures
import StorageFixtures
import SystemSupport
import TestBasics
import Testing

@Suite struct ResumableUploadTests {
    private static let photo = (0..<900_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    private func address(_ server: LiveServer, token: String) async throws -> String {
        let item = AssetUploadRequest.Item(recordType: "Plant", recordName: "p1", fieldName: "photo")
        let message = AssetUploadRequest(items: [item], zoneID: LiveServer.garden)
        let response = try AssetUploadResponse(json: try await server.post(.uploadAssets, message, token: token).body)
        guard case .address(let address) = response.results.first else { throw WireError(.internalError, "no address") }
        return address.url
    }

    private func patch(
        _ server: LiveServer, _ url: String, _ bytes: some Collection<UInt8>, at offset: Int, isLast: Bool, headers: [(String, String)] = []
    ) async throws -> Answer {
        try await server.send(
            "PATCH", url, token: nil, body: Array(bytes),
            headers: [("Upload-Offset", "\(offset)"), ("Upload-Complete", isLast ? "?1" : "?0")] + headers)
    }

    private func offset(_ server: LiveServer, _ url: String) async throws -> String? {
        let answer = try await server.send("HEAD", url, token: nil)
        #expect(answer.status == 204)
        return answer.headers.first(name: "Upload-Offset")
    }

    @Test func anUploadResumesAfterARestartOfTheServer() async throws {
        let place = try ServerPlace()
        let (url, token) = try await {
            let box = Box()
            try await LiveServer.run(place: place) { server in
                let token = try await server.addUser("mia")
                try await server.makeGarden(token: token)
                let url = try await address(server, token: token)
                #expect(try await offset(server, url) == "0")
                let first = try await patch(server, url, Self.photo.prefix(300_000), at: 0, isLast: false)
                #expect(first.status == 204)
                #expect(first.headers.first(name: "Upload-Offset") == "300000")
                box.put(url, token)
            }
            return box.values
        }()
        try await LiveServer.run(place: place) { server in
            // The other server's port is gone; its addresses are not.
            let path = try #require(URL(string: url)?.path)
            try await server.removeExpired()
            #expect(try await offset(server, path) == "300000")
            let wrong = try await patch(server, path, Self.photo.suffix(10), at: 5, isLast: true)
            #expect(wrong.status == 409)
            #expect(wrong.headers.first(name: "Upload-Offset") == "300000")
            server.clock.advance(seconds: 3600)
            let last = try await patch(server, path, Self.photo.dropFirst(300_000), at: 300_000, isLast: true)
            #expect(last.status == 200)
            let asset = try AssetUploadReceipt(json: last.body).asset
            #expect(asset.size == 900_000)
            #expect(asset.fileChecksum == Hex.text(SHA256.hash(data: Self.photo)))
            // A client that lost the response receives it again.
            let again = try await patch(server, path, Self.photo.dropFirst(300_000), at: 300_000, isLast: true)
            #expect(try AssetUploadReceipt(json: again.body).asset == asset)
            #expect(try await server.send("HEAD", path, token: nil).headers.first(name: "Upload-Complete") == "?1")

            let record = Record(recordName: "p1", recordType: "Plant", fields: ["photo": Field(.asset(asset))])
            let results = try ModifyRecordsResponse(json: try await server.modify(.init(.forceUpdate, record), token: token).body).results
            guard case .asset(let stored) = results[0].record?.fields["photo"]?.value else {
                Issue.record("no asset")
                return
            }
            #expect(try await server.send("GET", try #require(stored.downloadURL), token: nil).body == Self.photo)
        }
    }

    /// The one file that arrives in parts, or the folder while it is empty.
    private func partial(_ server: LiveServer) throws -> String {
        let folder = server.folder.path + "/incoming"
        return folder + "/" + (try FileManager.default.contentsOfDirectory(atPath: folder).first ?? "")
    }

    @Test func aResumedUploadReplacesTheOneInFlight() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let url = try await address(server, token: token)
            let parts = try #require(URL(string: url)?.path.split(separator: "/"))
            let id = String(parts[parts.count - 3])
            let account = try #require(try await server.store.account(named: "mia"))
            let partition = Partition(
                containerIdentifier: LiveServer.container, environment: .development,
                owner: try await server.store.userRecordName(account: account, containerIdentifier: LiveServer.container, proposal: ""))
            let (pieces, sender) = AsyncThrowingStream<[UInt8], any Error>.makeStream()
            let (store, now) = (server.store, server.clock.now)
            sender.yield(Array(Self.photo.prefix(300_000)))
            let stuck = Task {
                try await store.receive(
                    pieces, as: UploadPart(offset: 0, isLast: true), forUpload: id, in: partition, bytesMax: .max, at: now)
            }
            // Its first piece is large enough to be written without buffering.
            try await until { try FileManager.default.attributesOfItem(atPath: partial(server))[.size] as? Int == 300_000 }
            #expect(try await store.progress(ofUpload: id, in: partition) == .partial(300_000))
            sender.yield(Array(repeating: 0, count: 300_000))
            sender.finish()
            await #expect(throws: WireError.self) { try await stuck.value }
            let rest = try await patch(server, url, Self.photo.dropFirst(300_000), at: 300_000, isLast: true)
            #expect(try AssetUploadReceipt(json: rest.body).asset.fileChecksum == Hex.text(SHA256.hash(data: Self.photo)))
        }
    }

    @Test func anUploadWithAWrongDigestIsRejected() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let url = try await address(server, token: token)
            let good = "sha-256=:\(Base64.encode(Array(SHA256.hash(data: Self.photo)))):"
            let broken = try await server.send(
                "POST", url, token: nil, body: Array(Self.photo.dropLast()) + [0], headers: [("Repr-Digest", "md5=:AAAA:, " + good)])
            #expect(broken.status == 400)
            #expect(broken.error?.code == .badRequest)
            #expect(try await server.send("POST", url, token: nil, body: [1], headers: [("Repr-Digest", "sha-256=:x:")]).status == 400)
            _ = try await patch(server, url, Self.photo.prefix(1000), at: 0, isLast: false)
            let other = try await patch(server, url, [9], at: 1000, isLast: true, headers: [("Repr-Digest", good)])
            #expect(other.status == 400)
            #expect(try await offset(server, url) == "0", "what is no good is not gone on with")
            #expect(try await patch(server, url, Self.photo, at: 0, isLast: true, headers: [("Repr-Digest", good)]).status == 200)
        }
    }

    @Test func abandonedPartialUploadsAreDeleted() async throws {
        var limits = Limits()
        limits.assetBytes = 500
        try await LiveServer.run(limits: limits) { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            func files() throws -> Int { try FileManager.default.contentsOfDirectory(atPath: server.folder.path + "/incoming").count }
            let url = try await address(server, token: token)
            _ = try await patch(server, url, Self.photo.prefix(100), at: 0, isLast: false)
            #expect(try await patch(server, url, Self.photo.prefix(401), at: 100, isLast: false).status == 413)
            #expect(try files() == 0, "what is over the limit is forgotten")
            _ = try await patch(server, url, Self.photo.prefix(100), at: 0, isLast: false)
            try await server.removeExpired(afterSeconds: 3600)
            #expect(try files() == 1)
            try await server.removeExpired(afterSeconds: 90_000)
            #expect(try files() == 0)
            for headers in [[("Upload-Offset", "x"), ("Upload-Complete", "?0")], [("Upload-Offset", "0")], [("Upload-Complete", "?1")]] {
                #expect(try await server.send("PATCH", url, token: nil, body: [1], headers: headers).status == 400)
            }
        }
    }

    @Test func aDownloadResumesOnlyIfTheFileIsUnchanged() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let receipt = try AssetUploadReceipt(
                json: try await server.send("POST", try await address(server, token: token), token: nil, body: Self.photo).body)
            let record = Record(recordName: "p1", recordType: "Plant", fields: ["photo": Field(.asset(receipt.asset))])
            let results = try ModifyRecordsResponse(json: try await server.modify(.init(.forceUpdate, record), token: token).body).results
            guard case .asset(let stored) = results[0].record?.fields["photo"]?.value, let url = stored.downloadURL else {
                Issue.record("no asset")
                return
            }
            let whole = try await server.send("GET", url, token: nil)
            let tag = try #require(whole.headers.first(name: "ETag"))
            #expect(whole.headers.first(name: "Repr-Digest") == "sha-256=:\(Base64.encode(Array(SHA256.hash(data: Self.photo)))):")
            func get(_ headers: (String, String)...) async throws -> Answer {
                try await server.send("GET", url, token: nil, headers: headers)
            }
            let rest = try await get(("Range", "bytes=899990-"), ("If-Range", tag))
            #expect(rest.status == 206)
            #expect(rest.body == Array(Self.photo.suffix(10)))
            #expect(try await get(("Range", "bytes=899990-"), ("If-Range", "\"other\"")).status == 200)
            let behind = try await get(("Range", "bytes=900000-"))
            #expect(behind.status == 416)
            #expect(behind.headers.first(name: "Content-Range") == "bytes */900000")
            #expect(try await get(("If-None-Match", tag)).status == 304)
        }
    }
}

/// Carries two texts out of a closure.
private final class Box: @unchecked Sendable {
    // Written once, before it is read.
    private(set) var values = ("", "")

    func put(_ first: String, _ second: String) { values = (first, second) }
}
