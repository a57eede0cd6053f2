// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Cuts Swift source into tokens, as far as finding declarations needs it: comments are left out, and literals are one
/// token each, interpolations included.
package struct SwiftLexer {
    private let bytes: [UInt8]
    private var position = 0
    private var line = 1
    private var startsLine = true
    private var tokens: [SwiftToken] = []

    /// - Returns: The tokens in order; the last one, and no other, is `.end`.
    package static func tokens(of text: String) -> [SwiftToken] {
        var lexer = SwiftLexer(text)
        lexer.run()
        return lexer.tokens
    }

    private init(_ text: String) { bytes = Array(text.utf8) }

    private mutating func run() {
        while position < bytes.count { step() }
        add(.end, from: position, lines: 0)
    }

    private mutating func step() {
        switch current {
        case UInt8(ascii: "\n"):
            line += 1
            startsLine = true
            position += 1
        case UInt8(ascii: " "), UInt8(ascii: "\t"), UInt8(ascii: "\r"): position += 1
        case UInt8(ascii: "/") where at(1) == UInt8(ascii: "/"):
            while position < bytes.count, current != UInt8(ascii: "\n") { position += 1 }
        case UInt8(ascii: "/") where at(1) == UInt8(ascii: "*"): skipComment()
        case UInt8(ascii: "/") where startsRegularExpression: regularExpression()
        case UInt8(ascii: "\""): literal()
        case UInt8(ascii: "#"): numberSign()
        case UInt8(ascii: "`"): quotedName()
        case UInt8(ascii: "-") where at(1) == UInt8(ascii: ">"): take(2, .mark)
        case UInt8(ascii: "0")...UInt8(ascii: "9"): number()
        case let byte where Self.isNamePart(byte): take(nameLength(from: position), .word)
        default: take(1, .mark)
        }
    }

    // MARK: Characters

    private var current: UInt8 { bytes[position] }
    private func at(_ offset: Int) -> UInt8 { byte(position + offset) }
    private func byte(_ index: Int) -> UInt8 { index < bytes.count ? bytes[index] : 0 }

    static func isNamePart(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"),
            UInt8(ascii: "_"), UInt8(ascii: "$"), 128...:
            true
        default: false
        }
    }

    private func nameLength(from start: Int) -> Int {
        var end = start
        while end < bytes.count, Self.isNamePart(bytes[end]) { end += 1 }
        return end - start
    }

    // MARK: Tokens

    private mutating func take(_ length: Int, _ kind: SwiftToken.Kind) {
        position += length
        add(kind, from: position - length, lines: 0)
    }

    private mutating func add(_ kind: SwiftToken.Kind, from start: Int, lines: Int, text: String? = nil) {
        let text = text ?? String(decoding: bytes[start..<position], as: UTF8.self)
        tokens.append(SwiftToken(kind: kind, text: text, range: start..<position, line: line, startsLine: startsLine))
        line += lines
        startsLine = false
    }

    private mutating func skipComment() {
        var depth = 0
        repeat {
            if current == UInt8(ascii: "/"), at(1) == UInt8(ascii: "*") {
                depth += 1
                position += 2
            } else if current == UInt8(ascii: "*"), at(1) == UInt8(ascii: "/") {
                depth -= 1
                position += 2
            } else {
                if current == UInt8(ascii: "\n") {
                    line += 1
                    startsLine = true
                }
                position += 1
            }
        } while depth > 0 && position < bytes.count
    }

    private mutating func quotedName() {
        let start = position
        position += 1
        while position < bytes.count, current != UInt8(ascii: "`"), current != UInt8(ascii: "\n") { position += 1 }
        let name = String(decoding: bytes[(start + 1)..<position], as: UTF8.self)
        if position < bytes.count, current == UInt8(ascii: "`") { position += 1 }
        add(.word, from: start, lines: 0, text: name)
    }

    private mutating func number() {
        let start = position
        while position < bytes.count {
            let isFraction = current == UInt8(ascii: ".") && (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(at(1))
            guard Self.isNamePart(current) || isFraction else { break }
            position += 1
        }
        add(.literal, from: start, lines: 0)
    }

    private mutating func numberSign() {
        var next = position
        while byte(next) == UInt8(ascii: "#") { next += 1 }
        if byte(next) == UInt8(ascii: "\"") { return literal() }
        if byte(next) == UInt8(ascii: "/") { return extendedRegularExpression(marks: next - position) }
        let length = nameLength(from: position + 1) + 1
        let name = String(decoding: bytes[position..<(position + length)], as: UTF8.self)
        guard ["#if", "#elseif", "#else", "#endif"].contains(name) else { return take(length, .word) }
        var end = position
        while end < bytes.count, bytes[end] != UInt8(ascii: "\n"), !(bytes[end] == UInt8(ascii: "/") && byte(end + 1) == UInt8(ascii: "/"))
        {
            end += 1
        }
        take(end - position, .directive)
    }

    // MARK: Literals

    private mutating func literal() {
        let start = position
        position = end(ofLiteralAt: start)
        add(.literal, from: start, lines: bytes[start..<position].count { $0 == UInt8(ascii: "\n") })
    }

    private func end(ofLiteralAt start: Int) -> Int {
        var index = start
        while byte(index) == UInt8(ascii: "#") { index += 1 }
        let marks = index - start
        let quote = UInt8(ascii: "\"")
        let isMultiline = byte(index) == quote && byte(index + 1) == quote && byte(index + 2) == quote
        index += isMultiline ? 3 : 1
        func hasMarks(_ position: Int) -> Bool { (0..<marks).allSatisfy { byte(position + $0) == UInt8(ascii: "#") } }
        while index < bytes.count {
            if bytes[index] == UInt8(ascii: "\\"), hasMarks(index + 1) {
                index += 1 + marks
                index = byte(index) == UInt8(ascii: "(") ? end(ofInterpolationAt: index) : index + 1
            } else if bytes[index] == quote, !isMultiline, hasMarks(index + 1) {
                return index + 1 + marks
            } else if bytes[index] == quote, isMultiline, byte(index + 1) == quote, byte(index + 2) == quote, hasMarks(index + 3) {
                return index + 3 + marks
            } else if !isMultiline, bytes[index] == UInt8(ascii: "\n") {
                // Not closed: the rest of the file is read all the same.
                return index
            } else {
                index += 1
            }
        }
        return bytes.count
    }

    private func end(ofInterpolationAt start: Int) -> Int {
        var depth = 0
        var index = start
        repeat {
            switch bytes[index] {
            case UInt8(ascii: "("): depth += 1
            case UInt8(ascii: ")"): depth -= 1
            case UInt8(ascii: "\""):
                index = end(ofLiteralAt: index)
                continue
            default: break
            }
            index += 1
        } while depth > 0 && index < bytes.count
        return index
    }

    /// A slash begins a regular expression where a value is expected, when it is closed on its line.
    private var startsRegularExpression: Bool {
        let next = at(1)
        guard next != UInt8(ascii: " "), next != UInt8(ascii: "\t"), next != UInt8(ascii: "\n"), next != 0 else { return false }
        guard let last = tokens.last else { return false }
        let isValueExpected =
            switch last.kind {
            case .mark: "(,=:[{!&|?;~+-*%<>".contains(last.text)
            case .word: ["return", "in", "case", "where", "if", "while", "try", "await", "else"].contains(last.text)
            case .literal, .directive, .end: false
            }
        return isValueExpected && end(ofRegularExpressionAt: position) != nil
    }

    private func end(ofRegularExpressionAt start: Int) -> Int? {
        var index = start + 1
        while index < bytes.count, bytes[index] != UInt8(ascii: "\n") {
            if bytes[index] == UInt8(ascii: "\\") {
                index += 2
            } else if bytes[index] == UInt8(ascii: "/") {
                return index + 1
            } else {
                index += 1
            }
        }
        return nil
    }

    private mutating func regularExpression() {
        let start = position
        position = end(ofRegularExpressionAt: start) ?? start + 1
        add(.literal, from: start, lines: 0)
    }

    private mutating func extendedRegularExpression(marks: Int) {
        let start = position
        position += marks + 1
        func isEnd(_ position: Int) -> Bool {
            byte(position) == UInt8(ascii: "/") && (1...marks).allSatisfy { byte(position + $0) == UInt8(ascii: "#") }
        }
        while position < bytes.count, !isEnd(position) { position += current == UInt8(ascii: "\\") ? 2 : 1 }
        position = min(bytes.count, position + marks + 1)
        add(.literal, from: start, lines: bytes[start..<position].count { $0 == UInt8(ascii: "\n") })
    }
}
