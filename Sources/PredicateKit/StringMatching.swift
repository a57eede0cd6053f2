// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// Text comparison of predicates. The store's SQL functions and the evaluation in memory both call it, so that the same
/// predicate finds the same objects.
///
/// Without options strings are compared by their UTF-8 bytes, as SQLite does. Differs: Apple's evaluation in memory
/// compares UTF-16 units, which orders a few characters beyond the basic plane differently.
package enum StringMatching {
    /// - Returns: A text that is equal for all texts that are equal under the options.
    package static func fold(_ text: String, _ options: Comparison.Options) -> String {
        if options.contains(.normalized) || options.isDisjoint(with: [.caseInsensitive, .diacriticInsensitive]) {
            return text
        }
        var text = text
        if let folded = text.withUTF8({ asciiFolded($0, options) }) { return folded }
        var folded = text.decomposedStringWithCanonicalMapping
        if options.contains(.diacriticInsensitive) {
            var scalars = String.UnicodeScalarView()
            for scalar in folded.unicodeScalars where scalar.properties.generalCategory != .nonspacingMark {
                scalars.append(scalar)
            }
            folded = String(scalars)
        }
        // To upper case and back: ß, ς and ſ share an upper case with other letters.
        return options.contains(.caseInsensitive) ? folded.uppercased().lowercased() : folded
    }

    private static func asciiFolded(_ bytes: UnsafeBufferPointer<UInt8>, _ options: Comparison.Options) -> String? {
        guard bytes.allSatisfy({ $0 < 0x80 }) else { return nil }
        guard options.contains(.caseInsensitive) else { return String(decoding: bytes, as: UTF8.self) }
        return String(unsafeUninitializedCapacity: bytes.count) { buffer in
            for (index, byte) in bytes.enumerated() {
                buffer[index] = (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(byte) ? byte | 0x20 : byte
            }
            return bytes.count
        }
    }

    /// - Returns: -1, 0 or 1.
    package static func order(_ a: String, _ b: String, _ options: Comparison.Options) -> Int {
        let (a, b) = (fold(a, options), fold(b, options))
        if a.utf8.elementsEqual(b.utf8) { return 0 }
        return a.utf8.lexicographicallyPrecedes(b.utf8) ? -1 : 1
    }

    /// Evaluates BEGINSWITH, ENDSWITH, CONTAINS, LIKE or MATCHES; false for other operators.
    ///
    /// - Throws: ``PredicateFailure`` with `.invalidPattern`.
    package static func matches(
        _ text: String, _ operator: Comparison.Operator, _ pattern: String, _ options: Comparison.Options
    ) throws(PredicateFailure) -> Bool {
        if `operator` == .matches { return try Patterns.shared.matches(text, pattern, options) }
        let (text, pattern) = (fold(text, options), fold(pattern, options))
        switch `operator` {
        case .beginsWith: return text.utf8.starts(with: pattern.utf8)
        case .endsWith: return text.utf8.reversed().starts(with: pattern.utf8.reversed())
        case .contains, .in: return containsBytes(text, pattern)
        case .like: return Wildcards(pattern).match(text)
        default: return false
        }
    }

    private static func containsBytes(_ text: String, _ part: String) -> Bool {
        let (text, part) = (Array(text.utf8), Array(part.utf8))
        guard let first = part.first else { return true }
        guard text.count >= part.count else { return false }
        for start in 0...(text.count - part.count) where text[start] == first {
            if text[start..<(start + part.count)].elementsEqual(part) { return true }
        }
        return false
    }
}

/// The pattern of LIKE: `?` is one character, `*` any number of them, a backslash escapes the next one.
private struct Wildcards {
    private enum Piece {
        case one, run
        case character(Character)
    }
    private let pieces: [Piece]

    init(_ pattern: String) {
        var pieces: [Piece] = []
        var isEscaped = false
        for character in pattern {
            switch character {
            case "\\" where !isEscaped:
                isEscaped = true
                continue
            case "?" where !isEscaped: pieces.append(.one)
            case "*" where !isEscaped: pieces.append(.run)
            default: pieces.append(.character(character))
            }
            isEscaped = false
        }
        self.pieces = pieces
    }

    /// Backtracks to the latest `*` only: at most text length times pattern length.
    func match(_ text: String) -> Bool {
        let text = Array(text)
        var (position, piece) = (0, 0)
        var retry: (position: Int, piece: Int)?
        while position < text.count {
            if piece < pieces.count {
                switch pieces[piece] {
                case .run:
                    retry = (position, piece)
                    piece += 1
                    continue
                case .one:
                    (position, piece) = (position + 1, piece + 1)
                    continue
                case .character(let character) where character == text[position]:
                    (position, piece) = (position + 1, piece + 1)
                    continue
                case .character: break
                }
            }
            guard let latest = retry else { return false }
            retry = (latest.position + 1, latest.piece)
            (position, piece) = (latest.position + 1, latest.piece + 1)
        }
        return pieces[piece...].allSatisfy { if case .run = $0 { true } else { false } }
    }
}

/// A cache of compiled regular expressions.
private final class Patterns: Sendable {
    static let shared = Patterns()

    private struct Key: Hashable {
        let pattern: String
        let ignoresCase: Bool
    }

    // @unchecked: a regular expression is immutable.
    private struct Compiled: @unchecked Sendable { let expression: NSRegularExpression }

    private let compiled = Mutex<[Key: Compiled]>([:])
    private static let keptMax = 256

    func matches(_ text: String, _ pattern: String, _ options: Comparison.Options) throws(PredicateFailure) -> Bool {
        let marks = options.intersection(.diacriticInsensitive)
        let text = StringMatching.fold(text, marks)
        let pattern = StringMatching.fold(pattern, marks)
        let expression = try expression(Key(pattern: pattern, ignoresCase: options.contains(.caseInsensitive)))
        return expression.firstMatch(in: text, range: NSRange(location: 0, length: text.utf16.count)) != nil
    }

    private func expression(_ key: Key) throws(PredicateFailure) -> NSRegularExpression {
        if let cached = compiled.withLock({ $0[key] }) { return cached.expression }
        guard
            let expression = try? NSRegularExpression(
                pattern: "\\A(?:\(key.pattern))\\z", options: key.ignoresCase ? [.caseInsensitive] : [])
        else { throw PredicateFailure(.invalidPattern, "the pattern of MATCHES is not a regular expression") }
        let entry = Compiled(expression: expression)
        compiled.withLock { compiled in
            if compiled.count >= Self.keptMax { compiled.removeAll() }
            compiled[key] = entry
        }
        return expression
    }
}
