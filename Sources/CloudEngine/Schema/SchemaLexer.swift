// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Cuts a text in the schema language into words, quoted names and signs.
struct SchemaLexer {
    struct Token {
        enum Kind: Equatable {
            case word, quoted, sign, end
        }

        var kind: Kind
        /// Without quotes.
        var text: String
        var line: Int
        var column: Int

        /// Upper-case keyword, if it may be one.
        var keyword: String? { kind == .word ? text.uppercased() : nil }

        var shown: String {
            switch kind {
            case .end: "the end"
            case .quoted: "\"\(text.prefix(40))\""
            case .word, .sign: "'\(text.prefix(40))'"
            }
        }

        func fault(_ what: String) -> SchemaFault { SchemaFault(line: line, column: column, what: what) }
    }

    private let scalars: [Unicode.Scalar]
    private var index = 0
    private var line = 1
    private var column = 1

    init(_ text: String) {
        scalars = Array(text.unicodeScalars)
    }

    mutating func next() throws(SchemaFault) -> Token {
        try skipSpace()
        var token = Token(kind: .end, text: "", line: line, column: column)
        guard let first = peek() else { return token }
        if first == "\"" {
            token.kind = .quoted
            advance()
            while let scalar = peek(), scalar != "\"" {
                guard scalar != "\n" else { throw token.fault("the quoted name does not end in its line") }
                token.text.unicodeScalars.append(scalar)
                advance()
            }
            guard peek() != nil else { throw token.fault("the quoted name does not end") }
            advance()
        } else if Self.isLetter(first) || first == "_" {
            token.kind = .word
            while let scalar = peek(), Self.isLetter(scalar) || scalar == "_" || ("0"..."9").contains(scalar) {
                token.text.unicodeScalars.append(scalar)
                advance()
            }
        } else {
            token.kind = .sign
            token.text.unicodeScalars.append(first)
            advance()
            guard "(),;<>".unicodeScalars.contains(first) else { throw token.fault("\(token.shown) has no meaning here") }
        }
        return token
    }

    private mutating func skipSpace() throws(SchemaFault) {
        while let scalar = peek() {
            if scalar.properties.isWhitespace || scalar == "\u{FEFF}" {
                advance()
            } else if starts("//") || starts("--") {
                while let scalar = peek(), scalar != "\n", scalar != "\r" { _ = scalar; advance() }
            } else if starts("/*") {
                let start = (line, column)
                advance()
                advance()
                while !starts("*/") {
                    guard peek() != nil else {
                        throw SchemaFault(line: start.0, column: start.1, what: "the comment does not end")
                    }
                    advance()
                }
                advance()
                advance()
            } else {
                return
            }
        }
    }

    private func peek() -> Unicode.Scalar? { index < scalars.count ? scalars[index] : nil }

    private func starts(_ two: String) -> Bool {
        index + 1 < scalars.count && String(scalars[index]) + String(scalars[index + 1]) == two
    }

    private mutating func advance() {
        if scalars[index] == "\n" {
            line += 1
            column = 1
        } else {
            column += 1
        }
        index += 1
    }

    static func isLetter(_ scalar: Unicode.Scalar) -> Bool { ("a"..."z").contains(scalar) || ("A"..."Z").contains(scalar) }
}
