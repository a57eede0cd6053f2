// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Foundation
import TestBasics
import Testing

@testable import TarnCommands

/// `tarn database move` without a running server.
@Suite struct MoveCommandTests {
    @Test func aMoveNeedsAFolderAndADatabase() async {
        let folder = TemporaryFolder()
        let toFolder = await CommandRun("database", "move", "--data", folder.path, "--to", "\(folder.path)/other")
        #expect(toFolder.status == 1)
        #expect(toFolder.notes.contains("name a database with --to"), "\(toFolder.notes)")
        let toDatabase = await CommandRun("database", "move", "--database", "postgres://a/b", "--to", "postgres://mia:secret@a/c")
        #expect(toDatabase.notes.contains("name one with --to"), "\(toDatabase.notes)")
        #expect(!toDatabase.notes.contains("secret"))
        let missing = await CommandRun("database", "move", "--data", folder.path, "--to", "postgres://a/b")
        #expect(missing.notes.contains("has no data of a tarn server"), "\(missing.notes)")
        #expect(!FileManager.default.fileExists(atPath: folder.path), "no folder is made")
    }
}

#if TARN_POSTGRES
    import CloudEnginePostgres
    import CloudEngineSQLite
    import CloudService
    import CloudStorageSupport
    import TemporaryPostgres

    extension MoveCommandTests {
        private struct Killed: Error {}

        private static func user(_ name: String, in folder: String) async {
            let run = await CommandRun("user", "add", name, "--data", folder)
            #expect(run.status == 0, "\(run.notes)")
        }

        @Test(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil })
        func commandsOnAMovedPlaceNameTheNextStep() async throws {
            let folder = TemporaryFolder()
            await Self.user("mia", in: folder.path)
            let database = try #require(TemporaryPostgres.shared).makeDatabase()
            let moved = await CommandRun("database", "move", "--data", folder.path, "--to", database)
            #expect(moved.status == 0, "\(moved.notes)")
            #expect(moved.output.contains("and compared each"), "\(moved.output)")
            let old = await CommandRun("user", "list", "--data", folder.path)
            #expect(old.status == 1)
            #expect(old.notes.contains("was moved to another database"), "\(old.notes)")
            let new = await CommandRun("user", "list", "--data", folder.path, "--database", database)
            #expect(new.output.contains("mia"), "\(new.notes)")
            let audit = await CommandRun("audit", "--data", folder.path, "--database", database)
            #expect(audit.output.contains("database move"))
            let again = await CommandRun("database", "move", "--data", folder.path, "--to", database, "--json")
            #expect(again.status == 0, "\(again.notes)")
            let back = await CommandRun("database", "move", "--database", database, "--data", folder.path, "--to", folder.path)
            #expect(back.status == 0, "\(back.notes)")
            let users = await CommandRun("user", "list", "--data", folder.path)
            #expect(users.output.contains("mia"), "\(users.notes)")
            let left = await CommandRun("user", "list", "--data", "\(folder.path)-assets", "--database", database)
            #expect(left.notes.contains("was moved to another database"), "\(left.notes)")
        }

        /// The server sees that its data moved before the command's last transaction, and before the command's end.
        @Test(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil })
        func aServerWaitsForACommandThatStillUsesTheDestination() async throws {
            let folder = TemporaryFolder()
            await Self.user("mia", in: folder.path)
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            #expect(await CommandRun("database", "move", "--data", folder.path, "--to", address).status == 0)
            let origin = ServerData(folder: folder.path, database: try DatabaseAddress(address))
            let source = try PostgresMoveEnd(address: address, shown: address, assets: folder.path, makesTables: false)
            let destination = try SQLiteMoveEnd(path: folder.path, role: .destination)
            let place = ServerData(folder: folder.path, database: nil)
            #expect(throws: Killed.self) {
                try ServerMove(from: source, to: destination, onStep: { if $0 == .stopped { throw Killed() } }).run()
            }
            source.close()
            var attempts = 0
            let store = try await place.opening(after: origin) { place in
                attempts += 1
                // From then on no command uses the destination, and it is not ready.
                if attempts == 2 { destination.close() }
                return try SQLiteServerStore(path: place.folder, use: .server)
            }.server
            #expect(attempts == 3)
            #expect(try await store.users().map(\.name) == ["mia"])
            try store.close()
        }

        /// The place was moved on before the server reopened, and receives other data: the server tried to finish its own move for ever.
        @Test(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil })
        func aServerDoesNotFollowItsDataToAPlaceThatAnotherMoveFills() async throws {
            let folder = TemporaryFolder()
            await Self.user("mia", in: folder.path)
            let address = try #require(TemporaryPostgres.shared).makeDatabase()
            #expect(await CommandRun("database", "move", "--data", folder.path, "--to", address).status == 0)
            let source = try PostgresMoveEnd(address: address, shown: address, assets: folder.path, makesTables: false)
            let destination = try SQLiteMoveEnd(path: folder.path, role: .destination)
            #expect(throws: Killed.self) {
                try ServerMove(from: source, to: destination, onStep: { if $0 == .stopped { throw Killed() } }).run()
            }
            try destination.transaction {
                var state = try #require(try destination.state())
                state.id = "another move"
                try destination.set(state)
            }
            source.close()
            destination.close()
            let origin = ServerData(folder: folder.path, database: try DatabaseAddress(address))
            let place = ServerData(folder: folder.path, database: nil)
            let failure = await #expect(throws: StorageFailure.self) {
                _ = try await place.opening(after: origin) { try SQLiteServerStore(path: $0.folder, use: .server) }
            }
            #expect(failure?.code == .arriving)
        }

        @Test(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil })
        func aMoveToADatabaseThatIsGoneIsCancelled() async throws {
            let folder = TemporaryFolder()
            await Self.user("mia", in: folder.path)
            let postgres = try #require(TemporaryPostgres.shared)
            let (database, other) = (try postgres.makeDatabase(), try postgres.makeDatabase())
            let source = try SQLiteMoveEnd(path: folder.path, role: .source)
            let destination = try PostgresMoveEnd(address: database, shown: database, assets: folder.path, makesTables: true)
            #expect(throws: Killed.self) { try ServerMove(from: source, to: destination, onStep: { _ in throw Killed() }).run() }
            source.close()
            destination.close()
            let name = try postgres.sql("SELECT current_database()", on: database)
            try postgres.sql("DROP DATABASE \(name)", on: other)

            let cancel = ["database", "move", "--data", folder.path, "--cancel", "--to"]
            let elsewhere = await CommandRun(cancel + [other])
            #expect(elsewhere.status == 1)
            #expect(elsewhere.notes.contains("is being moved elsewhere"), "\(elsewhere.notes)")
            let renewed = database.replacing("postgres://postgres@", with: "postgres://postgres:renewed@")
            let cancelled = await CommandRun(cancel + [renewed])
            #expect(cancelled.status == 0, "\(cancelled.notes)")
            #expect(cancelled.output.contains("was cancelled"), "\(cancelled.output)")
            #expect(!cancelled.output.contains("renewed"))
            #expect(await CommandRun("audit", "--data", folder.path).output.contains("database move cancel"))
            #expect(await CommandRun(cancel + [database]).notes.contains("no move of it was begun"))
            let moved = await CommandRun("database", "move", "--data", folder.path, "--to", other)
            #expect(moved.status == 0, "\(moved.notes)")
        }

        @Test(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil })
        func aDestinationWithDataIsNamed() async throws {
            let (folder, other) = (TemporaryFolder(), TemporaryFolder())
            await Self.user("mia", in: folder.path)
            await Self.user("bo", in: other.path)
            let database = try #require(TemporaryPostgres.shared).makeDatabase()
            #expect(await CommandRun("database", "move", "--data", folder.path, "--to", database).status == 0)
            let run = await CommandRun("database", "move", "--data", other.path, "--to", database)
            #expect(run.status == 1)
            #expect(run.notes.contains("has data of a tarn server"), "\(run.notes)")
            let users = await CommandRun("user", "list", "--data", other.path)
            #expect(users.output.contains("bo"), "the source continues")
        }
    }
#endif
