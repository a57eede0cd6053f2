// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

extension SQLiteStore {
    /// Drops columns and tables that a deferred migration left in the file.
    ///
    /// - Parameter limit: The largest number of drops; nil for all.
    /// - Returns: Whether all drops are done.
    package func finishDeferredMigration(limit: Int?) throws -> Bool {
        try write { writer in
            let connection = writer.connection
            let data = try connection.first("SELECT Z_PLIST FROM Z_METADATA LIMIT 1") { $0.blob(0) }
            guard let data else { throw StoreError(.corrupt, "the store has lost its metadata") }
            var metadata = try StoreMetadata(decoding: data)
            let work = metadata.deferred
            let now = work.prefix(limit ?? work.count)
            for drop in now { try drop.run(connection) }
            metadata.deferred = Array(work.dropFirst(now.count))
            try connection.execute("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(try metadata.encoded())])
            return metadata.deferred.isEmpty
        }
    }
}
