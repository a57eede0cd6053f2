// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngineSQLite
import EngineFixtures

extension Bench {
    /// The store with what only SQLite has. A test in this target makes no other.
    var sqliteStore: SQLiteServerStore {
        guard let store = store as? SQLiteServerStore else { preconditionFailure("a test of SQLite runs on SQLite") }
        return store
    }
}
