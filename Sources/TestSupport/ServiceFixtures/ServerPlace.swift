// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
package import CloudService
package import TestBasics
import Testing

#if TARN_POSTGRES
    import CloudEnginePostgres
    import TemporaryPostgres
#endif

/// A storage that a test of the service or of a command runs on.
package enum ServerKind: String, CaseIterable, CustomTestStringConvertible, Sendable {
    case sqlite
    #if TARN_POSTGRES
        case postgres
    #endif

    /// The storages that can be started here.
    package static var installed: [ServerKind] {
        #if TARN_POSTGRES
            if TemporaryPostgres.shared != nil { return [.sqlite, .postgres] }
            print(TemporaryPostgres.absence)
        #endif
        return [.sqlite]
    }

    package var testDescription: String { rawValue }
}

/// Where the data of a server is, for stores and for commands.
package final class ServerPlace: Sendable {
    package let folder = TemporaryFolder()
    package let kind: ServerKind
    /// Nil for SQLite.
    package let database: String?

    /// - Parameter database: An existing database; nil makes an empty one.
    package init(_ kind: ServerKind, database: String? = nil) throws {
        self.kind = kind
        switch kind {
        case .sqlite: self.database = nil
        #if TARN_POSTGRES
            case .postgres:
                guard let server = TemporaryPostgres.shared else { throw StorageFailure(.unavailable, TemporaryPostgres.absence) }
                self.database = try database ?? server.makeDatabase()
        #endif
        }
    }

    /// The options of commands.
    package var arguments: [String] { ["--data", folder.path] + (database.map { ["--database", $0] } ?? []) }

    package func open(isServer: Bool = true) throws -> any OperatedStorage {
        #if TARN_POSTGRES
            if let database {
                return try PostgresServerStore(
                    address: database, assets: folder.path, use: isServer ? .server : .command(makesTables: true), connections: 6,
                    passwordRounds: 16)
            }
        #endif
        return try SQLiteServerStore(path: folder.path, use: isServer ? .server : .command, passwordRounds: 16)
    }

    /// Runs SQL on a PostgreSQL database.
    ///
    /// - Returns: Rows without headings, columns with `|` between them.
    package func sql(_ statement: String) throws -> String {
        #if TARN_POSTGRES
            if let database, let server = TemporaryPostgres.shared { return try server.sql(statement, on: database) }
        #endif
        throw StorageFailure(.unavailable, "the place has no PostgreSQL database")
    }
}
