// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Rows that a command prints: aligned columns with headings for people, one JSON object per row for programs.
struct Table {
    struct Column {
        /// Empty for a column that only JSON has.
        let heading: String
        /// Key of the JSON object; stable.
        let key: String

        init(_ heading: String, _ key: String) {
            self.heading = heading
            self.key = key
        }
    }

    enum Cell: Equatable {
        case none
        case text(String)
        case number(Int64)
        /// A count that ended at a bound: `7+` for people, the number for programs.
        case atLeast(Int64)
        /// A count of bytes: with a unit for people, a number for programs.
        case bytes(Int64)
        /// Milliseconds since 1970 UTC; ISO 8601 in both forms.
        case time(Int64)
        case flag(Bool)
        case list([String])

        init(_ text: String?) { self = text.map { .text($0) } ?? .none }
        init(time: Int64?) { self = time.map { .time($0) } ?? .none }
    }

    let columns: [Column]
    private(set) var rows: [[Cell]] = []

    init(columns: [Column]) { self.columns = columns }

    init(_ columns: (heading: String, key: String)...) { self.init(columns: columns.map { Column($0.heading, $0.key) }) }

    /// - Parameter cells: One for each column.
    mutating func add(_ cells: Cell...) { add(cells) }

    mutating func add(_ cells: [Cell]) {
        precondition(cells.count == columns.count, "a row has a cell for each column")
        rows.append(cells)
    }

    /// Headings and rows, without a line break at the end. Numbers are right-aligned.
    func text(_ style: TextStyle) -> String {
        let visible = self.columns.indices.filter { !self.columns[$0].heading.isEmpty }
        let columns = visible.map { self.columns[$0] }
        let rows = self.rows.map { row in visible.map { row[$0] } }
        let cells = rows.map { $0.map { TerminalText.escaped(Self.shown($0)) } }
        let widths = columns.indices.map { column in
            max(columns[column].heading.count, cells.map { $0[column].count }.max() ?? 0)
        }
        let isNumeric = columns.indices.map { column in
            rows.allSatisfy { $0[column].isNumeric || $0[column] == .none } && rows.contains { $0[column].isNumeric }
        }
        func line(_ words: [String]) -> String {
            let padded = words.indices.map { column in
                let space = String(repeating: " ", count: widths[column] - words[column].count)
                return isNumeric[column] ? space + words[column] : words[column] + space
            }
            var text = padded.joined(separator: "  ")[...]
            while text.last == " " { text.removeLast() }
            return String(text)
        }
        return ([style.heading(line(columns.map(\.heading)))] + cells.map(line)).joined(separator: "\n")
    }

    /// One object per row, with the columns' keys in their order.
    var jsonLines: [String] {
        rows.map { row in
            "{" + zip(columns, row).map { "\(JSONText.string($0.key)):\(Self.json($1))" }.joined(separator: ",") + "}"
        }
    }

    private static func shown(_ cell: Cell) -> String {
        switch cell {
        case .none: "-"
        case .text(let text): text.isEmpty ? "-" : text
        case .number(let number): String(number)
        case .atLeast(let number): "\(number)+"
        case .bytes(let count): ByteText.text(count)
        case .time(let milliseconds): TimeText.utc(milliseconds)
        case .flag(let isSet): isSet ? "yes" : "no"
        case .list(let elements): elements.isEmpty ? "-" : elements.joined(separator: ", ")
        }
    }

    static func json(_ cell: Cell) -> String {
        switch cell {
        case .none: "null"
        case .text(let text): JSONText.string(text)
        case .number(let number), .atLeast(let number), .bytes(let number): String(number)
        case .time(let milliseconds): JSONText.string(TimeText.utc(milliseconds))
        case .flag(let isSet): isSet ? "true" : "false"
        case .list(let elements): "[" + elements.map(JSONText.string).joined(separator: ",") + "]"
        }
    }
}

extension Table.Cell {
    fileprivate var isNumeric: Bool {
        switch self {
        case .number, .atLeast, .bytes: true
        case .none, .text, .time, .flag, .list: false
        }
    }
}

enum ByteText {
    /// `1.5 MB`: decimal units, one digit after the point.
    static func text(_ count: Int64) -> String {
        let units = ["B", "kB", "MB", "GB", "TB", "PB"]
        var (tenths, unit) = (count.multipliedReportingOverflow(by: 10).partialValue, 0)
        if count > Int64.max / 10 { return "\(count) B" }
        while tenths >= 10_000, unit < units.count - 1 { (tenths, unit) = ((tenths + 500) / 1000, unit + 1) }
        return unit == 0 ? "\(count) B" : "\(tenths / 10).\(tenths % 10) \(units[unit])"
    }
}

enum TimeText {
    /// Years that ISO 8601 writes with four digits.
    private static let dated: Range<Int64> = -62_135_596_800_000..<253_402_300_800_000

    /// ISO 8601 to the second; the number itself for a time without a date of four digits.
    ///
    /// - Parameter milliseconds: Since 1970 UTC.
    static func utc(_ milliseconds: Int64) -> String {
        guard dated.contains(milliseconds) else { return String(milliseconds) }
        return Date(timeIntervalSince1970: (Double(milliseconds) / 1000).rounded(.down)).formatted(.iso8601)
    }
}
