// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// A value in SQLite's storage classes.
package enum SQLValue: Hashable, Sendable {
    case null
    case int(Int64)
    /// Not-a-number is stored as null: SQLite has no such value.
    case double(Double)
    case text(String)
    case blob(Data)
}

/// The current row of a statement. Valid only inside the closure that receives it.
package struct SQLRow {
    let statement: PreparedStatement

    package var count: Int { Int(statement.columnCount) }

    /// SQLite converts: non-numeric text reads as 0, null as 0.
    package func int(_ column: Int) -> Int64 { statement.int(Int32(column)) }
    package func double(_ column: Int) -> Double { statement.double(Int32(column)) }
    package func isNull(_ column: Int) -> Bool { statement.isNull(Int32(column)) }
    /// - Returns: nil for null.
    package func text(_ column: Int) -> String? { statement.text(Int32(column)) }
    /// - Returns: nil for null.
    package func blob(_ column: Int) -> Data? { statement.blob(Int32(column)) }
    /// - Returns: nil for null.
    package func bytes(_ column: Int) -> [UInt8]? { statement.bytes(Int32(column)) }
    package func optionalInt(_ column: Int) -> Int64? { isNull(column) ? nil : int(column) }
    package func optionalDouble(_ column: Int) -> Double? { isNull(column) ? nil : double(column) }
    package func value(_ column: Int) -> SQLValue { statement.value(Int32(column)) }
}
