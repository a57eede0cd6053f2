// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Parts of statements that look rows up one by one.
///
/// For `name = ANY ($3)`, or for a join, the planner may read all rows that have the first columns of the key and filter them: it does so for
/// tables without statistics, and where most zones are small. A subquery with `OFFSET` stays apart, is executed for each value, and uses
/// the index with all its columns.
enum LookUps {
    /// The value that ``each(of:_:)`` looks up. A comparison has the collation of the column.
    ///
    /// Source: PostgreSQL's documentation, "Collation Support": of implicit collations, one that is not the default is the result.
    static let value = "wanted.value"

    /// - Parameters:
    ///   - parameter: Number of the parameter with an array of texts.
    ///   - isNumbered: Whether the rows have `wanted.number`, the number of their value from 1 on.
    ///   - subquery: Compares the last column of a key with ``value``.
    /// - Returns: The clause of the rows `found`.
    static func each(of parameter: Int, isNumbered: Bool = false, _ subquery: String) -> String {
        let values = isNumbered ? "WITH ORDINALITY AS wanted(value, number)" : "AS wanted(value)"
        return "FROM unnest($\(parameter)::text[]) \(values) CROSS JOIN LATERAL (\(subquery) OFFSET 0) AS found"
    }

    /// - Parameter row: The alias of rows that have part, zone and name of a record.
    /// - Returns: A subquery of the record.
    static func record(of row: String) -> String {
        """
        LATERAL (SELECT change, deleted, body FROM records
            WHERE part = \(row).part AND zone = \(row).zone AND name = \(row).name OFFSET 0) AS r
        """
    }
}
