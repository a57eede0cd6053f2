// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudEngine
    import CloudService
    import CloudStorageSupport
    import CloudWire
    import Foundation
    import SystemSupport
    import TemporaryPostgres
    import TestBasics
    import Testing

    @testable import CloudEnginePostgres

    /// Files of assets in a folder that several processes of one database use.
    @Suite(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil }) struct PostgresFileTests {
        private static let mia = Partition(containerIdentifier: "app", environment: .development, owner: "_mia")

        private static func store(_ folder: TemporaryFolder) throws -> PostgresServerStore {
            try PostgresServerStore(
                address: try #require(TemporaryPostgres.shared).makeDatabase(), assets: folder.path, connections: 2, passwordRounds: 16)
        }

        private static func upload(_ store: PostgresServerStore) async throws -> StoredAsset {
            try await store.write(mia) { try $0.save([StoredUpload(id: "u", recordName: "a", fieldName: "f", created: 1)]) }
            let stored = try await store.receive(
                Pieces(pieces: [[1, 2, 3]]), forUpload: "u", in: mia, bytesMax: 10, bytesExpected: 3, digest: nil, at: 5)
            return try #require(stored)
        }

        /// Another process stored the file again after its row was deleted, and before it was removed.
        @Test func aFileThatHasARowAgainStays() async throws {
            let folder = TemporaryFolder()
            let store = try Self.store(folder)
            let asset = try await Self.upload(store)
            try await store.removeFiles([asset.checksum], in: Self.mia)
            #expect(try await store.open(checksum: asset.checksum, in: Self.mia) != nil)

            try await store.write(Self.mia) { writer in
                let unit = try #require(writer as? PostgresUnit)
                try unit.run("DELETE FROM assets WHERE part = $1", [unit.part], changing: .assets)
            }
            try await store.removeFiles([asset.checksum], in: Self.mia)
            let part = PartitionKey(Self.mia).part
            #expect(!FileManager.default.fileExists(atPath: store.assetFolder.file(part: part, checksum: asset.checksum)))
            try store.close()
        }

        @Test func aFolderThatOthersMayReadIsClosed() throws {
            let folder = TemporaryFolder()
            for name in ["", "/assets", "/incoming"] {
                try FileManager.default.createDirectory(
                    atPath: folder.path + name, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
            }
            try Self.store(folder).close()
            for name in ["", "/assets", "/incoming"] {
                #expect(try #require(FileStamp(path: folder.path + name)).permissions == 0o700, "\(name)")
            }
        }

        /// The part of an upload that is in no row: of another process with a folder of its own, or of a file that was arriving whole.
        @Test func filesThatStoppedArrivingAreRemovedAfterTwoDays() async throws {
            let folder = TemporaryFolder()
            let store = try Self.store(folder)
            let path = store.assetFolder.partial(upload: "u")
            try Data([1]).write(to: URL(fileURLWithPath: path))
            let written = try #require(FileStamp(path: path)).seconds
            func age(_ seconds: Int) throws {
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: Double(written - seconds))], ofItemAtPath: path)
            }
            // The server's clock may jump: it is that of the file system which counts.
            try await store.removeExpired(now: 4_000_000_000_000)
            #expect(FileManager.default.fileExists(atPath: path))
            try age(2 * 86_400 - 600)
            try await store.removeExpired(now: 0)
            #expect(FileManager.default.fileExists(atPath: path))
            try age(2 * 86_400 + 600)
            try await store.removeExpired(now: 0)
            #expect(!FileManager.default.fileExists(atPath: path))
            try store.close()
        }
    }
#endif
