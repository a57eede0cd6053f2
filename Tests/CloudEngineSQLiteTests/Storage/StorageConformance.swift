// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import TestBasics
import Testing

#if TARN_POSTGRES
    import CloudEnginePostgres
    import TemporaryPostgres
#endif

/// A storage that the conformance suite runs against. A new engine adds a case, and makes an empty storage and the same
/// storage again after its process ended.
enum StorageKind: String, CaseIterable, CustomTestStringConvertible {
    case sqlite
    #if TARN_POSTGRES
        case postgres
    #endif

    /// The storages that can be started here.
    static var installed: [StorageKind] {
        #if TARN_POSTGRES
            if TemporaryPostgres.shared != nil { return [.sqlite, .postgres] }
            print(TemporaryPostgres.absence)
        #endif
        return [.sqlite]
    }

    var testDescription: String { rawValue }

    func make() throws -> any StorageUnderTest {
        switch self {
        case .sqlite: try SQLiteUnderTest()
        #if TARN_POSTGRES
            case .postgres: try PostgresUnderTest()
        #endif
        }
    }
}

protocol StorageUnderTest: Sendable {
    var storage: any EngineStorage & AccountStorage & AssetStorage & AdministrationStorage { get throws }
    /// Closes the storage and opens it again on the same data.
    func restart() throws
    func end() throws
}

/// The embedded engine.
private final class SQLiteUnderTest: StorageUnderTest, @unchecked Sendable {
    private let folder = TemporaryFolder()
    // Tests call one after the other.
    private var store: SQLiteServerStore?

    init() throws {
        store = try SQLiteServerStore(path: folder.path, use: .server, passwordRounds: 16)
    }

    var storage: any EngineStorage & AccountStorage & AssetStorage & AdministrationStorage {
        get throws {
            guard let store else { throw StorageFailure(.unavailable, "the storage is closed") }
            return store
        }
    }

    func restart() throws {
        try end()
        store = try SQLiteServerStore(path: folder.path, use: .server, passwordRounds: 16)
    }

    /// The folder is free once the store is released.
    func end() throws {
        try store?.close()
        store = nil
    }
}

#if TARN_POSTGRES
    /// The engine on PostgreSQL, with a database of its own.
    private final class PostgresUnderTest: StorageUnderTest, @unchecked Sendable {
        private let folder = TemporaryFolder()
        private let address: String
        // Tests call one after the other.
        private var store: PostgresServerStore?

        init() throws {
            guard let server = TemporaryPostgres.shared else { throw StorageFailure(.unavailable, TemporaryPostgres.absence) }
            address = try server.makeDatabase()
            try restart()
        }

        var storage: any EngineStorage & AccountStorage & AssetStorage & AdministrationStorage {
            get throws {
                guard let store else { throw StorageFailure(.unavailable, "the storage is closed") }
                return store
            }
        }

        func restart() throws {
            try end()
            store = try PostgresServerStore(address: address, assets: folder.path, connections: 6, passwordRounds: 16)
        }

        func end() throws {
            try store?.close()
            store = nil
        }
    }
#endif
