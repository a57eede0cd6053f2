// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Comma-separated values.
///
/// Source: RFC 4180. `Differs:` a text that a spreadsheet would take for a formula gets an apostrophe in front, which reading
/// removes. Spaces around a cell are skipped, so that people may type them.
enum CSVText {
    private static let formulaStarts: Set<UInt8> = Set("=+-@\t\r'".utf8)
    private static let (quote, comma, cr, lf) = (UInt8(ascii: "\""), UInt8(ascii: ","), UInt8(ascii: "\r"), UInt8(ascii: "\n"))

    static func line(_ cells: [String]) -> String { cells.map(cell).joined(separator: ",") }

    private static func cell(_ text: String) -> String {
        let needsQuotes =
            text.isEmpty || text.utf8.contains { [quote, comma, cr, lf].contains($0) } || text.utf8.first == UInt8(ascii: " ")
            || text.utf8.last == UInt8(ascii: " ")
        return needsQuotes ? "\"\(text.replacing("\"", with: "\"\""))\"" : text
    }

    /// Returns the text so that a spreadsheet doesn't read it as a formula.
    static func guarded(_ text: String) -> String { text.utf8.first.map { formulaStarts.contains($0) } == true ? "'" + text : text }

    static func unguarded(_ text: String) -> String {
        let bytes = text.utf8
        guard bytes.count > 1, bytes.first == UInt8(ascii: "'"), formulaStarts.contains(bytes[bytes.index(after: bytes.startIndex)])
        else { return text }
        return String(text.unicodeScalars.dropFirst())
    }

    /// Rows of cells. Empty lines are skipped; an unterminated quotation ends with the text.
    ///
    /// An empty cell without quotes is nil: no value.
    ///
    /// - Returns: nil for more rows than `rowsMax`.
    static func rows(_ text: String, rowsMax: Int) -> [[String?]]? {
        var rows: [[String?]] = []
        var cells: [String?] = []
        var cell: [UInt8] = []
        var (isQuoted, wasQuoted, isTooLong) = (false, false, false)
        func endCell() {
            cells.append(cell.isEmpty && !wasQuoted ? nil : String(decoding: cell, as: UTF8.self))
            cell.removeAll()
            wasQuoted = false
        }
        func endRow() {
            let isEmpty = cells.isEmpty && cell.isEmpty && !wasQuoted
            if isEmpty { return }
            endCell()
            if rows.count == rowsMax { isTooLong = true } else { rows.append(cells) }
            cells.removeAll()
        }
        let bytes = Array(text.utf8)
        var index = 0
        while index < bytes.count, !isTooLong {
            let byte = bytes[index]
            index += 1
            switch byte {
            case quote where isQuoted:
                if index < bytes.count, bytes[index] == quote {
                    cell.append(quote)
                    index += 1
                } else {
                    isQuoted = false
                }
            case _ where isQuoted: cell.append(byte)
            case quote where cell.isEmpty: (isQuoted, wasQuoted) = (true, true)
            case UInt8(ascii: " ") where cell.isEmpty || wasQuoted: break
            case comma: endCell()
            case cr, lf: endRow()
            default: cell.append(byte)
            }
        }
        endRow()
        return isTooLong ? nil : rows
    }
}
