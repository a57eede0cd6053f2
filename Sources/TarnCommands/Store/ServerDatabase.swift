// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Recognizes a server's database, passed by mistake to commands for an app's store.
enum ServerDatabase {
    /// SQLite writes the statements of a schema to the first pages of a file.
    private static let schemaBytes = 1 << 18

    static func isOne(_ path: String) -> Bool {
        guard let file = FileHandle(forReadingAtPath: path) else { return false }
        defer { try? file.close() }
        guard let start = try? file.read(upToCount: schemaBytes), start.starts(with: Data("SQLite format 3".utf8)) else { return false }
        return ["CREATE TABLE partitions", "CREATE TABLE accounts"].allSatisfy { start.range(of: Data($0.utf8)) != nil }
    }
}
