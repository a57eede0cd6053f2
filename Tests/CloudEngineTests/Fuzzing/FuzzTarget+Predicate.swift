// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import PredicateKit

extension FuzzTarget {
    /// A predicate that was read is printed, read again and printed alike.
    static func predicate(_ bytes: [UInt8]) -> String? {
        guard let predicate = try? Predicate(format: String(decoding: bytes, as: UTF8.self)) else { return nil }
        let text = predicate.formatDescription
        guard let again = try? Predicate(format: text) else { return "a predicate cannot be read from what was printed: \(text)" }
        return again.formatDescription == text ? nil : "a predicate prints something else the second time: \(text)"
    }
}
