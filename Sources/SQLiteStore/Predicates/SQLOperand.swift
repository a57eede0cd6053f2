// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit

/// An expression of a predicate as SQL, with the known kind of its values.
struct SQLOperand {
    /// The kind of an operand's values, which decides comparability.
    enum Kind: Hashable {
        case number
        /// Numbers with more digits than SQLite handles: compared by TARN_ORDER and TARN_EQUAL.
        case decimal
        case text
        case date
        case data
        /// Possibly external binary data: SQL only sees whether a value exists.
        case outside
        /// A transformable value: SQL sees an archive, and archives of equal values differ.
        case encoded
        case uuid
        /// Primary keys of the table of this root entity.
        case object(root: Int)
        /// Numbers of entities, `Z_ENT`.
        case entity
        /// The null constant, comparable with anything.
        case null

        init(_ storage: StorageKind) {
            switch storage {
            case .integer, .key, .float: self = .number
            case .decimal: self = .decimal
            case .timestamp: self = .date
            case .text, .uri: self = .text
            case .uuid: self = .uuid
            case .blob: self = .data
            case .external: self = .outside
            }
        }

        var name: String {
            switch self {
            case .number, .decimal: "a number"
            case .text: "text"
            case .date: "a date"
            case .data: "binary data"
            case .outside: "binary data that may be kept in a file"
            case .encoded: "a transformable value"
            case .uuid: "a UUID"
            case .object: "an object"
            case .entity: "an entity"
            case .null: "nil"
            }
        }

        var isNumber: Bool { self == .number || self == .decimal }

        var isObject: Bool {
            switch self {
            case .object, .entity: true
            default: false
            }
        }

        /// The kind of an argument, for the SQL functions.
        var letter: String {
            switch self {
            case .number: "n"
            case .decimal: "m"
            case .text: "s"
            case .date: "t"
            case .data: "b"
            case .uuid: "u"
            case .object, .entity, .null, .outside, .encoded: "-"
            }
        }
    }

    var sql: SQLFragment
    var kind: Kind
    /// Set for constants.
    var constant: PredicateValue?

    init(_ sql: SQLFragment, _ kind: Kind, constant: PredicateValue? = nil) {
        self.sql = sql
        self.kind = kind
        self.constant = constant
    }

    var isNull: Bool { kind == .null }
}

extension PredicateValue {
    /// The value as SQLite compares it; nil for objects and lists, which have no single value.
    var sqlValue: (value: SQLValue, kind: SQLOperand.Kind)? {
        switch self {
        case .null: (.null, .null)
        case .bool(let value): (.int(value ? 1 : 0), .number)
        case .int(let value): (.int(value), .number)
        case .double(let value): (.double(value), .number)
        case .decimal(let value):
            Int64(DecimalStorage.text(value)).map { (.int($0), .number) } ?? (
                .text(DecimalStorage.text(value)), .decimal
            )
        case .string(let value), .url(let value): (.text(value), .text)
        case .date(let value): (.double(value), .date)
        case .data(let value): (.blob(value), .data)
        case .uuid(let value): (.blob(withUnsafeBytes(of: value.uuid) { Data($0) }), .uuid)
        case .object, .list: nil
        }
    }

    /// The inverse conversion, for arguments of SQL functions.
    init(_ value: SQLValue, kind: UInt8) {
        switch (value, kind) {
        case (.null, _): self = .null
        case (_, UInt8(ascii: "m")): self = DecimalStorage.decode(value).map { .decimal($0) } ?? .null
        case (.int(let value), UInt8(ascii: "t")): self = .date(Double(value))
        case (.double(let value), UInt8(ascii: "t")): self = .date(value)
        case (.blob(let value), UInt8(ascii: "u")) where value.count == 16:
            self = .uuid(value.withUnsafeBytes { UUID(uuid: $0.loadUnaligned(as: uuid_t.self)) })
        case (.int(let value), _): self = .int(value)
        case (.double(let value), _): self = .double(value)
        case (.text(let value), _): self = .string(value)
        case (.blob(let value), _): self = .data(value)
        }
    }
}
