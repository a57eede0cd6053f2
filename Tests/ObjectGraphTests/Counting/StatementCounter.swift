// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDBSQLite

/// Counts the statements that SQLite begins, on any connection, for stores in files of one name.
enum StatementCounter {
    // Guarded by the lock. Not a Mutex: the thread sanitizer does not understand its waits.
    private nonisolated(unsafe) static var counts: [String: Int] = [:]
    private static let lock = NSLock()
    private static let mark = "tarn-counted-"

    /// A file with counted statements, from its first connection on.
    static func countedFile() throws -> URL {
        _ = registered
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("\(mark)\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder.appendingPathComponent("Counted.sqlite")
    }

    /// - Returns: The number of statements that `body` made SQLite begin on the file.
    static func count(_ file: URL, _ body: () throws -> Void) rethrows -> Int {
        let before = lock.withLock { counts[file.path] ?? 0 }
        try body()
        return lock.withLock { counts[file.path] ?? 0 } - before
    }

    /// SQLite calls this for each connection that is opened from now on.
    private static let registered: Bool = {
        let watch: @convention(c) (OpaquePointer?, UnsafeRawPointer?, UnsafeRawPointer?) -> Int32 = { connection, _, _ in
            guard StatementCounter.path(of: connection)?.contains(StatementCounter.mark) == true else { return SQLITE_OK }
            return sqlite3_trace_v2(connection, UInt32(SQLITE_TRACE_STMT), StatementCounter.note, nil)
        }
        return sqlite3_auto_extension(unsafeBitCast(watch, to: (@convention(c) () -> Void).self)) == SQLITE_OK
    }()

    private static let note:
        @convention(c) (UInt32, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?, UnsafeMutableRawPointer?) -> Int32 = {
            _, _, statement, _ in
            guard let path = StatementCounter.path(of: sqlite3_db_handle(statement.map { OpaquePointer($0) })) else { return 0 }
            StatementCounter.lock.withLock { StatementCounter.counts[path, default: 0] += 1 }
            return 0
        }

    private static func path(of connection: OpaquePointer?) -> String? {
        sqlite3_db_filename(connection, "main").map { String(cString: $0) }
    }
}
