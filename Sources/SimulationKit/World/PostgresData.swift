// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

#if TARN_POSTGRES
    import CloudEngine
    import CloudEnginePostgres
    import CloudInProcess
    import Foundation
    import Synchronization
    import TemporaryPostgres

    /// A PostgreSQL database of a simulated server, backed up as operators do it: by `pg_dump`, and a copy of the files.
    final class PostgresData: InProcessData {
        private let server: TemporaryPostgres
        private let folder = ScratchFolder("tarn-cloud")
        /// Each restore makes another database.
        private let address: Mutex<String>

        private let executor: SimulationExecutor

        /// - Parameter executor: Waits for the database: events would overtake notifications otherwise.
        init(_ executor: SimulationExecutor) throws {
            self.executor = executor
            guard let server = TemporaryPostgres.shared else { throw StorageFailure(.unavailable, TemporaryPostgres.absence) }
            self.server = server
            address = Mutex(try server.makeDatabase(with: PostgresFormat.tables))
        }

        var path: String { folder.path }

        /// Accounts have random numbers, so a reproducible key would make no names and tokens reproducible.
        func open(firstKey _: [UInt8]?) throws -> OpenInProcessData {
            let address = address.withLock(\.self)
            let waits = WaitObserver(began: { [executor] in executor.begin() }, ended: { [executor] in executor.end() })
            // A seed has few requests in flight, and hashes no real passwords.
            let store = try PostgresServerStore(address: address, assets: path, connections: 4, passwordRounds: 16, waits: waits)
            return OpenInProcessData(storage: store) { [server, path] backup in
                try FileManager.default.createDirectory(atPath: backup, withIntermediateDirectories: true)
                try server.dump(address, to: Self.dump(in: backup))
                try FileManager.default.copyItem(atPath: path, toPath: Self.files(in: backup))
            }
        }

        func restore(from backup: String, at restoreTime: Int64?) async throws {
            let restored = try server.restore(Self.dump(in: backup))
            server.dropDatabase(
                address.withLock { address in
                    defer { address = restored }
                    return address
                })
            try FileManager.default.removeItem(atPath: path)
            try FileManager.default.copyItem(atPath: Self.files(in: backup), toPath: path)
            guard let restoreTime else { return }
            let store = try PostgresServerStore(address: restored, assets: path, use: .command(makesTables: false), connections: 1)
            // After an error, the store ends its connections when it is released.
            _ = try await store.endRestore(now: restoreTime)
            try store.close()
        }

        func remove() {
            server.dropDatabase(address.withLock(\.self))
            folder.remove()
        }

        private static func dump(in backup: String) -> String { "\(backup)/tarn.dump" }

        private static func files(in backup: String) -> String { "\(backup)/assets" }
    }
#endif
