// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudEngine
    import CloudEnginePostgres
    import CloudEngineSQLite
    import CloudService
    import CloudStorageSupport
    import CloudWire
    import Foundation
    import GRDB
    import TemporaryPostgres
    import TestBasics
    import Testing

    @Suite(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil }, .timeLimit(.minutes(5)))
    struct ServerMoveTests {
        private struct Killed: Error {}

        private static let partition = Partition(
            containerIdentifier: "iCloud.org.example.notes", environment: .development, owner: "_mia")

        private static func move(
            from folder: String, to address: String, onStep: @escaping (ServerMove.Step) throws -> Void = { _ in }
        ) throws -> ServerMove.Report {
            let source = try SQLiteMoveEnd(path: folder, role: .source)
            defer { source.close() }
            let destination = try PostgresMoveEnd(address: address, shown: address, assets: folder, makesTables: true)
            defer { destination.close() }
            let move = ServerMove(from: source, to: destination, onStep: onStep)
            let report = try move.run()
            try move.removeSourceFiles()
            return report
        }

        private static func moveBack(
            from address: String, assets: String, to folder: String, onStep: @escaping (ServerMove.Step) throws -> Void = { _ in }
        ) throws -> ServerMove.Report {
            let source = try PostgresMoveEnd(address: address, shown: address, assets: assets, makesTables: false)
            defer { source.close() }
            let destination = try SQLiteMoveEnd(path: folder, role: .destination)
            defer { destination.close() }
            return try ServerMove(from: source, to: destination, onStep: onStep).run()
        }

        private static func files(_ folder: String) -> Int {
            let paths = FileManager.default.enumerator(atPath: "\(folder)/assets")?.compactMap { $0 as? String } ?? []
            return paths.count(where: { $0.split(separator: "/").count == 3 })
        }

        /// A table that a version adds fails here, until it is in both databases or has a rule.
        @Test func everyTableOfBothDatabasesIsMoved() throws {
            let tables = try MoveTables.all()
            #expect(tables.map(\.name).contains("records"))
            #expect(tables.count >= 35)
        }

        @Test(arguments: [1, 2, 3] as [UInt64])
        func aServerMovesToPostgreSQLAndBack(_ seed: UInt64) throws {
            let server = try RandomServer(seed: seed, tables: try MoveTables.all())
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            let report = try Self.move(from: server.folder.path, to: address)
            let before = try RandomServer.dump(server.folder.path)
            for table in server.tables { #expect(report.rows[table.name] ?? 0 > 0, "\(table.name)") }
            #expect(report.files == report.rows["assets"])
            #expect(Self.files(server.folder.path) == report.files, "the files have the names of the new partitions only")
            let new = TemporaryFolder()
            _ = try Self.moveBack(from: address, assets: server.folder.path, to: new.path)
            #expect(try RandomServer.dump(new.path) == before)
            #expect(try RandomServer.daysAreListed(new.path))
            #expect(try !RandomServer.tombstonesAreCounted(server.folder.path), "the source has random numbers")
            #expect(try RandomServer.tombstonesAreCounted(new.path))
            #expect(Self.files(new.path) == report.files)
            // And once more into the folder that it left.
            let second = try #require(TemporaryPostgres.shared).makeDatabase()
            _ = try Self.move(from: new.path, to: second)
            _ = try Self.moveBack(from: second, assets: new.path, to: server.folder.path)
            #expect(try RandomServer.dump(server.folder.path) == before)
        }

        /// Ends at random steps, each time with all connections, and continues, while rows change between.
        @Test(arguments: [11, 12, 13, 14] as [UInt64])
        func aMoveThatEndsAnywhereContinues(_ seed: UInt64) throws {
            let server = try RandomServer(seed: seed, tables: try MoveTables.all())
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            var random = SeededNumbers(seed: seed)
            var (kills, isStopped, isDone) = (0, false, false)
            while !isDone {
                var left = Int.random(in: 1...12, using: &random)
                do {
                    _ = try Self.move(from: server.folder.path, to: address) { step in
                        isStopped = isStopped || step == .stopped
                        if !isStopped { try server.change(3) }
                        left -= 1
                        if left == 0 { throw Killed() }
                    }
                    isDone = true
                } catch is Killed {
                    kills += 1
                }
            }
            #expect(kills >= 3)
            let before = try RandomServer.dump(server.folder.path)
            let new = TemporaryFolder()
            _ = try Self.moveBack(from: address, assets: server.folder.path, to: new.path)
            #expect(try RandomServer.dump(new.path) == before)
        }

        /// The way back, with rows of the database that change and kills as above.
        @Test(arguments: [21, 22] as [UInt64])
        func aMoveBackThatEndsAnywhereContinues(_ seed: UInt64) throws {
            let server = try RandomServer(seed: seed, tables: try MoveTables.all())
            let postgres = try #require(TemporaryPostgres.shared)
            let address = try postgres.makeDatabase()
            _ = try Self.move(from: server.folder.path, to: address)
            let changes = [
                "UPDATE records SET at = at + 1, body = body || '\\x01' WHERE deleted", "DELETE FROM answers WHERE fingerprint % 3 = 0",
                "UPDATE partitions SET counter = counter + 1", "DELETE FROM web_sessions WHERE kept",
                "UPDATE devices SET label = label || 'x'",
                "UPDATE counters SET value = value + 1", "DELETE FROM record_versions WHERE replaced % 2 = 0",
                "UPDATE records SET name = name || 'y' WHERE NOT deleted AND at % 5 = 0",
                "INSERT INTO roles (container, environment, role) VALUES ('c', 'development', 'r')",
                "UPDATE accounts SET name = name || 'z', email = NULL", "DELETE FROM share_links WHERE link % 2 = 0",
            ]
            var random = SeededNumbers(seed: seed)
            var (next, isStopped, isDone) = (0, false, false)
            while !isDone {
                var left = Int.random(in: 2...15, using: &random)
                do {
                    _ = try Self.moveBack(from: address, assets: server.folder.path, to: server.folder.path) { step in
                        isStopped = isStopped || step == .stopped
                        if !isStopped, next < changes.count {
                            try postgres.sql(changes[next], on: address)
                            next += 1
                        }
                        left -= 1
                        if left == 0 { throw Killed() }
                    }
                    isDone = true
                } catch is Killed {}
            }
            #expect(next == changes.count)
            let back = try RandomServer.dump(server.folder.path)
            #expect(try RandomServer.tombstonesAreCounted(server.folder.path))
            let second = try postgres.makeDatabase()
            _ = try Self.move(from: server.folder.path, to: second)
            for table in server.tables {
                let counts = try [address, second].map { try postgres.sql("SELECT count(*) FROM \(table.name)", on: $0) }
                #expect(counts[0] == counts[1], "\(table.name)")
            }
            #expect(try RandomServer.dump(server.folder.path) == back)
        }

        @Test func aDifferenceIsFoundAndTheSourceContinues() throws {
            let server = try RandomServer(seed: 4, tables: try MoveTables.all())
            let postgres = try #require(TemporaryPostgres.shared)
            let address = try postgres.makeDatabase()
            let failure = #expect(throws: StorageFailure.self) {
                _ = try Self.move(from: server.folder.path, to: address) { step in
                    guard step == .caughtUp else { return }
                    try postgres.sql(
                        "UPDATE devices SET label = label || '!' WHERE token_hash = (SELECT token_hash FROM devices ORDER BY 1 LIMIT 1)",
                        on: address)
                }
            }
            #expect(failure?.what.contains("devices") == true)
            let store = try SQLiteServerStore(path: server.folder.path, use: .command)
            try store.close()
        }

        @Test func aDamagedFileIsFoundAndTheSourceContinues() throws {
            let server = try RandomServer(seed: 5, tables: try MoveTables.all())
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            let assets = "\(server.folder.path)/assets"
            let name = try #require(
                FileManager.default.enumerator(atPath: assets)?.compactMap { $0 as? String }.first { $0.split(separator: "/").count == 3 })
            // Not in place: the destination has a link to the file.
            let content = try Data(contentsOf: URL(fileURLWithPath: "\(assets)/\(name)"))
            try Data(content.map { $0 ^ 1 } + [0]).write(to: URL(fileURLWithPath: "\(assets)/\(name)"), options: .atomic)
            let failure = #expect(throws: StorageFailure.self) { _ = try Self.move(from: server.folder.path, to: address) }
            #expect(failure?.code == .corrupt)
            try SQLiteServerStore(path: server.folder.path, use: .command).close()
        }

        /// A cancellation does not use the destination.
        @Test func aMoveIsCancelledUntilItsSourceStops() async throws {
            let folder = TemporaryFolder()
            let store = try SQLiteServerStore(path: folder.path, use: .server, passwordRounds: 16)
            _ = try await store.addUser(name: "mia", deviceLabel: "phone", now: 1)
            func cancel(_ address: String) throws {
                let source = try SQLiteMoveEnd(path: folder.path, role: .source)
                defer { source.close() }
                try ServerMove.cancel(source) { $0 == address }
            }
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            #expect(throws: StorageFailure.self) { try cancel(address) }
            #expect(throws: Killed.self) {
                _ = try Self.move(from: folder.path, to: address) { if $0 == .copied { throw Killed() } }
            }
            let failure = #expect(throws: StorageFailure.self) { try cancel(address + "2") }
            #expect(failure?.code == .inUse)
            try cancel(address)
            #expect(try await store.moveState() == nil)
            // A later move starts again; a move that ended is not cancelled.
            _ = try Self.move(from: folder.path, to: address)
            #expect(throws: StorageFailure.self) { try cancel(address) }
            #expect(try await store.moveState()?.phase == .away)
            try store.close()
        }

        @Test func aMovedDatabaseRejectsServersAndWritesOfEarlierOnes() async throws {
            let folder = TemporaryFolder()
            let store = try SQLiteServerStore(path: folder.path, use: .server, passwordRounds: 16)
            _ = try await store.addUser(name: "mia", deviceLabel: "phone", now: 1)
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            _ = try Self.move(from: folder.path, to: address)
            #expect(try await store.moveState()?.other == address)
            await #expect(throws: StorageFailure.moved) { _ = try await store.addUser(name: "bo", deviceLabel: "phone", now: 1) }
            await #expect(throws: StorageFailure.moved) { try await store.write(Self.partition) { _ = try $0.raiseCounter(by: 1) } }
            try store.close()
            #expect(throws: StorageFailure.moved) { _ = try SQLiteServerStore(path: folder.path, use: .server) }

            let new = try PostgresServerStore(address: address, assets: folder.path, connections: 2, passwordRounds: 16)
            _ = try await new.addUser(name: "bo", deviceLabel: "phone", now: 1)
            _ = try Self.moveBack(from: address, assets: folder.path, to: folder.path)
            await #expect(throws: StorageFailure.moved) { _ = try await new.addUser(name: "cy", deviceLabel: "phone", now: 1) }
            await #expect(throws: StorageFailure.moved) { try await new.write(Self.partition) { _ = try $0.raiseCounter(by: 1) } }
            try new.close()
            #expect(throws: StorageFailure.moved) { _ = try PostgresServerStore(address: address, assets: folder.path) }
            let last = try SQLiteServerStore(path: folder.path, use: .server, passwordRounds: 16)
            #expect(try await last.users().map(\.name) == ["bo", "mia"])
            try last.close()
        }

        @Test func aDestinationWithDataIsRejected() async throws {
            let (folder, other) = (TemporaryFolder(), TemporaryFolder())
            for path in [folder.path, other.path] {
                let store = try SQLiteServerStore(path: path, use: .server, passwordRounds: 16)
                _ = try await store.addUser(name: "mia", deviceLabel: "phone", now: 1)
                try store.close()
            }
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            _ = try Self.move(from: folder.path, to: address)
            let failure = #expect(throws: StorageFailure.self) { _ = try Self.move(from: other.path, to: address) }
            #expect(failure?.code == .nameTaken)
        }

        /// The command was killed after the switch: the destination has the only data that may be written to.
        @Test func aFullDestinationIsNotEmptiedForAnotherMove() async throws {
            let (folder, other) = (TemporaryFolder(), TemporaryFolder())
            for (path, name) in [(folder.path, "mia"), (other.path, "bo")] {
                let store = try SQLiteServerStore(path: path, use: .server, passwordRounds: 16)
                _ = try await store.addUser(name: name, deviceLabel: "phone", now: 1)
                try store.close()
            }
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            #expect(throws: Killed.self) {
                _ = try Self.move(from: folder.path, to: address) { if $0 == .stopped { throw Killed() } }
            }
            #expect(throws: StorageFailure.isArriving) { _ = try PostgresServerStore(address: address, assets: folder.path) }
            let failure = #expect(throws: StorageFailure.self) { _ = try Self.move(from: other.path, to: address) }
            #expect(failure?.code == .nameTaken)
            #expect(try Self.move(from: folder.path, to: address).wasDone)
            let store = try PostgresServerStore(address: address, assets: folder.path, connections: 2, passwordRounds: 16)
            #expect(try await store.users().map(\.name) == ["mia"])
            try store.close()
        }

        @Test func aBackupDuringAMoveIsIndependentOfIt() async throws {
            let (folder, copy) = (TemporaryFolder(), TemporaryFolder())
            let store = try SQLiteServerStore(path: folder.path, use: .server, passwordRounds: 16)
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            #expect(throws: Killed.self) {
                _ = try Self.move(from: folder.path, to: address) { if $0 == .begun { throw Killed() } }
            }
            #expect(try await store.moveState()?.phase == .capturing)
            _ = try await store.backUp(to: copy.path)
            try store.close()
            #expect(try SQLiteServerStore.moveState(path: copy.path) == nil)
            let database = try DatabaseQueue(path: "\(copy.path)/tarn.sqlite")
            #expect(
                try await database.read { try Int.fetchOne($0, sql: "SELECT count(*) FROM sqlite_schema WHERE name LIKE 'move%'") } == 0)
            try database.close()
        }

        /// Tokens and the answer to a request that was sent again are those of the source.
        @Test func tokensAndAnswersStayValid() async throws {
            let folder = TemporaryFolder()
            let partition = Self.partition
            let store = try SQLiteServerStore(path: folder.path, use: .server, passwordRounds: 16)
            try await store.write(partition) { unit in
                let number = try unit.raiseCounter(by: 3)
                try unit.save(StoredZone(key: number, name: "Garden", change: number + 2), at: 1000)
                let deleted = CloudWire.Record(recordName: "gone", recordType: "Plant", isDeleted: true)
                try unit.save([StoredRecord(record: deleted, change: number + 1)], in: number, at: 1000)
                try unit.addTombstones(1)
                try unit.remember(StoredAnswer(fingerprint: 5, body: [1, 2]), forKey: "k", at: 1000)
            }
            let code = store.sealer.code(of: [1, 2], purpose: .changeToken)
            let (identity, state) = (store.sealer.serverIdentity, try await store.read(partition) { try $0.state() })
            try store.close()
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            _ = try Self.move(from: folder.path, to: address)
            let new = try PostgresServerStore(address: address, assets: folder.path, connections: 2, passwordRounds: 16)
            #expect(new.sealer.serverIdentity == identity)
            #expect(new.sealer.isCode(code, of: [1, 2], purpose: .changeToken))
            let (moved, answer) = try await new.read(partition) { (try $0.state(), try $0.answer(toKey: "k")) }
            #expect(moved.epoch == state.epoch)
            #expect(moved.counter == state.counter)
            #expect(moved.answerBytes == state.answerBytes)
            #expect(state.tombstones == 1)
            #expect(moved.tombstones == 1)
            #expect(answer?.body == [1, 2])
            try new.close()
        }

        /// The housekeeping on PostgreSQL counts the sizes of former records a day after an upgrade. A move before that counts them, too.
        @Test func aMoveToSQLiteCountsSizesOfFormerRecords() async throws {
            let (folder, new, partition) = (TemporaryFolder(), TemporaryFolder(), Self.partition)
            let server = try #require(TemporaryPostgres.shared)
            let address = try server.makeDatabase()
            let store = try PostgresServerStore(address: address, assets: folder.path, connections: 2, passwordRounds: 16)
            let record = CloudWire.Record(recordName: "p1", recordType: "Plant", fields: ["name": Field(.string("Fern"))])
            try await store.write(partition) { unit in
                let usage = StoredBytes(records: 3)
                let number = try unit.raiseCounter(by: 2, adding: usage)
                var zone = StoredZone(key: number - 1, name: "Garden", change: number)
                zone.usage = usage
                try unit.save(zone, at: 1000)
                try unit.save([StoredRecord(record: record, change: number)], in: zone.key, at: 1000)
            }
            try store.close()
            let statements = ["UPDATE partitions SET sized = 0", "INSERT INTO meta (key, value) VALUES ('sizes.uncounted', '1')"]
            try server.sql(statements.joined(separator: "; "), on: address)
            _ = try Self.moveBack(from: address, assets: folder.path, to: new.path)
            let moved = try SQLiteServerStore(path: new.path, use: .server, passwordRounds: 16)
            let (state, zone) = try await moved.read(partition) { (try $0.state(), try $0.zone(named: "Garden")) }
            #expect(state.usage.records == Int64(RecordSize.bytes(of: record)))
            #expect(zone?.usage.records == Int64(RecordSize.bytes(of: record)))
            try moved.close()

            // Nothing is left to count, here or after a move back.
            let other = try server.makeDatabase()
            _ = try Self.move(from: new.path, to: other)
            let left = "SELECT (SELECT sum(sized) FROM partitions), (SELECT count(*) FROM meta WHERE key = 'sizes.uncounted')"
            #expect(try server.sql(left, on: other).trimmingCharacters(in: .whitespacesAndNewlines) == "1|0")
        }
    }
#endif
