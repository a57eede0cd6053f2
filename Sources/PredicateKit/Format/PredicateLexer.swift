// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A word, sign or value of a format string, with its column.
struct PredicateToken {
    enum Kind: Equatable {
        /// A key, keyword or function name; `isKey` when `#` marks it as a key.
        case word(String, isKey: Bool)
        /// A function name with its colons: `add:to:`.
        case selector(String)
        /// A collection operator with its `@`.
        case collection(String)
        case variable(String)
        case string(String)
        case int(Int64)
        case double(Double)
        /// `@`, `K`, `d` for any integer, `f` for any fraction.
        case placeholder(Character)
        case sign(String)
        case end
    }

    let kind: Kind
    let column: Int
    let text: String
}

/// Splits a format string into tokens.
struct PredicateLexer {
    private let characters: [Character]
    private var position = 0

    /// By scalars: a combining mark at the beginning of a string, or after an escape, would be one character with the quote or the escape.
    init(_ format: String) { characters = format.unicodeScalars.map(Character.init) }

    mutating func next() throws(PredicateFailure) -> PredicateToken {
        while let character = peek(), character.isWhitespace { position += 1 }
        let start = position
        let kind = try kind()
        return PredicateToken(kind: kind, column: start + 1, text: String(characters[start..<position]))
    }

    private mutating func kind() throws(PredicateFailure) -> PredicateToken.Kind {
        guard let character = peek() else { return .end }
        switch character {
        case "'", "\"": return .string(try string(character))
        case "$": return .variable(try name(after: "$"))
        case "#": return .word(try name(after: "#"), isKey: true)
        case "@": return .collection("@" + (try name(after: "@")))
        case "%": return try placeholder()
        case _ where Self.isNameStart(character): return word()
        case _ where character.isASCII && character.isNumber: return try number()
        case "." where isDigit(1): return try number()
        default: return try sign(character)
        }
    }

    private func peek(_ ahead: Int = 0) -> Character? {
        position + ahead < characters.count ? characters[position + ahead] : nil
    }

    private func isDigit(_ ahead: Int) -> Bool { peek(ahead).map { $0.isASCII && $0.isNumber } ?? false }

    private func failure(_ detail: String, at place: Int? = nil) -> PredicateFailure {
        PredicateFailure(.format, detail, column: (place ?? position) + 1)
    }

    // MARK: Names and signs

    private static func isNameStart(_ character: Character) -> Bool { character.isLetter || character == "_" }
    private static func isName(_ character: Character) -> Bool {
        isNameStart(character) || character.isNumber || character.unicodeScalars.allSatisfy(\.properties.isGraphemeExtend)
    }

    private mutating func name() -> String {
        let start = position
        while let character = peek(), Self.isName(character) { position += 1 }
        return String(characters[start..<position])
    }

    private mutating func name(after sign: Character) throws(PredicateFailure) -> String {
        position += 1
        let name = name()
        // A key that begins with a digit would be printed as a number.
        guard let first = name.first, sign != "#" || Self.isNameStart(first) else { throw failure("expected a name after \(sign)") }
        return name
    }

    /// A name followed by `:`, up to `(`, is a function's selector.
    private mutating func word() -> PredicateToken.Kind {
        let start = position
        let name = name()
        var end = position
        while end < characters.count, Self.isName(characters[end]) || characters[end] == ":" { end += 1 }
        if end > position, characters[end - 1] == ":" {
            var after = end
            while after < characters.count, characters[after].isWhitespace { after += 1 }
            if after < characters.count, characters[after] == "(" {
                position = end
                return .selector(String(characters[start..<end]))
            }
        }
        return .word(name, isKey: false)
    }

    private static let signs = [
        "==", "=<", "=>", "!=", "<>", "<<", "<=", ">>", ">=", "&&", "||", "**", "=", "<", ">", "!", "(", ")", "{", "}",
        "[", "]", ",", ".", "+", "-", "*", "/", "&", "|", "^", "~",
    ]

    private mutating func sign(_ character: Character) throws(PredicateFailure) -> PredicateToken.Kind {
        for sign in Self.signs where Array(sign).enumerated().allSatisfy({ peek($0.offset) == $0.element }) {
            position += sign.count
            return .sign(sign)
        }
        throw failure("unexpected '\(character)'")
    }

    // MARK: Values

    private mutating func placeholder() throws(PredicateFailure) -> PredicateToken.Kind {
        let start = position
        position += 1
        while let character = peek(), "hlqztj".contains(character) { position += 1 }
        guard let letter = peek() else { throw failure("expected a letter after %", at: start) }
        position += 1
        switch letter {
        case "@", "K": return .placeholder(letter)
        case "d", "D", "i", "u", "U", "x", "X", "o", "O", "c", "C": return .placeholder("d")
        case "e", "E", "f", "F", "g", "G", "a", "A": return .placeholder("f")
        case "s", "S": return .placeholder("@")
        default: throw failure("%\(letter) is not a placeholder; use %@, %K, %d or %f", at: start)
        }
    }

    private mutating func string(_ quote: Character) throws(PredicateFailure) -> String {
        let start = position
        position += 1
        var text = ""
        while let character = peek() {
            position += 1
            if character == quote { return text }
            guard character == "\\" else {
                text.append(character)
                continue
            }
            guard let escaped = peek() else { break }
            position += 1
            switch escaped {
            case "n": text.append("\n")
            case "t": text.append("\t")
            case "r": text.append("\r")
            case "b": text.append("\u{8}")
            case "f": text.append("\u{C}")
            case "u": text.unicodeScalars.append(try escapedScalar())
            default: text.append(escaped)
            }
        }
        throw failure("the string that starts here has no closing \(quote)", at: start)
    }

    private mutating func escapedScalar() throws(PredicateFailure) -> Unicode.Scalar {
        let start = position
        let digits = String(characters[position..<min(position + 4, characters.count)])
        guard digits.count == 4, let value = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(value) else {
            throw failure("expected four hexadecimal digits after \\u", at: start)
        }
        position += 4
        return scalar
    }

    private mutating func number() throws(PredicateFailure) -> PredicateToken.Kind {
        let start = position
        let radixes: [Character: Int] = ["x": 16, "X": 16, "o": 8, "O": 8, "b": 2, "B": 2]
        if peek() == "0", let letter = peek(1), let radix = radixes[letter] {
            position += 2
            guard let value = Int64(name(), radix: radix) else {
                throw failure("this isn't a number of base \(radix)", at: start)
            }
            return .int(value)
        }
        var isWhole = true
        while isDigit(0) { position += 1 }
        if peek() == ".", isDigit(1) {
            isWhole = false
            position += 1
            while isDigit(0) { position += 1 }
        }
        if let letter = peek(), letter == "e" || letter == "E" {
            let signed = peek(1) == "+" || peek(1) == "-"
            if isDigit(signed ? 2 : 1) {
                isWhole = false
                position += signed ? 2 : 1
                while isDigit(0) { position += 1 }
            }
        }
        if let character = peek(), Self.isNameStart(character) {
            throw failure("unexpected '\(character)' in a number")
        }
        let text = String(characters[start..<position])
        if isWhole, let value = Int64(text) { return .int(value) }
        guard let value = Double(text) else { throw failure("this isn't a number", at: start) }
        return .double(value)
    }
}
