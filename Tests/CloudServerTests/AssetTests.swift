// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import NIOHTTP1
import TestBasics
import Testing

@Suite struct AssetTests {
    private static let photo = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    private func address(_ server: LiveServer, token: String) async throws -> String {
        let item = AssetUploadRequest.Item(recordType: "Plant", recordName: "p1", fieldName: "photo")
        let message = AssetUploadRequest(items: [item], zoneID: LiveServer.garden)
        let response = try AssetUploadResponse(json: try await server.post(.uploadAssets, message, token: token).body)
        guard case .address(let address) = response.results.first else { throw WireError(.internalError, "no address") }
        return address.url
    }

    private func upload(_ server: LiveServer, token: String) async throws -> AssetValue {
        let answer = try await server.send("POST", try await address(server, token: token), token: nil, body: Self.photo)
        return try AssetUploadReceipt(json: answer.body).asset
    }

    private func save(_ asset: AssetValue, as name: String = "p1", _ server: LiveServer, token: String) async throws -> RecordResult {
        let record = Record(recordName: name, recordType: "Plant", fields: ["photo": Field(.asset(asset))])
        let answer = try await server.modify(.init(.forceUpdate, record), token: token)
        return try ModifyRecordsResponse(json: answer.body).results[0]
    }

    private func asset(in result: RecordResult) -> AssetValue? {
        guard case .record(let record) = result, case .asset(let asset) = record.fields["photo"]?.value else { return nil }
        return asset
    }

    @Test func anAssetIsUploadedAndDownloadedWholeAndByRange() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let receipt = try await upload(server, token: token)
            #expect(receipt.size == Int64(Self.photo.count))
            #expect(receipt.receipt != nil)
            let saved = try #require(asset(in: try await save(receipt, server, token: token)))
            #expect(saved.receipt == nil)
            #expect(saved.fileChecksum == receipt.fileChecksum)
            let url = try #require(saved.downloadURL)

            let whole = try await server.send("GET", url, token: nil)
            #expect(whole.status == 200)
            #expect(whole.body == Self.photo)
            let part = try await server.send("GET", url, token: nil, headers: [("Range", "bytes=699990-800000")])
            #expect(part.status == 206)
            #expect(part.body == Array(Self.photo.suffix(10)))
            #expect(part.headers.first(name: "Content-Range") == "bytes 699990-699999/700000")
            #expect(try await server.send("GET", url, token: nil, headers: [("Range", "bytes=9-2")]).status == 200)

            // The value is sent back unchanged, without a receipt, and stays.
            #expect(asset(in: try await save(saved, server, token: token))?.fileChecksum == receipt.fileChecksum)
        }
    }

    @Test func headOfAnAssetHasItsHeadersAndNoBody() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let saved = try #require(asset(in: try await save(try await upload(server, token: token), server, token: token)))
            let url = try #require(saved.downloadURL)
            let whole = try await server.send("GET", url, token: nil)
            let head = try await server.send("HEAD", url, token: nil, headers: [("Range", "bytes=0-4")])
            #expect(head.status == 200)
            #expect(head.body.isEmpty)
            for name in ["Content-Length", "Content-Type", "ETag", "Accept-Ranges", "Repr-Digest"] {
                #expect(head.headers.first(name: name) == whole.headers.first(name: name), "\(name)")
            }
            #expect(try await server.send("HEAD", url.dropLast(1) + (url.hasSuffix("0") ? "1" : "0"), token: nil).status == 403)
            #expect(try await server.send("HEAD", "\(LiveServer.database)/zones/list", token: token).status == 404)
            // As long as the file itself, and no longer.
            server.clock.advance(seconds: 3601)
            #expect(try await server.send("HEAD", url, token: nil).status == 403)
        }
    }

    @Test func anAssetURLIsValidForOneAssetUntilItExpires() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let saved = asset(in: try await save(try await upload(server, token: token), server, token: token))
            let url = try #require(saved?.downloadURL)
            let changed = url.replacing("private", with: "public")
            #expect(try await server.send("GET", changed, token: token).status == 403)
            #expect(try await server.send("GET", url.dropLast(1) + (url.hasSuffix("0") ? "1" : "0"), token: token).status == 403)
            #expect(try await server.send("POST", url, token: token, body: [1]).status == 404)
            let unused = try await address(server, token: token)
            server.clock.advance(seconds: 901)
            #expect(try await server.send("POST", unused, token: nil, body: [1]).status == 403)
            #expect(try await server.send("GET", url, token: nil).status == 200)
            server.clock.advance(seconds: 3600)
            #expect(try await server.send("GET", url, token: nil).status == 403)
        }
    }

    @Test func aChecksumWithoutAReceiptIsRejected() async throws {
        try await LiveServer.run { server in
            let (mia, bo) = (try await server.addUser("mia"), try await server.addUser("bo"))
            try await server.makeGarden(token: mia)
            try await server.makeGarden(token: bo)
            let receipt = try await upload(server, token: mia)
            _ = try await save(receipt, server, token: mia)
            let claimed = AssetValue(fileChecksum: receipt.fileChecksum, size: receipt.size)
            #expect(asset(in: try await save(claimed, server, token: bo)) == nil)
            #expect(asset(in: try await save(receipt, server, token: bo)) == nil, "a receipt is its owner's")
            #expect(asset(in: try await save(claimed, as: "p2", server, token: mia)) == nil)
        }
    }

    @Test func unreferencedAssetFilesAreDeletedAfterADay() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            func files() throws -> Int {
                let all = FileManager.default.enumerator(atPath: server.folder.path + "/assets")?.allObjects as? [String]
                return (all ?? []).count { $0.split(separator: "/").count == 3 }
            }
            let receipt = try await upload(server, token: token)
            let saved = try await save(receipt, server, token: token)
            server.clock.advance(seconds: 2 * 86_400)
            try await server.removeExpired()
            #expect(try files() == 1)
            #expect(asset(in: saved) != nil)

            _ = try await server.modify(.init(.forceDelete, Record(recordName: "p1")), token: token)
            try await server.removeExpired()
            #expect(try files() == 1, "a file stays for a day after its last reference went")
            server.clock.advance(seconds: 2 * 86_400)
            try await server.removeExpired()
            #expect(try files() == 0)
            #expect(asset(in: try await save(receipt, server, token: token)) == nil)
        }
    }

    /// A retry does not help: devices have to continue without the file.
    @Test func aMissingFileIsNotFoundUntilItIsRestored() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let saved = asset(in: try await save(try await upload(server, token: token), server, token: token))
            let url = try #require(saved?.downloadURL)
            let (folder, lost) = (server.folder.path + "/assets", server.folder.path + "/assets-lost")
            try FileManager.default.moveItem(atPath: folder, toPath: lost)
            // The files of another user are there.
            try FileManager.default.createDirectory(atPath: folder + "/1000", withIntermediateDirectories: true)
            let missing = try await server.send("GET", url, token: nil)
            #expect(missing.status == 404)
            #expect(try WireError(json: missing.body).code == .notFound)
            try FileManager.default.removeItem(atPath: folder)
            try FileManager.default.moveItem(atPath: lost, toPath: folder)
            #expect(try await server.send("GET", url, token: nil).body == Self.photo)
        }
    }

    /// A volume that is not mounted is not a lost file: devices must not continue without the values.
    @Test func aMissingFolderOfAssetsIsTemporary() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let saved = asset(in: try await save(try await upload(server, token: token), server, token: token))
            let url = try #require(saved?.downloadURL)
            let (folder, lost) = (server.folder.path + "/assets", server.folder.path + "/assets-lost")
            try FileManager.default.moveItem(atPath: folder, toPath: lost)
            for isMountPoint in [false, true] {
                if isMountPoint { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
                let missing = try await server.send("GET", url, token: nil)
                #expect(missing.status == 503)
                #expect(try WireError(json: missing.body).code == .tryAgainLater)
            }
            try FileManager.default.removeItem(atPath: folder)
            try FileManager.default.moveItem(atPath: lost, toPath: folder)
            #expect(try await server.send("GET", url, token: nil).body == Self.photo)
        }
    }

    /// Some clients send a file as browsers send forms.
    @Test func anAssetIsUploadedAsAMultipartForm() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let content = Array("\r\n--not the end\r\n--x".utf8) + Self.photo
            func send(_ form: [UInt8], type: String = "multipart/form-data; boundary=x-1") async throws -> Answer {
                try await server.send(
                    "POST", try await address(server, token: token), token: nil, body: form, headers: [("Content-Type", type)])
            }
            let form = Array(
                "preamble\r\n--x-1\r\nContent-Disposition: form-data; name=\"note\"\r\n\r\nno file\r\n--x-1\r\nContent-Disposition: form-data; name=\"f\"; filename=\"a.jpg\"\r\nContent-Type: image/jpeg\r\n\r\n"
                    .utf8)
            let receipt = try AssetUploadReceipt(json: try await send(form + content + Array("\r\n--x-1--\r\n".utf8)).body).asset
            #expect(receipt.size == Int64(content.count))
            let saved = try #require(asset(in: try await save(receipt, server, token: token)))
            #expect(try await server.send("GET", try #require(saved.downloadURL), token: nil).body == content)
            let empty = Array("--x-1\r\nContent-Disposition: form-data; filename=\"a\"\r\n\r\n\r\n--x-1--".utf8)
            #expect(try AssetUploadReceipt(json: try await send(empty, type: "Multipart/Form-Data; boundary=\"x-1\"").body).asset.size == 0)
            // A form that breaks off, has no file, or no boundary.
            #expect(try await send(form + content).status == 400)
            #expect(try await send(Array("--x-1\r\nContent-Disposition: form-data; name=\"n\"\r\n\r\n1\r\n--x-1--".utf8)).status == 400)
            #expect(try await send(form, type: "multipart/form-data").status == 400)
            #expect(try await send(Array("--x-1\r\nX: ".utf8) + Array(repeating: 65, count: 20_000)).status == 400)
        }
    }

    /// Programs for the live service return the contents of a receipt unread.
    @Test func anUploadReceiptHasTheKeysThatClientsReturn() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let receipt = try await upload(server, token: token)
            #expect(receipt.wrappingKey?.isEmpty == false)
            #expect(receipt.referenceChecksum?.isEmpty == false)
            let saved = try #require(asset(in: try await save(receipt, server, token: token)))
            #expect(saved.wrappingKey == nil)
            #expect(saved.receipt == nil)
        }
    }

    @Test func unreferencedUploadsCountTowardsTheQuota() async throws {
        var limits = Limits()
        limits.userBytes = 1_500_000
        try await LiveServer.run(limits: limits) { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let (second, third) = (try await address(server, token: token), try await address(server, token: token))
            let fourth = try await address(server, token: token)
            let receipt = try await upload(server, token: token)
            // The same file again takes no more room.
            #expect(try await server.send("POST", second, token: nil, body: Self.photo).status == 200)
            let other = Self.photo.reversed() as [UInt8]
            #expect(try await server.send("POST", second, token: nil, body: other).status == 409, "an address is good for one file")
            #expect(try await server.send("POST", fourth, token: nil, body: other).status == 200)
            #expect(try await server.send("POST", third, token: nil, body: Array(other.dropLast())).status == 413)
            // Parts count as far as they came, and are not counted twice when they go on.
            let part = try await address(server, token: token)
            let first = [("Upload-Offset", "0"), ("Upload-Complete", "?0")]
            #expect(
                try await server.send("PATCH", part, token: nil, body: Array(repeating: 1, count: 60_000), headers: first).status == 204)
            #expect(try await server.send("POST", third, token: nil, body: Array(repeating: 2, count: 60_000)).status == 413)
            let rest = [("Upload-Offset", "60000"), ("Upload-Complete", "?1")]
            #expect(try await server.send("PATCH", part, token: nil, body: Array(repeating: 1, count: 30_000), headers: rest).status == 200)
            // The bytes of referenced assets count with the record.
            #expect(asset(in: try await save(receipt, server, token: token)) != nil)
            server.clock.advance(seconds: 2 * 86_400)
            try await server.removeExpired()
            #expect(try await server.send("POST", try await address(server, token: token), token: nil, body: other).status == 200)
        }
    }

    /// A client that receives "too long" does not send the file again once there is room.
    @Test func aResumableUploadOverTheQuotaReportsTheQuota() async throws {
        var limits = Limits()
        limits.userBytes = 100_000
        try await LiveServer.run(limits: limits) { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let whole = [("Upload-Offset", "0"), ("Upload-Complete", "?1")]
            let refused = try await server.send(
                "PATCH", try await address(server, token: token), token: nil, body: Array(repeating: 1, count: 200_000), headers: whole)
            #expect(refused.status == 413)
            #expect(refused.error?.code == .quotaExceeded)
            #expect(refused.error?.nativeCode != .limitExceeded)
        }
    }

    @Test func anUploadOverTheLimitIsRejectedAndLeavesNoFile() async throws {
        var limits = Limits()
        limits.assetBytes = 1000
        try await LiveServer.run(limits: limits) { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let url = try await address(server, token: token)
            let over = try await server.send("POST", url, token: nil, body: Array(repeating: 1, count: 1001))
            #expect(over.status == 413)
            #expect(over.error?.nativeCode == .limitExceeded)
            #expect(try FileManager.default.contentsOfDirectory(atPath: server.folder.path + "/incoming").isEmpty)
            #expect(try await server.send("POST", url, token: nil, body: Array(repeating: 1, count: 1000)).status == 200)
            let empty = try await server.send("POST", try await address(server, token: token), token: nil)
            #expect(try AssetUploadReceipt(json: empty.body).asset.size == 0)
        }
    }
}
