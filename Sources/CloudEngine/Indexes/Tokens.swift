// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// The words of texts, as token filters compare them: without upper case, diacritics and stop words.
///
/// Letters, digits and marks make words; whatever else stands between ends one. Ideographs and kana are words each.
///
/// Source: Apple, `CKQuery`: tokens ignore case and diacritics, and the stop words below are dropped.
enum Tokens {
    /// A longer word counts as its beginning.
    private static let scalarsMax = 64

    private static let stopWords: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
        "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
    ]

    static func words(in value: FieldValue?) -> Set<String> {
        switch value {
        case .string(let text): words(in: text)
        case .list(let elements, of: .string):
            elements.reduce(into: []) { $0.formUnion(words(in: $1)) }
        default: []
        }
    }

    static func words(in text: String) -> Set<String> {
        var words: Set<String> = []
        var word = String.UnicodeScalarView()
        func end() {
            guard !word.isEmpty else { return }
            words.insert(String(word))
            word.removeAll()
        }
        for scalar in text.decomposedStringWithCanonicalMapping.lowercased().unicodeScalars {
            if isIdeograph(scalar) {
                end()
                words.insert(String(scalar))
            } else if scalar.properties.generalCategory == .nonspacingMark {
                continue
            } else if scalar.properties.isAlphabetic || scalar.properties.numericType != nil {
                if word.count < scalarsMax { word.append(scalar) }
            } else if scalar != "'" && scalar != "\u{2019}" {
                end()
            }
        }
        end()
        return words.subtracting(stopWords)
    }

    private static func isIdeograph(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isIdeographic || (0x3040...0x30FF).contains(scalar.value)
    }
}
