// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import Foundation

/// A digest of rows in any order: the sum of their SHA-256, and their number. Rows in other orders, such as those of two databases, have
/// the same.
package struct RowDigest: Hashable, Sendable {
    package private(set) var count = 0
    private var sum: [UInt64] = [0, 0, 0, 0]

    package init() {}

    /// Adds a row, without the columns that only one database has.
    package mutating func add(_ row: [MovedValue], of table: MovedTable) {
        var hash = SHA256()
        for (column, value) in zip(table.columns, row) where column.isInSQLite { Self.add(value, to: &hash) }
        count += 1
        hash.finalize().withUnsafeBytes { bytes in
            for (index, word) in bytes.bindMemory(to: UInt64.self).enumerated() { sum[index] &+= word }
        }
    }

    /// Each value with its kind and its length, so that no two rows have the same bytes.
    private static func add(_ value: MovedValue, to hash: inout SHA256) {
        switch value {
        case .null: hash.update(data: [0 as UInt8])
        case .integer(let number):
            hash.update(data: [1 as UInt8])
            withUnsafeBytes(of: number.bigEndian) { hash.update(bufferPointer: $0) }
        case .text(let text): add(2, Array(text.utf8), to: &hash)
        case .bytes(let bytes): add(3, bytes, to: &hash)
        }
    }

    private static func add(_ kind: UInt8, _ bytes: [UInt8], to hash: inout SHA256) {
        hash.update(data: [kind])
        withUnsafeBytes(of: UInt64(bytes.count).bigEndian) { hash.update(bufferPointer: $0) }
        hash.update(data: bytes)
    }
}
