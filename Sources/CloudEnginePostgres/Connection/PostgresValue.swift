// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// A parameter of a statement, in PostgreSQL's binary format.
enum PostgresValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case boolean(Bool)
    case text(String)
    case bytes([UInt8])
    case texts([String])

    /// The type's number in `pg_type`, which never changes; 0 lets the server infer it.
    var type: UInt32 {
        switch self {
        case .null: 0
        case .integer: 20
        case .boolean: 16
        case .text: 25
        case .bytes: 17
        case .texts: 1009
        }
    }

    /// - Throws: `WireError` with `.badRequest` for text with the character 0, which PostgreSQL cannot store.
    func encoded() throws -> [UInt8]? {
        switch self {
        case .null: nil
        case .integer(let number): Self.bytes(of: number)
        case .boolean(let isTrue): [isTrue ? 1 : 0]
        case .text(let text): try Self.bytes(of: text)
        case .bytes(let bytes): bytes
        case .texts(let texts): try Self.array(texts)
        }
    }

    private static func bytes(of number: some FixedWidthInteger) -> [UInt8] { withUnsafeBytes(of: number.bigEndian) { Array($0) } }

    private static func bytes(of text: String) throws -> [UInt8] {
        let bytes = Array(text.utf8)
        guard !bytes.contains(0) else { throw WireError(.badRequest, "a text has the character U+0000: leave it out") }
        return bytes
    }

    /// Dimensions, whether there are nulls, the elements' type, count and first index, then each element after its length.
    private static func array(_ texts: [String]) throws -> [UInt8] {
        guard !texts.isEmpty else { return bytes(of: Int32(0)) + bytes(of: Int32(0)) + bytes(of: Int32(25)) }
        var array = bytes(of: Int32(1)) + bytes(of: Int32(0)) + bytes(of: Int32(25)) + bytes(of: Int32(texts.count)) + bytes(of: Int32(1))
        for text in texts {
            let element = try bytes(of: text)
            array += bytes(of: Int32(element.count)) + element
        }
        return array
    }
}

/// A value of a column.
protocol PostgresStorable {
    var postgres: PostgresValue { get }
    /// A column of another kind reads as empty, as the embedded engine has it.
    init(postgres cell: [UInt8]?)
}

extension Int64: PostgresStorable {
    var postgres: PostgresValue { .integer(self) }

    init(postgres cell: [UInt8]?) {
        guard let cell, cell.count <= 8 else {
            self = 0
            return
        }
        let bits = cell.reduce(0 as UInt64) { $0 << 8 | UInt64($1) }
        // Shorter integers and booleans are extended with their sign.
        let shift = UInt64(64 - 8 * cell.count)
        self = cell.count <= 1 ? Int64(bits) : Int64(bitPattern: bits << shift) >> Int64(shift)
    }
}

extension Int: PostgresStorable {
    var postgres: PostgresValue { .integer(Int64(self)) }

    init(postgres cell: [UInt8]?) { self.init(truncatingIfNeeded: Int64(postgres: cell)) }
}

extension Bool: PostgresStorable {
    var postgres: PostgresValue { .boolean(self) }

    init(postgres cell: [UInt8]?) { self = Int64(postgres: cell) != 0 }
}

extension String: PostgresStorable {
    var postgres: PostgresValue { .text(self) }

    init(postgres cell: [UInt8]?) { self = String(decoding: cell ?? [], as: UTF8.self) }
}

extension [UInt8]: PostgresStorable {
    var postgres: PostgresValue { .bytes(self) }

    init(postgres cell: [UInt8]?) { self = cell ?? [] }
}

extension Optional: PostgresStorable where Wrapped: PostgresStorable {
    var postgres: PostgresValue { self?.postgres ?? .null }

    init(postgres cell: [UInt8]?) { self = cell.map { Wrapped(postgres: $0) } }
}

/// What stands for the places of a statement, in their order.
struct PostgresValues: ExpressibleByArrayLiteral, Hashable, Sendable {
    var values: [PostgresValue]

    init(arrayLiteral elements: any PostgresStorable...) { values = elements.map(\.postgres) }

    init(_ values: [PostgresValue]) { self.values = values }

    static func + (a: PostgresValues, b: PostgresValues) -> PostgresValues { PostgresValues(a.values + b.values) }

    /// An array of texts, for `= ANY`.
    static func texts(_ texts: [String]) -> PostgresValues { PostgresValues([.texts(texts)]) }
}

/// One row, read to its end.
struct PostgresRow: Sendable {
    var cells: [[UInt8]?]

    subscript<Value: PostgresStorable>(_ column: Int) -> Value { Value(postgres: cells[column]) }
}
