// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import SQLiteStore

extension StoreSync {
    /// Converts errors of the store's file to the errors that apps catch.
    func translated<T>(_ body: () throws -> T) throws -> T {
        do { return try body() } catch let error as StoreError { throw CocoaError(error) }
    }

    /// The same, for transactions that may relate rows. Contexts merge them later.
    func translated<T>(_ body: () throws -> Committed<T>) throws -> T {
        let committed: Committed<T>
        do { committed = try body() } catch let error as StoreError { throw CocoaError(error) }
        if let commit = committed.commit { later { self.merge(commit) } }
        return committed.value
    }
}
