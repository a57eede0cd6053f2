// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension DeclarationScanner {
    mutating func scanTypeSyntax() -> TypeSyntax {
        skipAttributes()
        while Self.specifiers.contains(current.text), following.kind == .word || following.isMark("(") || following.isMark("@") {
            advance()
            skipAttributes()
        }
        var type: TypeSyntax
        if current.isMark("[") {
            type = scanCollection()
        } else if current.isMark("(") {
            type = scanTuple()
        } else {
            type = scanNamed()
        }
        while current.isMark("?") || current.isMark("!"), !current.startsLine {
            type = .optional(type)
            advance()
        }
        if current.isMark("->") || ((current.isWord("throws") || current.isWord("async")) && following.isMark("->")) {
            while !isAtEnd, !current.isMark("->") { advance() }
            advance()
            _ = scanTypeSyntax()
            return .other("a function")
        }
        guard current.isMark("&") else { return type }
        while current.isMark("&") {
            advance()
            _ = scanTypeSyntax()
        }
        return .other("a composition of protocols")
    }

    private static let specifiers: Set<String> = ["any", "some", "inout", "__owned", "borrowing", "consuming", "sending"]

    private mutating func scanCollection() -> TypeSyntax {
        advance()
        let first = scanTypeSyntax()
        var type = TypeSyntax.array(first)
        if current.isMark(":") {
            advance()
            type = .dictionary(key: first, value: scanTypeSyntax())
        }
        if current.isMark("]") { advance() }
        return type
    }

    private mutating func scanTuple() -> TypeSyntax {
        advance()
        var elements: [TypeSyntax] = []
        while !isAtEnd, !current.isMark(")") {
            let start = position
            if following.isMark(":") {
                advance()
                advance()
            }
            elements.append(scanTypeSyntax())
            if current.isMark(",") { advance() }
            if position == start { advance() }
        }
        advance()
        return elements.count == 1 ? elements[0] : .tuple(elements)
    }

    private mutating func scanNamed() -> TypeSyntax {
        var components: [TypeSyntax.Component] = []
        while true {
            var component = TypeSyntax.Component(name: current.text, arguments: [])
            if current.kind == .word { advance() }
            if current.isMark("<") {
                advance()
                while !isAtEnd, !current.isMark(">") {
                    let start = position
                    component.arguments.append(scanTypeSyntax())
                    if current.isMark(",") { advance() }
                    if position == start { advance() }
                }
                advance()
            }
            components.append(component)
            guard current.isMark("."), following.kind == .word else { return .named(components) }
            advance()
        }
    }
}
