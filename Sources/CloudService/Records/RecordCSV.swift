// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Records of one type as comma-separated values, in the files of commands and of the console.
///
/// The first line is `recordName,FIELD:TYPE,…` with the fields that records have, in alphabetical order, files of assets left
/// out. A field without a value is an empty cell; an empty text is `""`. A list is a line in a cell.
///
/// Source: RFC 4180. `Differs:` a text that a program for spreadsheets would run has an apostrophe in front, which reading
/// removes.
package enum RecordCSV {
    package struct Column: Hashable, Sendable {
        package var name: String
        package var type: FieldType
        package var isList: Bool

        package init(_ name: String, _ type: FieldType, isList: Bool = false) {
            (self.name, self.type, self.isList) = (name, type, isList)
        }

        /// - Returns: nil for a value that CSV lacks: a file, and an empty list of an unknown type.
        package init?(_ name: String, _ value: FieldValue) {
            switch value {
            case .list(_, of: let type?) where type != .asset: self.init(name, type, isList: true)
            case .list: return nil
            default:
                guard let type = value.type, type != .asset else { return nil }
                self.init(name, type)
            }
        }

        /// - Parameter schemaType: Such as `STRING` or `STRING_LIST`.
        package init?(_ name: String, schemaType: some StringProtocol) {
            var spelling = schemaType.uppercased()
            let isList = spelling.hasSuffix("_LIST")
            if isList { spelling.removeLast(5) }
            let aliases: [String: FieldType] = ["INT": .int64, "TIME": .timestamp, "REF": .reference]
            guard let type = FieldType(rawValue: spelling) ?? aliases[spelling] else { return nil }
            self.init(name, type, isList: isList)
        }

        package var schemaType: String { isList ? type.rawValue + "_LIST" : type.rawValue }

        /// Whether the column has a text for a value of another column's type: a field of the type NUMBER has numbers of both kinds.
        fileprivate func includes(_ other: Column) -> Bool {
            isList == other.isList && (type == other.type || type == .double && other.type == .int64)
        }
    }

    /// Collects the columns of records.
    package struct Columns: Sendable {
        private var columns: [String: Column] = [:]

        package init() {}

        package mutating func add(_ record: Record) {
            for (name, field) in record.fields {
                guard let column = field.value.flatMap({ Column(name, $0) }), columns[name]?.includes(column) != true else { continue }
                columns[name] = column
            }
        }

        package var sorted: [Column] { columns.values.sorted { $0.name < $1.name } }
    }

    package static let nameHeader = "recordName"

    // MARK: Writing

    package static func header(_ columns: [Column]) -> String {
        ([nameHeader] + columns.map { "\($0.name):\($0.schemaType)" }).map(cell).joined(separator: ",")
    }

    package static func line(_ record: Record, _ columns: [Column]) -> String {
        let cells = columns.map { column -> String in
            guard let value = record.fields[column.name]?.value, hasText(value, column) else { return "" }
            return cell(text(value))
        }
        return ([cell(guarded(record.recordName))] + cells).joined(separator: ",")
    }

    /// An empty list has no type: it gets that of the column, since an import would remove a missing value.
    private static func hasText(_ value: FieldValue, _ column: Column) -> Bool {
        if case .list(let elements, of: nil) = value { return column.isList && elements.isEmpty }
        return Column(column.name, value).map { column.includes($0) } ?? false
    }

    private static func text(_ value: FieldValue) -> String {
        switch value {
        case .string(let text): guarded(text)
        case .int64(let number): String(number)
        case .double(let number): String(number)
        case .timestamp(let time): TimestampText.iso(time)
        case .bytes(let bytes): Base64.encode(bytes)
        case .reference(let reference): guarded(reference.recordName)
        case .location(let location): "\(location.latitude),\(location.longitude)"
        case .asset: ""
        case .list(let elements, _): guarded(elements.map { cell(text($0)) }.joined(separator: ","))
        }
    }

    private static let formulaStarts: Set<UInt8> = Set("=+-@\t\r'".utf8)
    private static let (quote, comma, space) = (UInt8(ascii: "\""), UInt8(ascii: ","), UInt8(ascii: " "))
    private static let (cr, lf) = (UInt8(ascii: "\r"), UInt8(ascii: "\n"))

    /// The byte order mark, which programs write before a text.
    private static let mark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// An empty text is quoted: a missing value is not. So is a byte order mark, which is part of the text.
    package static func cell(_ text: String) -> String {
        let bytes = text.utf8
        let isPlain =
            !bytes.isEmpty && bytes.first != space && bytes.last != space && !bytes.starts(with: mark)
            && !bytes.contains { [quote, comma, cr, lf].contains($0) }
        if isPlain { return text }
        // Of bytes: a quotation mark with a combining mark is another character of Swift.
        let escaped = bytes.flatMap { $0 == quote ? [quote, quote] : [$0] }
        return "\"" + String(decoding: escaped, as: UTF8.self) + "\""
    }

    private static func guarded(_ text: String) -> String { text.utf8.first.map { formulaStarts.contains($0) } == true ? "'" + text : text }

    package static func unguarded(_ text: String) -> String {
        let bytes = text.utf8
        guard bytes.first == UInt8(ascii: "'"), let second = bytes.dropFirst().first, formulaStarts.contains(second) else { return text }
        return String(decoding: bytes.dropFirst(), as: UTF8.self)
    }

    // MARK: Reading

    package struct Table: Sendable {
        package struct Row: Sendable {
            /// Number of the line where the row begins, from 1.
            package var line: Int
            /// Nil for an empty cell without quotation marks: no value.
            package var cells: [String?]
        }

        package fileprivate(set) var rows: [Row] = []
        /// Line of the row with a quotation that does not end; the end of the text ends it.
        package fileprivate(set) var openQuotation: Int?
        /// Whether the text has more rows than the maximum.
        package fileprivate(set) var isCut = false
    }

    /// Splits a text into rows. Empty lines are skipped, as is a byte order mark.
    ///
    /// - Parameter skipsSpaces: Whether spaces in front of a cell and around quotation marks are skipped, for typed texts.
    package static func table(_ text: String, rowsMax: Int = .max, skipsSpaces: Bool = false) -> Table {
        var table = Table()
        var (cells, cell, isQuoted, wasQuoted) = ([String?](), [UInt8](), false, false)
        var (line, start) = (1, 1)
        func endCell() {
            cells.append(cell.isEmpty && !wasQuoted ? nil : String(decoding: cell, as: UTF8.self))
            (cell, wasQuoted) = ([], false)
        }
        func endRow() {
            let isEmpty = cells.isEmpty && cell.isEmpty && !wasQuoted
            if !isEmpty {
                endCell()
                if table.rows.count == rowsMax { table.isCut = true } else { table.rows.append(Table.Row(line: start, cells: cells)) }
                cells = []
            }
            start = line
        }
        let bytes = Array(text.utf8)
        var index = bytes.starts(with: mark) ? mark.count : 0
        while index < bytes.count, !table.isCut {
            let byte = bytes[index]
            index += 1
            if byte == lf || byte == cr && (index == bytes.count || bytes[index] != lf) { line += 1 }
            switch byte {
            case quote where isQuoted:
                if index < bytes.count, bytes[index] == quote {
                    cell.append(quote)
                    index += 1
                } else {
                    isQuoted = false
                }
            case _ where isQuoted: cell.append(byte)
            case quote where cell.isEmpty && !wasQuoted: (isQuoted, wasQuoted) = (true, true)
            case space where skipsSpaces && (cell.isEmpty || wasQuoted): break
            case comma: endCell()
            case cr where index < bytes.count && bytes[index] == lf: break
            case cr, lf: endRow()
            default: cell.append(byte)
            }
        }
        if isQuoted { table.openQuotation = start }
        endRow()
        return table
    }

    /// Parses a cell of the first line: a name, and its type if the file has it.
    ///
    /// - Returns: nil for an unknown type.
    package static func field(_ header: String) -> (name: String, column: Column?)? {
        guard let colon = header.firstIndex(of: ":") else { return (header, nil) }
        let name = String(header[..<colon])
        guard let column = Column(name, schemaType: header[header.index(after: colon)...]) else { return nil }
        return (name, column)
    }

    /// - Returns: nil for a text that is not a value of the column's type.
    package static func value(_ text: String, _ column: Column) -> FieldValue? {
        guard column.isList else { return value(text, column.type) }
        return elements(unguarded(text)) { value($0, column.type) }.map { .list($0, of: column.type) }
    }

    /// Reads a list, which is a line in a cell.
    ///
    /// - Parameter read: Returns nil for a text that is not an element.
    /// - Returns: nil for a text with another element.
    package static func elements(_ line: String, _ read: (String) -> FieldValue?) -> [FieldValue]? {
        var values: [FieldValue] = []
        for text in typedCells(line) {
            guard let value = read(text) else { return nil }
            values.append(value)
        }
        return values
    }

    /// The cells of a line that a person may have typed, with spaces between them. An empty cell is an empty text.
    package static func typedCells(_ line: String) -> [String] {
        table(line, rowsMax: 1, skipsSpaces: true).rows.first?.cells.map { $0 ?? "" } ?? []
    }

    private static func value(_ cell: String, _ type: FieldType) -> FieldValue? {
        let text = unguarded(cell)
        let trimmed = String(text.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        switch type {
        case .string: return .string(text)
        case .int64: return trimmed == "true" ? .int64(1) : trimmed == "false" ? .int64(0) : Int64(trimmed).map { .int64($0) }
        case .double: return Double(trimmed).flatMap { $0.isFinite ? .double($0) : nil }
        case .timestamp: return TimestampText.milliseconds(zoned: trimmed).map { .timestamp($0) }
        case .bytes: return Base64.decode(trimmed).map { .bytes($0) }
        case .reference: return text.isEmpty ? nil : .reference(RecordReference(recordName: text))
        case .location: return RecordLocation(degrees: trimmed).map { .location($0) }
        case .asset: return nil
        }
    }
}

extension RecordLocation {
    /// Reads degrees north and east, such as `48.137, 11.575`.
    package init?(degrees text: String) {
        let numbers = text.split { $0 == "," || $0 == " " }.map { Double(String($0)) }
        guard numbers.count == 2, let latitude = numbers[0], let longitude = numbers[1], -90...90 ~= latitude, -180...180 ~= longitude
        else { return nil }
        self.init(latitude: latitude, longitude: longitude)
    }
}
