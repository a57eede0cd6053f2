// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import TestBasics
import Testing

/// A storage that the conformance suite runs against. A new engine adds a case, and makes an empty storage and the same
/// storage again after its process ended.
enum StorageKind: String, CaseIterable, CustomTestStringConvertible {
    case sqlite

    var testDescription: String { rawValue }

    func make() throws -> any StorageUnderTest {
        switch self {
        case .sqlite: try SQLiteUnderTest()
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
