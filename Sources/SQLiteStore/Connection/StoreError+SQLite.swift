// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import GRDB
import GRDBSQLite

extension StoreError {
    /// Translates SQLite's result code.
    ///
    /// Source: sqlite.org, "Result and Error Codes".
    init(sqlite code: Int32, message: String) {
        // The message is the connection's, and a copy reports the other connection's failure.
        let cause = message.isEmpty || message == "not an error" ? String(cString: sqlite3_errstr(code)) : message
        let detail = "SQLite \(code): \(cause)"
        switch code & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED:
            self.init(.busy, "the store is in use by another process", detail: detail)
        case SQLITE_CONSTRAINT:
            self.init(.constraint, "a rule of the store's tables would be broken", detail: detail)
        case SQLITE_CORRUPT, SQLITE_NOTADB:
            self.init(.corrupt, "the store file is damaged or not a database", detail: detail)
        case SQLITE_INTERRUPT:
            self.init(.corrupt, "reading the store takes longer than its size explains", detail: detail)
        case SQLITE_FULL:
            self.init(.diskFull, "the disk is full", detail: detail)
        case SQLITE_CANTOPEN, SQLITE_READONLY, SQLITE_PERM, SQLITE_AUTH:
            self.init(.notPermitted, "the store file cannot be opened or written", detail: detail)
        default:
            self.init(.other, "SQLite refused", detail: detail)
        }
    }

    /// Wraps any error from below the store; a `StoreError` stays the same.
    init(_ error: any Error) {
        switch error {
        case let error as StoreError: self = error
        case let error as DatabaseError:
            self.init(sqlite: error.extendedResultCode.rawValue, message: error.message ?? "")
        default: self.init(.other, "the store failed", detail: String(describing: type(of: error)))
        }
    }

    /// The same error, with the path of its file.
    func about(_ path: String) -> StoreError {
        StoreError(
            code, summary, detail: detail.isEmpty ? path : "\(path): \(detail)", conflicts: conflicts, collisions: collisions,
            obstacles: obstacles)
    }
}
