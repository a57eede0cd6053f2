// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SQLiteStore

/// The statements that write a row of a table with zone and record name as its key.
///
/// Arguments are in the order of the columns: those of the subject, the others, zone and name.
struct NamedRowStatements: Sendable {
    /// For a row with the same subject as before. It does not touch the indexes over the subject.
    private let update: String
    private let replacement: String
    private let insertion: String

    /// - Parameter subject: The columns that say which object or pair a name stands for. They hardly ever change.
    init(_ table: String, subject: [String], _ others: [String]) {
        let columns = subject + others
        func assignments(_ columns: [String], from first: Int = 1) -> String {
            columns.enumerated().map { "\($1) = ?\($0 + first)" }.joined(separator: ", ")
        }
        let place = "zone = ?\(columns.count + 1) AND name = ?\(columns.count + 2)"
        let same = subject.enumerated().map { " AND \($1) = ?\($0 + 1)" }.joined()
        update = "UPDATE \(table) SET \(assignments(others, from: subject.count + 1)) WHERE \(place)\(same)"
        replacement = "UPDATE OR REPLACE \(table) SET \(assignments(columns)) WHERE \(place)"
        let places = columns.map { _ in "?" }.joined(separator: ", ")
        insertion = "INSERT OR REPLACE INTO \(table) (\(columns.joined(separator: ", ")), zone, name) VALUES (\(places), ?, ?)"
    }

    /// Updates the row of a name, or inserts it. Replacing the row instead would touch every index.
    func write(_ zone: Int64, _ name: String, isNew: Bool, _ subject: [SQLValue], _ others: [SQLValue], _ writer: StoreWriter) throws {
        let arguments = subject + others + [.int(zone), .text(name)]
        if isNew { return try writer.execute(insertion, arguments) }
        if try writer.change(update, arguments) > 0 { return }
        if try writer.change(replacement, arguments) > 0 { return }
        try writer.execute(insertion, arguments)
    }
}

extension SQLValue {
    static func optional(_ text: String?) -> SQLValue { text.map { .text($0) } ?? .null }
}
