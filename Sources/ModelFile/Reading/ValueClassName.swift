// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

extension ModelReader {
    /// The Swift type that a `customClassName` names: without the dot of the current module in front, dots behind, and
    /// the star of an Objective-C pointer.
    ///
    /// - Returns: nil for text that isn't a Swift type.
    package static func valueClass(_ spelling: String) -> String? {
        var text = spelling.trimmingCharacters(in: .whitespacesAndNewlines)[...]
        while let last = text.last, ".*?! ".contains(last) { text.removeLast() }
        while let first = text.first, ". ".contains(first) { text.removeFirst() }
        var reader = SwiftTypeReader(text)
        return reader.isType() ? String(text) : nil
    }
}

/// Recognises names, members, generic arguments, arrays, dictionaries, tuples and optionals.
private struct SwiftTypeReader {
    private var rest: Substring
    private var depth = 0

    init(_ text: Substring) { rest = text }

    mutating func isType() -> Bool { type() && rest.isEmpty }

    private mutating func accept(_ character: Character) -> Bool {
        skipSpace()
        guard rest.first == character else { return false }
        rest.removeFirst()
        skipSpace()
        return true
    }

    private mutating func skipSpace() { while rest.first?.isWhitespace == true { rest.removeFirst() } }

    private mutating func type() -> Bool {
        depth += 1
        defer { depth -= 1 }
        guard depth < 50 else { return false }
        guard single() else { return false }
        while accept("?") {}
        return true
    }

    private mutating func single() -> Bool {
        if accept("[") {
            guard type() else { return false }
            if accept(":"), !type() { return false }
            return accept("]")
        }
        if accept("(") {
            if accept(")") { return true }
            repeat { guard type() else { return false } } while accept(",")
            return accept(")")
        }
        repeat {
            guard name() else { return false }
            if accept("<") {
                repeat { guard type() else { return false } } while accept(",")
                guard accept(">") else { return false }
            }
        } while accept(".")
        return true
    }

    private mutating func name() -> Bool {
        let word = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
        let name = String(word)
        guard SwiftName.isIdentifier(name), name == "Any" || SwiftName.escaped(name) == name else { return false }
        rest.removeFirst(word.count)
        return true
    }
}
