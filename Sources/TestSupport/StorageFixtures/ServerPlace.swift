// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
package import CloudService
package import Foundation
package import TestBasics
package import Testing

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

    /// The storage of tests that run on any, one storage a run: that of `TARN_TEST_STORAGE`, or SQLite.
    package static let ofThisRun: ServerKind = {
        guard let name = ProcessInfo.processInfo.environment["TARN_TEST_STORAGE"] else { return .sqlite }
        guard let kind = ServerKind(rawValue: name), installed.contains(kind) else {
            preconditionFailure("TARN_TEST_STORAGE names a storage that is not installed: \(name)")
        }
        return kind
    }()

    package var testDescription: String { rawValue }
}

extension Trait where Self == ConditionTrait {
    /// For a test whose data is made by ``ServerKind/ofThisRun``, and which needs SQLite.
    package static func onSQLite(_ why: Comment) -> Self { .enabled(if: ServerKind.ofThisRun == .sqlite, why) }
}

/// Where the data of a server is, for stores and for commands.
package final class ServerPlace: Sendable {
    package let folder: TemporaryFolder
    package let kind: ServerKind
    /// Nil for SQLite.
    package let database: String?
    /// Whether the database goes with this place.
    private let ownsDatabase: Bool

    /// - Parameters:
    ///   - folder: Of the data, or of the files of assets.
    ///   - database: An existing database; nil makes one, which goes with the place.
    ///   - hasTables: Whether a new database has the tables of a server, which saves a test the time to make them.
    package init(
        _ kind: ServerKind = .ofThisRun, folder: TemporaryFolder = TemporaryFolder(), database: String? = nil, hasTables: Bool = true
    ) throws {
        self.kind = kind
        self.folder = folder
        ownsDatabase = kind != .sqlite && database == nil
        switch kind {
        case .sqlite: self.database = nil
        #if TARN_POSTGRES
            case .postgres:
                guard let server = TemporaryPostgres.shared else { throw StorageFailure(.unavailable, TemporaryPostgres.absence) }
                self.database = try database ?? server.makeDatabase(with: hasTables ? PostgresFormat.tables : [])
        #endif
        }
    }

    deinit {
        #if TARN_POSTGRES
            if ownsDatabase, let database { TemporaryPostgres.shared?.dropDatabase(database) }
        #endif
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

    /// The bytes of the database: of SQLite its files, which may have free pages, of PostgreSQL a dump of its rows.
    package func storedBytes() throws -> Data {
        #if TARN_POSTGRES
            if let database, let server = TemporaryPostgres.shared {
                let file = URL(fileURLWithPath: "\(folder.path)/\(UUID().uuidString).sql")
                defer { try? FileManager.default.removeItem(at: file) }
                try server.dump(database, to: file.path, format: "plain")
                return try Data(contentsOf: file)
            }
        #endif
        return ["tarn.sqlite", "tarn.sqlite-wal"].reduce(into: Data()) { data, name in
            data += (try? Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(name)"))) ?? Data()
        }
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
