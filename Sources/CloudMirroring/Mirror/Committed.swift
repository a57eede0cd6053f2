// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ObjectGraph
import SQLiteStore

/// A result of a transaction, with a commit of rows that it wrote in addition to its result. Contexts merge the commit.
struct Committed<Value> {
    var value: Value
    /// nil without such rows.
    var commit: StoreCommit?
}

extension Committed: Sendable where Value: Sendable {}
