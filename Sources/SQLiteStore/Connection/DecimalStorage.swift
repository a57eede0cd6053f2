// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Decimals in a column of numeric affinity.
///
/// SQLite converts numeric text into an integer or a double, and a double represents 15 digits. Values with up to 15
/// digits are stored as numbers; others as a blob of their text, which SQLite does not convert.
enum DecimalStorage {
    static func encode(_ value: Decimal) -> SQLValue {
        if value.isNaN { return .null }
        let text = text(value)
        if let integer = Int64(text) { return .int(integer) }
        let digits = text.utf8.reduce(0) { $0 + (UInt8(ascii: "0")...UInt8(ascii: "9") ~= $1 ? 1 : 0) }
        if digits <= 15, let double = Double(text) { return .double(double) }
        return .blob(Data(text.utf8))
    }

    static func decode(_ value: SQLValue) -> Decimal? {
        switch value {
        case .null: nil
        case .int(let value): Decimal(value)
        // The digits that a double represents exactly; more would expose its binary fraction.
        case .double(let value): parse(String(format: "%.15g", value))
        case .text(let value): parse(value)
        case .blob(let value): parse(String(decoding: value, as: UTF8.self))
        }
    }

    static func text(_ value: Decimal) -> String { value.description }

    private static func parse(_ text: String) -> Decimal? { Decimal(string: text, locale: nil) }
}
