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
    case sqliteWithObjects
    #if TARN_POSTGRES
        case postgresWithObjects
    #endif

    /// The storages that can be started here, with the files of assets in a folder.
    static var installed: [StorageKind] {
        #if TARN_POSTGRES
            if TemporaryPostgres.shared != nil { return [.sqlite, .postgres] }
            print(TemporaryPostgres.absence)
        #endif
        return [.sqlite]
    }

    /// The same, and those with the files of assets in a bucket.
    static var installedWithObjects: [StorageKind] {
        installed.flatMap { kind -> [StorageKind] in
            switch kind {
            case .sqlite: [.sqlite, .sqliteWithObjects]
            #if TARN_POSTGRES
                case .postgres: [.postgres, .postgresWithObjects]
            #endif
            default: [kind]
            }
        }
    }

    var testDescription: String { rawValue }

    func make() throws -> any StorageUnderTest {
        switch self {
        case .sqlite: try SQLiteUnderTest()
        case .sqliteWithObjects: try SQLiteUnderTest(bucket: MemoryBucket())
        #if TARN_POSTGRES
            case .postgres: try PostgresUnderTest()
            case .postgresWithObjects: try PostgresUnderTest(bucket: MemoryBucket())
        #endif
        }
    }
}

protocol StorageUnderTest: Sendable {
    var storage: any ServerStorage { get throws }
    /// Closes the storage and opens it again on the same data.
    func restart() throws
    func end() throws
}

/// The embedded engine.
private final class SQLiteUnderTest: StorageUnderTest, @unchecked Sendable {
    private let folder = TemporaryFolder()
    // Tests call one after the other.
    private var store: SQLiteServerStore?
    private let bucket: MemoryBucket?

    init(bucket: MemoryBucket? = nil) throws {
        self.bucket = bucket
        try restart()
    }

    var storage: any ServerStorage {
        get throws {
            guard let store else { throw StorageFailure(.unavailable, "the storage is closed") }
            return store
        }
    }

    func restart() throws {
        try end()
        store = try SQLiteServerStore(path: folder.path, use: .server, objects: try bucket?.assets(partBytes: 100_000), passwordRounds: 16)
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
        private let bucket: MemoryBucket?

        init(bucket: MemoryBucket? = nil) throws {
            self.bucket = bucket
            guard let server = TemporaryPostgres.shared else { throw StorageFailure(.unavailable, TemporaryPostgres.absence) }
            address = try server.makeDatabase(with: PostgresFormat.tables)
            try restart()
        }

        var storage: any ServerStorage {
            get throws {
                guard let store else { throw StorageFailure(.unavailable, "the storage is closed") }
                return store
            }
        }

        func restart() throws {
            try end()
            store = try PostgresServerStore(
                address: address, assets: folder.path, objects: try bucket?.assets(partBytes: 100_000), connections: 6, passwordRounds: 16)
        }

        func end() throws {
            try store?.close()
            store = nil
        }
    }
#endif
