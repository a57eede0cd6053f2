// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import PredicateKit

/// The right side of IN. Long lists of integers, texts, UUIDs, fractions or dates are one argument, so that the statement
/// text stays the same.
struct ValueList {
    static let inlineMax = 16
    /// SQLite's default limit of arguments is 32,766.
    private static let argumentsMax = 30_000

    private let values: [SQLValue]

    init(_ values: [SQLValue]) { self.values = values }

    func sql(refusal: (String) -> StoreError) throws(StoreError) -> SQLFragment {
        if values.count > Self.inlineMax, let json {
            return SQLFragment("SELECT value FROM json_each(?)", [.text(json)])
        }
        if values.count > Self.inlineMax, let identifiers { return pieces(identifiers, "substr(?, i * 16 + 1, 16)") }
        if values.count > Self.inlineMax, let numbers { return pieces(numbers, "TARN_DOUBLE(substr(?, i * 8 + 1, 8))") }
        guard values.count <= Self.argumentsMax else {
            throw refusal("a list of \(values.count) values is too long, at most \(Self.argumentsMax)")
        }
        return SQLFragment(Array(repeating: "?", count: values.count).joined(separator: ", "), values)
    }

    /// The members of equal size in an argument, of which `piece` takes the one with the number `i`.
    private func pieces(_ members: Data, _ piece: String) -> SQLFragment {
        let places = "WITH RECURSIVE places(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM places WHERE i + 1 < ?)"
        return SQLFragment("\(places) SELECT \(piece) FROM places", [.int(Int64(values.count)), .blob(members)])
    }

    /// Concatenated UUIDs; nil for other values.
    private var identifiers: Data? {
        var identifiers = Data(capacity: values.count * 16)
        for value in values {
            guard case .blob(let bytes) = value, bytes.count == 16 else { return nil }
            identifiers += bytes
        }
        return identifiers
    }

    /// Concatenated doubles, for TARN_DOUBLE; nil for other values.
    private var numbers: Data? {
        var bits: [UInt64] = []
        bits.reserveCapacity(values.count)
        for value in values {
            switch value {
            case .double(let value): bits.append(value.bitPattern.littleEndian)
            case .int(let value):
                guard let exact = Double(exactly: value) else { return nil }
                bits.append(exact.bitPattern.littleEndian)
            default: return nil
            }
        }
        return bits.withUnsafeBytes { Data($0) }
    }

    /// nil when JSON cannot represent the values: a fraction loses digits, bytes have no form, a text may contain zero.
    private var json: String? {
        var parts: [String] = []
        parts.reserveCapacity(values.count)
        for value in values {
            switch value {
            case .int(let value): parts.append(String(value))
            case .text(let text):
                guard !text.utf8.contains(0), let data = try? JSONEncoder().encode(text) else { return nil }
                parts.append(String(decoding: data, as: UTF8.self))
            default: return nil
            }
        }
        return "[\(parts.joined(separator: ","))]"
    }
}

/// The right side of IN with exact numbers, as one argument of TARN_MEMBER: a chain of comparisons would exceed SQLite's
/// limits, and would compare each row with each number.
struct NumberList {
    let members: Set<Decimal>

    /// - Returns: nil if a decimal cannot represent a value.
    static func text(_ values: [PredicateValue]) -> String? {
        var texts: [String] = []
        texts.reserveCapacity(values.count)
        for value in values {
            guard let number = value.exactNumber else { return nil }
            texts.append(DecimalStorage.text(number))
        }
        return texts.joined(separator: " ")
    }

    init(_ text: String) {
        members = Set(text.split(separator: " ").compactMap { Decimal(string: String($0), locale: nil) })
    }
}
