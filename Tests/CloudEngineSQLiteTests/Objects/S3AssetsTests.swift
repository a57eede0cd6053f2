// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import TestBasics
import Testing

@testable import CloudStorageSupport

#if TARN_POSTGRES
    import CloudEnginePostgres
    import TemporaryPostgres
#endif

/// Assets in a bucket: the order of objects and rows, removal, integrity checks.
@Suite struct S3AssetsTests {
    private static let mia = Partition(containerIdentifier: "app", environment: .development, owner: "_mia")
    private static let day: Int64 = 86_400

    /// A server's store with a bucket.
    private struct Shop {
        let folder = TemporaryFolder()
        let bucket: MemoryBucket
        let store: SQLiteServerStore

        init(bucket: MemoryBucket = MemoryBucket()) throws {
            self.bucket = bucket
            store = try SQLiteServerStore(path: folder.path, use: .server, objects: try bucket.assets(), passwordRounds: 16)
        }

        func upload(
            _ id: String, _ bytes: [UInt8], isOverQuota: @escaping @Sendable (any PartitionReader) throws -> Bool = { _ in false }
        ) async throws -> StoredAsset {
            let now = bucket.clock.now
            try await store.write(mia) { try $0.save([StoredUpload(id: id, recordName: "a", fieldName: "f", created: now)]) }
            let stored = try await store.receive(
                Pieces(pieces: [bytes]), forUpload: id, in: mia, bytesMax: 1000, bytesExpected: nil, digest: nil, at: now,
                isOverQuota: isOverQuota)
            return try #require(stored)
        }

        /// A record refers to the asset.
        func link(_ asset: StoredAsset, count: Int = 1) async throws {
            let now = bucket.clock.now
            try await store.write(mia) { _ = try $0.addLinks([asset.checksum: count], in: 1, at: now) }
        }

        func read(_ asset: StoredAsset) async throws -> [UInt8]? {
            guard let reader = try await store.open(checksum: asset.checksum, in: mia) else { return nil }
            return try await reader.read(at: 0, count: 1000)
        }

        /// The housekeeping of a process that starts after some days.
        func sweep(afterDays days: Int64) async throws {
            bucket.clock.advance(seconds: days * day)
            try await store.removeExpired(now: bucket.clock.now)
        }

        func object(of asset: StoredAsset, ageSeconds: Int64) -> String {
            let time = bucket.clock.now - ageSeconds * 1000
            return ObjectName(part: 1, checksum: asset.checksum, milliseconds: time, random: "00000000000000ff").key
        }
    }

    // MARK: Uploads

    @Test func aLargeFileIsSentInPartsAndReadBack() async throws {
        let shop = try Shop()
        let bytes = (0..<10).map { UInt8($0) }
        let asset = try await shop.upload("u", bytes)
        #expect(shop.bucket.requests.filter { $0.hasPrefix("PUT assets") && $0.hasSuffix("partNumber") }.count == 3)
        #expect(shop.bucket.openUploadCount == 0)
        #expect(try await shop.read(asset) == bytes)
        let local = shop.store.assetFolder.file(part: 1, checksum: asset.checksum)
        #expect(!FileManager.default.fileExists(atPath: local))
        #expect(try FileManager.default.contentsOfDirectory(atPath: shop.store.assetFolder.incoming).isEmpty)
    }

    @Test func repeatedUploadsOfOneFileHaveOneObject() async throws {
        let shop = try Shop()
        let first = try await shop.upload("u", [1, 2])
        #expect(try await shop.upload("v", [1, 2]) == first)
        #expect(shop.bucket.keys.count == 1)
    }

    @Test func anUploadThatExceedsTheQuotaLeavesNoObject() async throws {
        let shop = try Shop()
        await #expect(throws: WireError.self) { try await shop.upload("u", [1, 2], isOverQuota: { _ in true }) }
        #expect(shop.bucket.requests.contains { $0.hasPrefix("PUT assets") })
        #expect(shop.bucket.keys.isEmpty)
    }

    @Test func aFileThatChangedOnTheDiskIsNotStored() async throws {
        let bucket = MemoryBucket()
        let assets = try bucket.assets()
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let path = "\(folder.path)/file"
        try Data([1, 2, 3, 4, 5, 6]).write(to: URL(fileURLWithPath: path))
        let asset = StoredAsset(checksum: String(repeating: "ab", count: 32), size: 6)
        let failure = await #expect(throws: StorageFailure.self) { try await assets.add(asset, at: path, part: 1) }
        #expect(failure?.code == .corrupt)
        #expect(bucket.keys.isEmpty)
        #expect(bucket.openUploadCount == 0)
    }

    @Test func aStoreThatCannotBeReachedIsTemporaryAndLeavesThePartsOfTheUpload() async throws {
        let shop = try Shop()
        let now = shop.bucket.clock.now
        try await shop.store.write(Self.mia) { try $0.save([StoredUpload(id: "u", recordName: "a", fieldName: "f", created: now)]) }
        func send(_ bytes: [UInt8], at offset: Int64) async throws -> UploadProgress? {
            try await shop.store.receive(
                Pieces(pieces: [bytes]), as: UploadPart(offset: offset, isLast: true), forUpload: "u", in: Self.mia, bytesMax: 10, at: now)
        }
        try await shop.store.claimObjects(makesOwner: true)
        for _ in 0..<4 { shop.bucket.intercept { _ in S3Response(status: 0) } }
        let failure = await #expect(throws: StorageFailure.self) { try await send([1, 2], at: 0) }
        #expect(failure?.code == .objectStore)
        #expect(try await shop.store.progress(ofUpload: "u", in: Self.mia) == .partial(2))
        guard case .complete(let asset)? = try await send([], at: 2) else {
            Issue.record("the upload is not complete")
            return
        }
        #expect(try await shop.read(asset) == [1, 2])
    }

    // MARK: Reading

    @Test func windowsGrowWhileReadsAreInSequence() async throws {
        let shop = try Shop()
        let bytes = (0..<100).map { UInt8($0) }
        let asset = try await shop.upload("u", bytes)
        let reader = try #require(try await shop.store.open(checksum: asset.checksum, in: Self.mia))
        shop.bucket.forgetRequests()
        var read: [UInt8] = []
        while read.count < 100 { read += try await reader.read(at: Int64(read.count), count: 10) }
        #expect(read == bytes)
        // Windows of 10, 20, 40 and the 30 that are left.
        #expect(shop.bucket.requests.count == 4)
        #expect(try await reader.read(at: 97, count: 10) == [97, 98, 99])
        #expect(try await reader.read(at: 5, count: 2) == [5, 6])
        #expect(try await reader.read(at: 100, count: 10).isEmpty)
    }

    /// A read that begins in a window is not cut short at its end.
    @Test func aReadAcrossWindowsIsComplete() async throws {
        let shop = try Shop()
        let asset = try await shop.upload("u", [0, 1, 2, 3, 4, 5, 6])
        let reader = try #require(try await shop.store.open(checksum: asset.checksum, in: Self.mia))
        #expect(try await reader.read(at: 0, count: 3) == [0, 1, 2])
        #expect(try await reader.read(at: 1, count: 5) == [1, 2, 3, 4, 5])
        #expect(try await reader.read(at: 4, count: 9) == [4, 5, 6])
    }

    @Test func anObjectThatChangedIsNotReadToItsEnd() async throws {
        let shop = try Shop()
        let asset = try await shop.upload("u", [1, 2, 3])
        let key = try #require(shop.bucket.keys.first)
        shop.bucket[key] = [1, 2, 4]
        let reader = try #require(try await shop.store.open(checksum: asset.checksum, in: Self.mia))
        #expect(try await reader.read(at: 0, count: 2) == [1, 2])
        let failure = await #expect(throws: StorageFailure.self) { try await reader.read(at: 2, count: 1) }
        #expect(failure?.code == .corrupt)
    }

    /// Another process removed the object that this one knows, in favour of a newer one.
    @Test func aReaderGoesOnWithANewerObject() async throws {
        let shop = try Shop()
        let asset = try await shop.upload("u", [1, 2, 3])
        let reader = try #require(try await shop.store.open(checksum: asset.checksum, in: Self.mia))
        let key = try #require(shop.bucket.keys.first)
        shop.bucket[key] = nil
        shop.bucket[shop.object(of: asset, ageSeconds: -1)] = [1, 2, 3]
        #expect(try await reader.read(at: 0, count: 3) == [1, 2, 3])
    }

    /// The server answers as for a missing file of its folder, whether the process knows the lost object or not.
    @Test func aLostObjectIsAMissingFile() async throws {
        let shop = try Shop()
        let asset = try await shop.upload("u", [1, 2, 3])
        #expect(try await shop.read(asset) == [1, 2, 3])
        let started = try shop.bucket.assets()
        for key in shop.bucket.keys { shop.bucket[key] = nil }
        let known = await #expect(throws: StorageFailure.self) { _ = try await shop.read(asset) }
        #expect(known == .missingFile)
        let unknown = await #expect(throws: StorageFailure.self) { try await started.open(asset, part: 1) }
        #expect(unknown == .missingFile)
    }

    /// An upload of the same file restores the lost object, in the process that has its name in memory, too.
    @Test(arguments: [true, false]) func anUploadReplacesALostObject(_ isKnown: Bool) async throws {
        let shop = try Shop()
        let asset = try await shop.upload("u", [1, 2, 3])
        for key in shop.bucket.keys { shop.bucket[key] = nil }
        if !isKnown { await #expect(throws: StorageFailure.self) { _ = try await shop.read(asset) } }
        #expect(try await shop.upload("v", [1, 2, 3]) == asset)
        #expect(shop.bucket.keys.count == 1)
        #expect(try await shop.read(asset) == [1, 2, 3])
    }

    /// A reader that found the object, and a store that has lost it since.
    @Test func anObjectThatIsLostDuringARead() async throws {
        let shop = try Shop()
        let asset = try await shop.upload("u", [1, 2, 3])
        let reader = try #require(try await shop.store.open(checksum: asset.checksum, in: Self.mia))
        for key in shop.bucket.keys { shop.bucket[key] = nil }
        let failure = await #expect(throws: StorageFailure.self) { try await reader.read(at: 0, count: 3) }
        #expect(failure == .missingFile)
    }

    @Test func filesFromBeforeStayInTheFolder() async throws {
        let folder = TemporaryFolder()
        let bucket = MemoryBucket()
        let before = try SQLiteServerStore(path: folder.path, use: .server, passwordRounds: 16)
        try await before.write(Self.mia) { try $0.save([StoredUpload(id: "u", recordName: "a", fieldName: "f", created: 1)]) }
        let stored = try await before.receive(
            Pieces(pieces: [[1, 2]]), forUpload: "u", in: Self.mia, bytesMax: 10, bytesExpected: nil, digest: nil, at: 1)
        let asset = try #require(stored)
        try before.close()
        let after = try SQLiteServerStore(path: folder.path, use: .command, objects: try bucket.assets(), passwordRounds: 16)
        let reader = try #require(try await after.open(checksum: asset.checksum, in: Self.mia))
        #expect(try await reader.read(at: 0, count: 10) == [1, 2])
        #expect(bucket.requests.isEmpty)
        try after.close()
    }

    // MARK: Removal

    @Test func objectsWithoutARowAreRemovedAfterADay() async throws {
        let shop = try Shop()
        let linked = try await shop.upload("u", [1, 2])
        try await shop.link(linked)
        let unused = try await shop.upload("v", [3])
        let orphan = StoredAsset(checksum: String(repeating: "cd", count: 32), size: 1)
        shop.bucket[shop.object(of: orphan, ageSeconds: 0)] = [9]
        shop.bucket["assets/notes.txt"] = [7]
        try await shop.sweep(afterDays: 0)
        #expect(shop.bucket.keys.count == 4)
        // Those of the second day are young at its end.
        shop.bucket.clock.advance(seconds: Self.day + 1)
        let young = shop.object(of: orphan, ageSeconds: 0).replacing("/1/", with: "/2/")
        shop.bucket[young] = [9]
        try await shop.sweep(afterDays: 0)
        let names = shop.bucket.keys.compactMap { ObjectName(key: $0)?.checksum }
        #expect(Set(names) == [linked.checksum, orphan.checksum])
        #expect(names.count == 2)
        #expect(shop.bucket[young] == [9])
        #expect(shop.bucket["assets/notes.txt"] == [7], "an object of another program stays")
        #expect(try await shop.read(linked) == [1, 2])
        #expect(try await shop.read(unused) == nil)
    }

    @Test func theNewestObjectOfARowStays() async throws {
        let shop = try Shop()
        let asset = try await shop.upload("u", [1, 2])
        try await shop.link(asset)
        let newer = shop.object(of: asset, ageSeconds: -60)
        shop.bucket[newer] = [1, 2]
        // The newer one might be discarded yet, so none is removed.
        try await shop.sweep(afterDays: 1)
        #expect(shop.bucket.keys.count == 2)
        try await shop.sweep(afterDays: 1)
        #expect(shop.bucket.keys == [newer])
        #expect(try await shop.read(asset) == [1, 2])
    }

    @Test func abandonedUploadsInPartsAreAborted() async throws {
        let shop = try Shop()
        let client = try shop.bucket.client()
        _ = try await client.beginParts(shop.object(of: StoredAsset(checksum: String(repeating: "ab", count: 32), size: 9), ageSeconds: 0))
        _ = try await client.beginParts("other")
        _ = try await shop.upload("u", [1])
        try await shop.sweep(afterDays: 0)
        #expect(shop.bucket.openUploadCount == 2)
        try await shop.sweep(afterDays: 1)
        #expect(shop.bucket.openUploadCount == 1)
    }

    /// The housekeeping deletes the row, and a concurrent upload of the same file stores it again, with a new object.
    @Test func aFileIsUploadedAgainWhileItsObjectIsRemoved() async throws {
        let shop = try Shop()
        let asset = try await shop.upload("u", [1, 2])
        let old = try #require(shop.bucket.keys.first)
        shop.bucket.clock.advance(seconds: 2 * Self.day)
        // The housekeeping found the row deleted; the upload completes before the object is deleted.
        let removing = try shop.bucket.assets()
        try await removing.claim(try #require(try await shop.store.assetOwner(makesOne: false)), makesOwner: false)
        try await shop.store.removeExpired(now: shop.bucket.clock.now)
        shop.bucket[old] = [1, 2]
        try await removing.removeUnreferenced(now: shop.bucket.clock.now) { _, _ in
            _ = try await shop.upload("v", [1, 2])
            return false
        }
        #expect(shop.bucket[old] == nil)
        #expect(shop.bucket.keys.count == 1)
        #expect(try await shop.read(asset) == [1, 2])
    }

    @Test func objectsOfARemovedPartitionAreRemoved() async throws {
        let shop = try Shop()
        _ = try await shop.upload("u", [1, 2])
        shop.bucket["assets/12/\(String(repeating: "ab", count: 32))/0000000000000001-00000000000000ff"] = [1]
        try await shop.store.removeObjects(part: 1)
        #expect(shop.bucket.keys.map { $0.prefix(10) } == ["assets/12/"])
    }

    // MARK: Owners and commands

    @Test func aPrefixHasOneDatabase() async throws {
        let bucket = MemoryBucket()
        let first = try Shop(bucket: bucket)
        try await first.store.claimObjects(makesOwner: true)
        let second = try Shop(bucket: bucket)
        await #expect(throws: S3Failure.foreignOwner) { try await second.store.claimObjects(makesOwner: true) }
        let failure = await #expect(throws: StorageFailure.self) { try await second.upload("u", [1]) }
        #expect(failure?.code == .objectStore)
        #expect(bucket.keys.isEmpty)
        #expect(try await second.store.assetOwner(makesOne: false) == nil, "it still starts without a store")
    }

    @Test func aStoreThatRefusesLeavesTheDatabaseWithoutObjects() async throws {
        let shop = try Shop()
        shop.bucket.intercept { _ in MemoryBucket.error(403, "AccessDenied") }
        await #expect(throws: S3Failure.rejected(status: 403, code: "AccessDenied")) { try await shop.store.claimObjects(makesOwner: true) }
        #expect(try await shop.store.assetOwner(makesOne: false) == nil)
    }

    @Test func processesThatStartConcurrentlyShareAnOwner() async throws {
        let shop = try Shop()
        let other = try SQLiteServerStore(
            path: shop.folder.path, use: .command, objects: try shop.bucket.assets(), passwordRounds: 16)
        let store = shop.store
        async let first = store.claimObjects(makesOwner: true)
        async let second = other.claimObjects(makesOwner: true)
        #expect(try await first)
        #expect(try await second)
        try other.close()
    }

    @Test func aCommandMakesNoOwner() async throws {
        let shop = try Shop()
        #expect(try await shop.store.claimObjects(makesOwner: false) == false)
        #expect(shop.bucket.requests.isEmpty)
        let owner = try #require(try await shop.store.assetOwner(makesOne: true))
        await #expect(throws: S3Failure.foreignOwner) { try await MemoryBucket().assets().claim(owner, makesOwner: false) }
    }

    @Test func aCommandWithoutTheStoreRefuses() async throws {
        let shop = try Shop()
        let asset = try await shop.upload("u", [1, 2])
        try await shop.link(asset)
        let command = try SQLiteServerStore(path: shop.folder.path, use: .command, passwordRounds: 16)
        for body: @Sendable () async throws -> Void in [
            { _ = try await command.open(checksum: asset.checksum, in: Self.mia) },
            { _ = try await command.backUp(to: TemporaryFolder().path) },
            { _ = try await command.beginRemoval(ofUser: "mia", publicRecords: .keep) },
        ] {
            let failure = await #expect(throws: StorageFailure.self) { try await body() }
            #expect(failure?.code == .objectStore)
        }
        try command.close()
    }

    @Test func aBackupHasTheFilesAndOwnsNoObjects() async throws {
        let shop = try Shop()
        let asset = try await shop.upload("u", [1, 2, 3, 4, 5])
        try await shop.link(asset)
        let copy = TemporaryFolder()
        #expect(try await shop.store.backUp(to: copy.path) == 1)
        let restored = try SQLiteServerStore(path: copy.path, use: .server, passwordRounds: 16)
        #expect(try await restored.assetOwner(makesOne: false) == nil)
        #expect(try await shop.store.place(ofAsset: asset.checksum, part: 1) == .store)
        #expect(try await restored.place(ofAsset: asset.checksum, part: 1) == .folder)
        let reader = try #require(try await restored.open(checksum: asset.checksum, in: Self.mia))
        #expect(try await reader.read(at: 0, count: 9) == [1, 2, 3, 4, 5])
        try restored.close()
    }

    /// An object that no record has may be removed while the backup is made.
    @Test func aBackupNeedsTheObjectsOfRecordsOnly() async throws {
        let shop = try Shop()
        let asset = try await shop.upload("u", [1, 2, 3])
        for key in shop.bucket.keys { shop.bucket[key] = nil }
        let copy = TemporaryFolder()
        #expect(try await shop.store.backUp(to: copy.path) == 0)
        try await shop.link(asset)
        let failure = await #expect(throws: StorageFailure.self) { _ = try await shop.store.backUp(to: TemporaryFolder().path) }
        #expect(failure?.code == .corrupt)
    }

    #if TARN_POSTGRES
        /// Two processes without a shared folder.
        @Test(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil })
        func processesWithFoldersOfTheirOwnServeEachOthersFiles() async throws {
            let bucket = MemoryBucket()
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            let folders = [TemporaryFolder(), TemporaryFolder()]
            let stores = try folders.map {
                try PostgresServerStore(
                    address: address, assets: $0.path, objects: try bucket.assets(), connections: 2, passwordRounds: 16)
            }
            let now = bucket.clock.now
            try await stores[0].write(Self.mia) { try $0.save([StoredUpload(id: "u", recordName: "a", fieldName: "f", created: now)]) }
            func send(_ bytes: [UInt8], at offset: Int64, isLast: Bool, to store: PostgresServerStore) async throws -> UploadProgress? {
                try await store.receive(
                    Pieces(pieces: [bytes]), as: UploadPart(offset: offset, isLast: isLast), forUpload: "u", in: Self.mia, bytesMax: 10,
                    at: now)
            }
            // A device that continues at another process restarts.
            #expect(try await send([1, 2, 3], at: 0, isLast: false, to: stores[0]) == .partial(3))
            #expect(try await stores[1].progress(ofUpload: "u", in: Self.mia) == .partial(0))
            #expect(try await send([4], at: 3, isLast: true, to: stores[1]) == .misplaced(0))
            guard case .complete(let asset)? = try await send([1, 2, 3, 4, 5], at: 0, isLast: true, to: stores[1]) else {
                Issue.record("the upload is not complete")
                return
            }
            #expect(try await send([], at: 3, isLast: true, to: stores[0]) == .complete(asset))
            let part = try #require(try await stores[0].part(of: Self.mia))
            #expect(try await stores[0].place(ofAsset: asset.checksum, part: part) == .store)
            let reader = try #require(try await stores[0].open(checksum: asset.checksum, in: Self.mia))
            #expect(try await reader.read(at: 0, count: 9) == [1, 2, 3, 4, 5])
            #expect(bucket.keys.count == 1)
            bucket.clock.advance(seconds: 2 * Self.day)
            try await stores[0].removeExpired(now: bucket.clock.now)
            #expect(bucket.keys.isEmpty)
            for store in stores { try store.close() }
        }

        @Test(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil })
        func removingAnAccountOnPostgreSQLRemovesItsObjects() async throws {
            let bucket = MemoryBucket()
            let now = bucket.clock.now
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            let folder = TemporaryFolder()
            let store = try PostgresServerStore(
                address: address, assets: folder.path, objects: try bucket.assets(), connections: 2, passwordRounds: 16)
            _ = try await store.addUser(name: "mia", deviceLabel: "phone", now: now)
            let account = try #require(try await store.account(named: "mia"))
            #expect(try await store.userRecordName(account: account, containerIdentifier: "app", proposal: "_mia") == "_mia")
            for owner in ["_mia", "_bo"] {
                let partition = Partition(containerIdentifier: "app", environment: .development, owner: owner)
                try await store.write(partition) { try $0.save([StoredUpload(id: owner, recordName: "a", fieldName: "f", created: now)]) }
                let asset = try await store.receive(
                    Pieces(pieces: [[1, 2]]), forUpload: owner, in: partition, bytesMax: 10, bytesExpected: nil, digest: nil, at: now,
                    isOverQuota: { _ in false })
                #expect(asset != nil)
            }
            #expect(bucket.keys.count == 2)
            let withoutStore = try PostgresServerStore(
                address: address, assets: folder.path, use: .command(makesTables: false), connections: 1, passwordRounds: 16)
            let failure = await #expect(throws: StorageFailure.self) {
                _ = try await withoutStore.beginRemoval(ofUser: "mia", publicRecords: .keep)
            }
            #expect(failure?.code == .objectStore)
            let removal = try await store.beginRemoval(ofUser: "mia", publicRecords: .keep)
            try await store.removeRows(of: removal) {}
            try await store.endRemoval(removal)
            #expect(bucket.keys.count == 1, "bo's object")
            for store in [store, withoutStore] { try store.close() }
        }
    #endif
}
