// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// The declaration and encoding of an attribute type in a table.
///
/// Source: `core-data-sqlite-format`, "Types and encodings" (published schema dumps).
enum StorageKind: String, Hashable, Sendable, Codable {
    case integer
    /// Destination key of a to-one relationship, or a position in an ordered relationship.
    case key
    case float
    /// Numeric for up to 15 digits, else the text as a blob: Differs, Apple's store loses digits.
    case decimal
    case timestamp
    case text
    case uri
    case uuid
    case blob
    /// A value stored in a file if it is large.
    case external

    /// - Returns: nil for types without a column.
    init?(_ attribute: Attribute) {
        switch attribute.type {
        case .integer16, .integer32, .integer64, .boolean: self = .integer
        case .double, .float: self = .float
        case .decimal: self = .decimal
        case .date: self = .timestamp
        case .string: self = .text
        case .uri: self = .uri
        case .uuid: self = .uuid
        case .binaryData, .transformable: self = attribute.allowsExternalBinaryDataStorage ? .external : .blob
        case .undefined, .objectID, .composite: return nil
        }
    }

    var declaredType: String {
        switch self {
        case .integer, .key: "INTEGER"
        case .float: "FLOAT"
        case .decimal: "DECIMAL"
        case .timestamp: "TIMESTAMP"
        case .text, .uri: "VARCHAR"
        case .uuid, .blob, .external: "BLOB"
        }
    }

    /// The group of a table's columns; within a group, a parent entity's columns precede those of its subentities, and
    /// attributes precede keys.
    ///
    /// Source: observed in stores of public test suites (framework versions 1044 to 1344).
    var group: Int {
        switch self {
        case .integer, .key: 0
        case .float, .timestamp: 1
        case .decimal: 2
        case .text, .uri: 3
        case .uuid: 4
        case .blob, .external: 5
        }
    }
}

/// A text as a literal of SQL, for statements that take no arguments: pragmas, and conditions of indexes.
func textLiteral(_ text: String) -> String {
    "'" + text.split(separator: "'", omittingEmptySubsequences: false).joined(separator: "''") + "'"
}

/// Quotes a name of a table or column for SQL.
func identifier(_ name: String) -> String {
    let isPlain = name.utf8.allSatisfy { byte in
        byte >= 0x80 || byte == UInt8(ascii: "_") || (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte)
            || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
    if isPlain { return name }
    return "\"" + name.split(separator: "\"", omittingEmptySubsequences: false).joined(separator: "\"\"") + "\""
}
