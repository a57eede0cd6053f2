// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import GRDB
import GRDBSQLite

extension SQLiteServerStore {
    /// A number that differs from the last one whenever another connection or process has committed.
    ///
    /// Source: SQLite's documentation, "PRAGMA data_version".
    package func dataVersion() throws -> Int64 {
        do {
            return try lookups.unsafeRead { try Int64.fetchOne($0, sql: "PRAGMA data_version") ?? 0 }
        } catch let error as DatabaseError {
            throw StorageFailure(error)
        }
    }

    /// Reads every page of the database and checks its structure, while a server runs.
    ///
    /// - Returns: At most 20 findings; none for a sound database.
    package func quickCheck() async throws -> [String] {
        try await reading { try String.fetchAll($0, sql: "PRAGMA quick_check(20)").filter { $0 != "ok" } }
    }

    /// Version of the SQLite library, such as `3.46.1`.
    package static var libraryVersion: String { String(cString: sqlite3_libversion()) }
}
