// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Synchronization
import Testing

@Suite struct AssetTests {
    private func file(_ bytes: Int, _ seed: UInt8 = 7) throws -> (url: URL, content: Data) {
        let content = Data((0..<bytes).map { UInt8(truncatingIfNeeded: $0 &* 31) ^ seed })
        let url = FileManager.default.temporaryDirectory.appendingPathComponent("asset-\(UUID().uuidString)")
        try content.write(to: url)
        return (url, content)
    }

    @Test func aFileIsRoundTrippedAndProgressIncreases() async throws {
        let (database, zoneID) = try await garden()
        let (url, content) = try file(1_000_000)
        defer { try? FileManager.default.removeItem(at: url) }
        let sage = plant("sage", in: zoneID)
        sage["photo"] = CKAsset(fileURL: url)
        let sent = Mutex<[Double]>([])
        let save = CKModifyRecordsOperation(recordsToSave: [sage])
        save.perRecordProgressBlock = { record, part in
            guard record === sage else { return }
            sent.withLock { $0.append(part) }
        }
        await finish(save, on: database)
        let up = sent.withLock { $0 }
        #expect(up.count > 10)
        #expect(up == up.sorted())
        #expect(up.first.map { $0 < 0.2 } == true)
        #expect(up.last == 1)

        let received = Mutex<[Double]>([])
        let fetched = Mutex<CKRecord?>(nil)
        let fetch = CKFetchRecordsOperation(recordIDs: [sage.recordID])
        fetch.perRecordProgressBlock = { _, part in received.withLock { $0.append(part) } }
        fetch.perRecordResultBlock = { _, result in fetched.withLock { $0 = try? result.get() } }
        await finish(fetch, on: database)
        let down = received.withLock { $0 }
        #expect(down.count > 10)
        #expect(down == down.sorted())
        #expect(down.last == 1)
        let asset = try #require(fetched.withLock { $0 }?["photo"] as? CKAsset)
        let there = try #require(asset.fileURL)
        #expect(there != url)
        #expect(try Data(contentsOf: there) == content)
        let permissions = try FileManager.default.attributesOfItem(atPath: there.path)[.posixPermissions] as? NSNumber
        #expect(permissions?.intValue == 0o600, "for this user only")
    }

    @Test func severalFilesAreOneProgress() async throws {
        let (database, zoneID) = try await garden()
        let (small, _) = try file(100_000, 1)
        let (large, _) = try file(900_000, 2)
        defer { for url in [small, large] { try? FileManager.default.removeItem(at: url) } }
        let sage = plant("sage", in: zoneID)
        sage["photos"] = [CKAsset(fileURL: small), CKAsset(fileURL: large)]
        let parts = Mutex<[Double]>([])
        let save = CKModifyRecordsOperation(recordsToSave: [sage])
        save.perRecordProgressBlock = { _, part in parts.withLock { $0.append(part) } }
        await finish(save, on: database)
        let all = parts.withLock { $0 }
        #expect(all == all.sorted())
        #expect(all.contains { $0 > 0.05 && $0 < 0.2 })
        #expect(all.last == 1)
        let repeated = try await database.record(for: sage.recordID)
        let photos = try #require(repeated["photos"] as? [CKAsset])
        #expect(try photos.compactMap(\.fileURL).map { try Data(contentsOf: $0).count } == [100_000, 900_000])
    }

    @Test func anUnrequestedFieldIsNotFetched() async throws {
        let (database, zoneID) = try await garden()
        let (url, _) = try file(1000)
        defer { try? FileManager.default.removeItem(at: url) }
        let sage = plant("sage", in: zoneID)
        sage["photo"] = CKAsset(fileURL: url)
        sage["name"] = "Sage"
        try await database.save(sage)
        let record = try #require(try await database.records(for: [sage.recordID], desiredKeys: ["name"])[sage.recordID]).get()
        #expect(record["photo"] == nil)
        #expect(record["name"] == "Sage")
    }

    @Test func aMissingFileIsItsRecordsError() async throws {
        let (database, zoneID) = try await garden()
        let (sage, mint) = (plant("sage", in: zoneID), plant("mint", in: zoneID))
        sage["photo"] = CKAsset(fileURL: URL(fileURLWithPath: "/nowhere/photo"))
        let results = try await database.modifyRecords(saving: [sage, mint], deleting: [], atomically: false).saveResults
        let error = await failure { try results[sage.recordID]?.get() }
        #expect(error?.code == .assetFileNotFound)
        #expect(try results[mint.recordID]?.get().recordID == mint.recordID)
        let together = try await database.modifyRecords(saving: [sage, mint], deleting: []).saveResults
        #expect(await failure { try together[sage.recordID]?.get() }?.code == .assetFileNotFound)
        #expect(await failure { try together[mint.recordID]?.get() }?.code == .batchRequestFailed)
    }

    @Test func anEmptyFileIsAValue() async throws {
        let (database, zoneID) = try await garden()
        let (url, _) = try file(0)
        defer { try? FileManager.default.removeItem(at: url) }
        let sage = plant("sage", in: zoneID)
        sage["photo"] = CKAsset(fileURL: url)
        let saved = try await database.save(sage)
        #expect((saved["photo"] as? CKAsset)?.fileURL != nil)
        let asset = try #require(try await database.record(for: sage.recordID)["photo"] as? CKAsset)
        #expect(try Data(contentsOf: #require(asset.fileURL)).isEmpty)
    }

    /// A record's copy, such as that of a duplicated document, has the asset that was fetched with the original.
    @Test func anAssetOfAnotherRecordIsSavedWithItsContent() async throws {
        let (database, zoneID) = try await garden()
        let (url, content) = try file(2000)
        defer { try? FileManager.default.removeItem(at: url) }
        let sage = plant("sage", in: zoneID)
        sage["photo"] = CKAsset(fileURL: url)
        try await database.save(sage)
        let original = try await database.record(for: sage.recordID)
        let duplicate = plant("duplicate", in: zoneID)
        let (fetchedPhoto, savedPhoto) = (try #require(original["photo"] as? CKAsset), try #require(sage["photo"] as? CKAsset))
        duplicate["photo"] = fetchedPhoto
        duplicate["photos"] = [savedPhoto]
        try await database.save(duplicate)
        let fetched = try await database.record(for: duplicate.recordID)
        let photo = try #require((fetched["photo"] as? CKAsset)?.fileURL)
        #expect(try Data(contentsOf: photo) == content)
        let photos = try #require(fetched["photos"] as? [CKAsset])
        #expect(try photos.compactMap(\.fileURL).map { try Data(contentsOf: $0) } == [content])
    }

    /// A conflict is resolved in favour of this device: its version of the photo is not the server's any more.
    @Test func anEarlierVersionOfAnAssetIsSavedAgain() async throws {
        let (database, zoneID) = try await garden()
        let (first, content) = try file(2000, 1)
        let (second, _) = try file(3000, 2)
        defer { for url in [first, second] { try? FileManager.default.removeItem(at: url) } }
        let sage = plant("sage", in: zoneID)
        sage["photo"] = CKAsset(fileURL: first)
        try await database.save(sage)
        let other = try await database.record(for: sage.recordID)
        other["photo"] = CKAsset(fileURL: second)
        try await database.save(other)
        let server = try await database.record(for: sage.recordID)
        let earlier = try #require(sage["photo"] as? CKAsset)
        server["photo"] = earlier
        try await database.save(server)
        let fetched = try await database.record(for: sage.recordID)
        let photo = try #require((fetched["photo"] as? CKAsset)?.fileURL)
        #expect(try Data(contentsOf: photo) == content)
    }

    /// The system has removed the temporary file, and the app fetched the record without the field.
    @Test func anAssetOfTheServerIsSavedWithoutItsFile() async throws {
        let (database, zoneID) = try await garden()
        let (url, content) = try file(2000)
        defer { try? FileManager.default.removeItem(at: url) }
        let sage = plant("sage", in: zoneID)
        sage["photo"] = CKAsset(fileURL: url)
        try await database.save(sage)
        let photo = try #require(try await database.record(for: sage.recordID)["photo"] as? CKAsset)
        try FileManager.default.removeItem(at: #require(photo.fileURL))
        let partial = try #require(try await database.records(for: [sage.recordID], desiredKeys: [])[sage.recordID]).get()
        partial["photo"] = photo
        try await database.save(partial)
        let fetched = try #require(try await database.record(for: sage.recordID)["photo"] as? CKAsset)
        #expect(try Data(contentsOf: #require(fetched.fileURL)) == content)
    }
}
