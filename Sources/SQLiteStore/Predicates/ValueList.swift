// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The right side of IN. Long lists of integers or texts are one argument, so that the statement text stays the same.
struct ValueList {
    private static let inlineMax = 16
    /// SQLite's default limit of arguments is 32,766.
    private static let argumentsMax = 30_000
    private static let pieceBytes = 16

    private let values: [SQLValue]

    init(_ values: [SQLValue]) { self.values = values }

    func sql(refusal: (String) -> StoreError) throws(StoreError) -> SQLFragment {
        if values.count > Self.inlineMax, let json {
            return SQLFragment("SELECT value FROM json_each(?)", [.text(json)])
        }
        if values.count > Self.inlineMax, let pieces {
            let count = SQLValue.int(Int64(values.count))
            return SQLFragment(
                """
                WITH RECURSIVE places(i) AS (VALUES(0) UNION ALL SELECT i + 1 FROM places WHERE i + 1 < ?) \
                SELECT substr(?, i * \(Self.pieceBytes) + 1, \(Self.pieceBytes)) FROM places
                """, [count, .blob(pieces)])
        }
        guard values.count <= Self.argumentsMax else {
            throw refusal("a list of \(values.count) values is too long, at most \(Self.argumentsMax)")
        }
        return SQLFragment(Array(repeating: "?", count: values.count).joined(separator: ", "), values)
    }

    /// Concatenated UUIDs; nil for other values.
    private var pieces: Data? {
        var pieces = Data(capacity: values.count * Self.pieceBytes)
        for value in values {
            guard case .blob(let bytes) = value, bytes.count == Self.pieceBytes else { return nil }
            pieces += bytes
        }
        return pieces
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
