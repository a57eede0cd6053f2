// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudService
    import CloudStorageSupport
    import CloudWire
    import Foundation
    import TemporaryPostgres
    import TestBasics
    import Testing

    @testable import CloudEngine
    @testable import CloudEnginePostgres

    /// Several hosts in one address: which one is the primary, and what happens when it hangs or ends. `.ci/ha` is the same under Patroni.
    @Suite(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil }, .timeLimit(.minutes(5)))
    struct PostgresPrimaryTests {
        private static let mia = Partition(containerIdentifier: "iCloud.org.example.notes", environment: .development, owner: "_mia")

        /// A primary, a standby, and a store that knows both.
        private struct Pair {
            let folder = TemporaryFolder()
            let first: TemporaryPostgres
            let second: TemporaryPostgres
            let database: String
            let store: PostgresServerStore

            init(use: PostgresServerStore.Use = .server) throws {
                first = try #require(try TemporaryPostgres.start(synchronous: false)?.get())
                database = try first.makeDatabase()
                second = try first.makeStandby()
                // The standby is the first host, so that libpq's own order finds the wrong one.
                store = try PostgresServerStore(
                    address: TemporaryPostgres.address(of: database, on: [second, first]), assets: folder.path, use: use, connections: 2,
                    passwordRounds: 16)
            }

            /// Makes the standby a primary. The first one goes on, as one does whose manager hangs.
            func promote() throws {
                let (source, target) = (
                    TemporaryPostgres.address(of: database, on: [first]), TemporaryPostgres.address(of: database, on: [second])
                )
                let end = try first.sql("SELECT pg_current_wal_lsn()", on: source)
                while try second.sql("SELECT pg_last_wal_replay_lsn() >= '\(end)'", on: target) != "t" {}
                try second.sql("SELECT pg_promote()", on: target)
            }

            func raise() async throws -> Int64 { try await store.write(PostgresPrimaryTests.mia) { try $0.raiseCounter(by: 1) } }

            func counter(on server: TemporaryPostgres) throws -> Int64? {
                Int64(
                    try server.sql(
                        "SELECT counter FROM partitions WHERE owner = '_mia'", on: TemporaryPostgres.address(of: database, on: [server])))
            }
        }

        @Test func thePrimaryIsFoundBehindAStandby() async throws {
            let pair = try Pair()
            let counter = try await pair.raise()
            #expect(try pair.counter(on: pair.first) == counter)
            try pair.store.close()
        }

        @Test func aPromotedHostReplacesAPrimaryThatGoesOn() async throws {
            let pair = try Pair()
            let before = try await pair.raise()
            try pair.promote()
            try await until { pair.store.primary.number != 1 }
            let after = try await pair.raise()
            #expect(after == before + 1)
            #expect(try pair.counter(on: pair.first) == before)
            #expect(try pair.counter(on: pair.second) == after)
            try pair.store.close()
        }

        /// A request that waits for the former primary continues on the new one, instead of waiting until its limit.
        @Test func aSupersededStatementRunsOnTheNewPrimary() async throws {
            let pair = try Pair()
            _ = try await pair.raise()
            let (store, first) = (pair.store, pair.first)
            async let port = store.reading { connection -> String in
                // Only the former primary waits, and its response would name its own folder.
                let row = try connection.query(
                    """
                    SELECT current_setting('unix_socket_directories'),
                        CASE WHEN left(pg_walfile_name(pg_current_wal_lsn()), 8) = '00000001' THEN pg_sleep(50)::text END
                    """
                ).rows[0]
                return row[0]
            }
            // Once it waits.
            let address = TemporaryPostgres.address(of: pair.database, on: [first])
            try await until { try first.sql("SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'PgSleep'", on: address) == "1" }
            try pair.promote()
            #expect(try await TemporaryPostgres.address(of: "", on: [pair.second]).hasSuffix(port))
            try store.close()
        }

        /// A device has seen changes of the new primary before this process knows of it.
        @Test func aTokenFromTheFutureIsReadOnTheNewPrimary() async throws {
            // A command doesn't watch the hosts.
            let maker = try Pair()
            let before = try await maker.raise()
            let commandStore = try PostgresServerStore(
                address: TemporaryPostgres.address(of: maker.database, on: [maker.second, maker.first]), assets: maker.folder.path,
                use: .command(makesTables: false), connections: 2, passwordRounds: 16)
            try maker.promote()
            try await until { maker.store.primary.number != 1 }
            let after = try await maker.raise()
            let stale = try await commandStore.read(Self.mia, .maintenance) { try $0.state().counter }
            #expect(stale == before)
            let isKnown = try await commandStore.read(Self.mia, .maintenance) { view in
                let state = try view.state()
                return try ChangeToken(subject: .database, epoch: state.epoch, number: after).isKnown(to: state, view)
            }
            #expect(isKnown)
            try commandStore.close()
            try maker.store.close()
        }

        /// A host that accepts connections and says nothing, as a stopped process does.
        @Test func aSilentHostIsPassed() throws {
            let silent = try SilentPort()
            let shared = try #require(TemporaryPostgres.shared)
            let database = try shared.makeDatabase()
            let real = try PostgresAddress(database).hosts[0].first { $0.name == "host" }?.value ?? ""
            let address = database.replacing("host=\(real)", with: "host=127.0.0.1,\(real)&port=\(silent.port),5432")
            let connection = try PostgresPrimary(address).connect()
            #expect(connection.primary?.number == 1)
            connection.close()
        }

        @Test func aDatabaseThatEndedIsBusyForClients() async throws {
            var server = try TemporaryPostgres.start(synchronous: false)?.get()
            let folder = TemporaryFolder()
            let store = try PostgresServerStore(
                address: try #require(server).makeDatabase(), assets: folder.path, connections: 2, passwordRounds: 16)
            server?.end()
            server = nil
            await #expect { _ = try await store.write(Self.mia) { try $0.raiseCounter(by: 1) } } throws: {
                ($0 as? StorageFailure)?.code == .busy
            }
            try store.close()
        }

        /// PostgreSQL reports such a commit as a success, with a warning: the standby may lack it.
        @Test func aCommitWhoseWaitForAStandbyWasCancelledIsNotAcknowledged() async throws {
            let server = try #require(try TemporaryPostgres.start(synchronous: true)?.get())
            let database = try server.makeDatabase()
            let folder = TemporaryFolder()
            let store = try PostgresServerStore(address: database, assets: folder.path, connections: 2, passwordRounds: 16)
            _ = try await store.write(Self.mia) { try $0.raiseCounter(by: 1) }
            try server.sql("ALTER SYSTEM SET synchronous_standby_names = 'absent'", on: database)
            try server.sql("SELECT pg_reload_conf()", on: database)
            let save = Task { try await store.write(Self.mia) { try $0.raiseCounter(by: 1) } }
            let cancel = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
            try await until { try server.sql(cancel, on: database) != "0" }
            await #expect(throws: StorageFailure.self) { try await save.value }
            try server.sql("ALTER SYSTEM RESET synchronous_standby_names", on: database)
            try server.sql("SELECT pg_reload_conf()", on: database)
            try store.close()
        }

        // MARK: Addresses

        private func hosts(_ address: String) throws -> [String] {
            try PostgresAddress(address).hosts.map { parameters in
                ["host", "hostaddr", "port", "dbname"].compactMap { name in parameters.first { $0.name == name }?.value }.joined(
                    separator: " ")
            }
        }

        @Test func anAddressHasParametersForEachHost() throws {
            #expect(try hosts("postgres://tarn@a:1,b:2/name") == ["a 1 name", "b 2 name"])
            #expect(try hosts("postgres://a,b:2/name") == ["a name", "b 2 name"])
            #expect(try hosts("postgres://a,b/name?port=7") == ["a 7 name", "b 7 name"])
            #expect(try hosts("postgres:///name?hostaddr=10.0.0.1,10.0.0.2") == ["10.0.0.1 name", "10.0.0.2 name"])
            #expect(try hosts("postgres:///name") == ["name"])
            #expect(try hosts("postgres://[::1]:9/name") == ["::1 9 name"])
        }

        @Test(arguments: [
            "postgres:///name?host=a,b,c&port=1,2", "postgres:///name?host=a,b&hostaddr=10.0.0.1", "postgres://mia:%zz@a/name",
        ])
        func anAddressWithoutAMeaningIsRejected(_ address: String) {
            #expect { _ = try PostgresAddress(address) } throws: { ($0 as? StorageFailure)?.what.contains("mia") == false }
        }
    }

    /// A TCP port of this machine that is listened to, and never answers.
    private final class SilentPort {
        let port: UInt16
        private let descriptor: Int32

        init() throws {
            descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = in_addr_t(0x7f00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let isListening = withUnsafeMutablePointer(to: &address) { [descriptor] pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(descriptor, $0, length) == 0 && listen(descriptor, 16) == 0 && getsockname(descriptor, $0, &length) == 0
                }
            }
            port = UInt16(bigEndian: address.sin_port)
            try #require(isListening)
        }

        deinit { close(descriptor) }
    }
#endif
