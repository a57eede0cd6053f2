// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation

/// The words of texts, as token filters compare them: without upper case, diacritics and stop words.
///
/// Letters, digits and marks make words; any other character ends one. Ideographs and kana are words each.
///
/// Source: Apple, `CKQuery`: tokens ignore case and diacritics, and the stop words below are dropped.
enum Tokens {
    /// A longer word counts as its beginning.
    private static let scalarsMax = 64

    private static let stopWords: Set<String> = [
        "a", "an", "and", "are", "as", "at", "be", "but", "by", "for", "if", "in", "into", "is", "it", "no", "not", "of",
        "on", "or", "such", "that", "the", "their", "then", "there", "these", "they", "this", "to", "was", "will", "with",
    ]

    /// - Parameter most: Splitting ends once there are so many different words.
    static func words(in value: FieldValue?, atMost most: Int = .max) -> Set<String> {
        switch value {
        case .string(let text): return words(in: text, atMost: most)
        case .list(let elements, of: .string):
            var words: Set<String> = []
            for element in elements where words.count < most { words.formUnion(Self.words(in: element, atMost: most)) }
            return words
        default: return []
        }
    }

    static func words(in text: String, atMost most: Int = .max) -> Set<String> {
        var words: Set<String> = []
        var word = String.UnicodeScalarView()
        func end() {
            guard !word.isEmpty else { return }
            let text = String(word)
            if !stopWords.contains(text) { words.insert(text) }
            word.removeAll()
        }
        for scalar in text.decomposedStringWithCanonicalMapping.lowercased().unicodeScalars {
            guard words.count < most else { return words }
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
        return words
    }

    private static func isIdeograph(_ scalar: Unicode.Scalar) -> Bool {
        scalar.properties.isIdeographic || (0x3040...0x30FF).contains(scalar.value)
    }
}
