// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudEngine
    import CloudEnginePostgres
    import CloudEngineSQLite
    import CloudService
    import CloudStorageSupport
    import CloudWire
    import Dispatch
    import Foundation
    import Synchronization
    import TemporaryPostgres
    import TestBasics
    import Testing

    /// `ServerMove` of a server with assets in a bucket: no object is copied or renamed.
    @Suite(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil }, .timeLimit(.minutes(5)))
    struct MovedObjectTests {
        private static let day: Int64 = 86_400

        private let bucket = MemoryBucket()
        private let home = TemporaryFolder()
        private let folder = TemporaryFolder()

        private static func partition(_ owner: String) -> Partition {
            Partition(containerIdentifier: "app", environment: .development, owner: owner)
        }

        private func sqlite(_ folder: TemporaryFolder) throws -> SQLiteServerStore {
            try SQLiteServerStore(path: folder.path, use: .server, objects: try bucket.assets(), passwordRounds: 16)
        }

        private func postgres(_ address: String) throws -> PostgresServerStore {
            try PostgresServerStore(
                address: address, assets: folder.path, objects: try bucket.assets(), connections: 2, passwordRounds: 16)
        }

        /// Stores a file to which a record refers.
        @discardableResult
        private func add(_ bytes: [UInt8], of owner: String, to store: some FileUploads) async throws -> StoredAsset {
            bucket.clock.advance(seconds: 1)
            let (now, id, partition) = (bucket.clock.now, "upload-\(bucket.clock.now)", Self.partition(owner))
            try await store.write(partition) { try $0.save([StoredUpload(id: id, recordName: "a", fieldName: "f", created: now)]) }
            let stored = try await store.receive(
                Pieces(pieces: [bytes]), forUpload: id, in: partition, bytesMax: 1000, bytesExpected: nil, digest: nil, at: now,
                isOverQuota: { _ in false })
            let asset = try #require(stored)
            try await store.write(partition) { _ = try $0.addLinks([asset.checksum: 1], in: 1, at: now) }
            return asset
        }

        private func read(_ asset: StoredAsset, of owner: String, from store: some AssetStorage) async throws -> [UInt8]? {
            guard let reader = try await store.open(checksum: asset.checksum, in: Self.partition(owner)) else { return nil }
            return try await reader.read(at: 0, count: 1000)
        }

        private func move(to address: String, onStep: @escaping (ServerMove.Step) throws -> Void = { _ in }) throws {
            let source = try SQLiteMoveEnd(path: home.path, role: .source)
            defer { source.close() }
            let destination = try PostgresMoveEnd(address: address, shown: address, assets: folder.path, makesTables: true)
            defer { destination.close() }
            _ = try ServerMove(from: source, to: destination, onStep: onStep).run()
        }

        private func moveBack(from address: String, to folder: TemporaryFolder) throws {
            let source = try PostgresMoveEnd(address: address, shown: address, assets: self.folder.path, makesTables: false)
            defer { source.close() }
            let destination = try SQLiteMoveEnd(path: folder.path, role: .destination)
            defer { destination.close() }
            _ = try ServerMove(from: source, to: destination).run()
        }

        /// The numbers in the names of objects.
        private var numbers: Set<String> { Set(bucket.keys.map { String($0.split(separator: "/")[1]) }) }

        @Test func filesAreReadAfterAMoveAndBack() async throws {
            let first = try sqlite(home)
            let (rose, fern) = (try await add([1, 2], of: "_mia", to: first), try await add([1, 2, 3, 4, 5], of: "_bo", to: first))
            try await add([9], of: "_bo", to: first)
            try first.close()
            let before = bucket.keys
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            try move(to: address)
            #expect(bucket.keys == before)

            let second = try postgres(address)
            #expect(try await read(rose, of: "_mia", from: second) == [1, 2])
            #expect(try await read(fern, of: "_bo", from: second) == [1, 2, 3, 4, 5])
            // Equal bytes have one object, also if they were stored before the move.
            try await add([1, 2], of: "_mia", to: second)
            #expect(bucket.keys == before)
            let moss = try await add([3], of: "_mia", to: second)
            #expect(numbers == ["1", "2"])
            let ivy = try await add([4], of: "_cy", to: second)
            #expect(numbers.count == 3)
            try await sweep(second)
            #expect(bucket.keys.count == before.count + 2)
            try second.close()

            let new = TemporaryFolder()
            try moveBack(from: address, to: new)
            let third = try sqlite(new)
            for (asset, owner, bytes) in [
                (rose, "_mia", [1, 2]), (fern, "_bo", [1, 2, 3, 4, 5]), (moss, "_mia", [3]), (ivy, "_cy", [4]),
            ] as [(StoredAsset, String, [UInt8])] {
                #expect(try await read(asset, of: owner, from: third) == bytes)
            }
            // The number of a new partition is in no name yet.
            try await add([5], of: "_dee", to: third)
            #expect(numbers.count == 4)
            try await sweep(third)
            #expect(bucket.keys.count == before.count + 3)
            try third.close()
        }

        /// The housekeeping of a process that starts after some days.
        private func sweep(_ store: some AssetStorage & OperatedStorage) async throws {
            bucket.clock.advance(seconds: 3 * Self.day)
            try await store.removeExpired(now: bucket.clock.now)
        }

        @Test func objectsOfAMovedPartitionAreRemovedWithIt() async throws {
            let first = try sqlite(home)
            let fern = try await add([1], of: "_mia", to: first)
            try await add([2], of: "_bo", to: first)
            try first.close()
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            try move(to: address)
            let second = try postgres(address)
            // Nothing refers to it any more.
            let now = bucket.clock.now
            try await second.write(Self.partition("_mia")) { _ = try $0.addLinks([fern.checksum: -1], in: 1, at: now) }
            try await sweep(second)
            #expect(numbers == ["2"])
            let part = try #require(try await second.part(of: Self.partition("_bo")))
            try await second.removeObjects(part: part)
            #expect(bucket.keys.isEmpty)
            try second.close()
        }

        @Test func removingAPersonRemovesObjectsUnderTheFormerNumber() async throws {
            let first = try sqlite(home)
            _ = try await first.addUser(name: "mia", deviceLabel: "phone", now: 1)
            let account = try #require(try await first.account(named: "mia"))
            let owner = try await first.userRecordName(account: account, containerIdentifier: "app", proposal: "_mia")
            try await add([1], of: owner, to: first)
            try await add([2], of: "_bo", to: first)
            try first.close()
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            try move(to: address)
            let second = try postgres(address)
            let removal = try await second.beginRemoval(ofUser: "mia", publicRecords: .remove)
            try await second.removeRows(of: removal) {}
            try await second.endRemoval(removal)
            #expect(numbers == ["2"])
            let rows = try #require(TemporaryPostgres.shared).sql("SELECT number FROM object_parts", on: address)
            #expect(rows == "2")
            try second.close()
        }

        /// A server writes while the move runs.
        @Test func partitionsThatAreMadeDuringAMoveAreRead() async throws {
            let store = try sqlite(home)
            try await add([1], of: "_mia", to: store)
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            struct Killed: Error {}
            #expect(throws: Killed.self) { try move(to: address) { if $0 == .verified { throw Killed() } } }
            let ivy = try await add([7, 8], of: "_dee", to: store)
            try store.close()
            try move(to: address)
            let second = try postgres(address)
            #expect(try await read(ivy, of: "_dee", from: second) == [7, 8])
            try second.close()
        }

        /// The server was started without the store when the move began, and again with it before the move ended.
        @Test func aServerThatBeginsToUseAStoreIsMovedByTheNextRun() async throws {
            let plain = try SQLiteServerStore(path: home.path, use: .server, passwordRounds: 16)
            let old = try await add([1], of: "_mia", to: plain)
            try plain.close()
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            let (path, objects) = (home.path, try bucket.assets())
            let failure = #expect(throws: StorageFailure.self) {
                try move(to: address) { step in
                    guard step == .verified else { return }
                    // As the server does, in its process.
                    let server = try SQLiteServerStore(path: path, use: .command, objects: objects, passwordRounds: 16)
                    try Self.waiting { _ = try await server.claimObjects(makesOwner: true) }
                    try server.close()
                }
            }
            #expect(failure?.code == .busy)
            let store = try sqlite(home)
            let new = try await add([2, 3], of: "_mia", to: store)
            try store.close()
            try move(to: address)
            let second = try postgres(address)
            #expect(try await read(old, of: "_mia", from: second) == [1])
            #expect(try await read(new, of: "_mia", from: second) == [2, 3])
            try second.close()
        }

        private final class QueueExecutor: TaskExecutor {
            private let queue = DispatchQueue(label: "server in a step of a move")

            func enqueue(_ job: consuming ExecutorJob) {
                let job = UnownedJob(job)
                queue.async { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
            }
        }

        /// Waits for asynchronous work in a step of a move, which blocks a thread that tasks of all tests share. The work needs none of these
        /// threads: there are as many as processors, and all may be blocked.
        private static func waiting(_ body: @escaping @Sendable () async throws -> Void) throws {
            let done = DispatchSemaphore(value: 0)
            let result = Mutex<Result<Void, any Error>>(.success(()))
            Task(executorPreference: QueueExecutor()) {
                do { try await body() } catch { result.withLock { $0 = .failure(error) } }
                done.signal()
            }
            done.wait()
            try result.withLock { try $0.get() }
        }
    }
#endif
