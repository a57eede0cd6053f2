// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Collects the declarations in one file's tokens. Bodies are skipped.
struct DeclarationScanner {
    let tokens: [SwiftToken]
    let file: String
    var index: SourceIndex
    var position = 0
    /// Conditions of the `#if`s around the current token.
    private var conditions: [String] = []
    /// Those around the declaration that is being read. Its last token may be followed by the end of one.
    private(set) var declarationConditions: [String] = []
    /// Whether the types around the declaration belong to a global actor.
    private(set) var isIsolated = false

    /// What stands in front of a declaration.
    struct Prefix {
        var modifiers: Set<String> = []
        var isManaged = false
        var isExposed = false
        var isTestable = false
        /// Whether a global actor is named.
        var isIsolated = false
        var selector: String?

        var access: SourceIndex.Access? { modifiers.lazy.compactMap { SourceIndex.Access($0) }.first }
    }

    init(_ tokens: [SwiftToken], file: String, index: SourceIndex) {
        self.tokens = tokens
        self.file = file
        self.index = index
    }

    mutating func run() {
        readDirectives()
        scanMembers(of: [], access: .internal)
    }

    // MARK: Tokens

    var current: SwiftToken { tokens[position] }
    var following: SwiftToken { tokens[min(position + 1, tokens.count - 1)] }
    var isAtEnd: Bool { current.kind == .end }

    mutating func advance() {
        if position < tokens.count - 1 { position += 1 }
        readDirectives()
    }

    private mutating func readDirectives() {
        while current.kind == .directive {
            let text = current.text
            func condition(_ keyword: String) -> String {
                var rest = text.dropFirst(keyword.count)
                while let first = rest.first, first.isWhitespace { rest.removeFirst() }
                while let last = rest.last, last.isWhitespace { rest.removeLast() }
                return String(rest)
            }
            if text.hasPrefix("#if") {
                conditions.append(condition("#if"))
            } else if text.hasPrefix("#elseif") {
                if let before = conditions.popLast() { conditions.append("!(\(before)) && (\(condition("#elseif")))") }
            } else if text.hasPrefix("#else") {
                if let before = conditions.popLast() { conditions.append("!(\(before))") }
            } else {
                _ = conditions.popLast()
            }
            position += 1
        }
    }

    /// Skips brackets and their content.
    mutating func skipBrackets() {
        let open = current.text
        let close = ["(": ")", "[": "]", "{": "}", "<": ">"][open]
        var depth = 0
        repeat {
            if current.isMark(open) { depth += 1 }
            if let close, current.isMark(close) { depth -= 1 }
            advance()
        } while depth > 0 && !isAtEnd
    }

    /// Skips an initial value, up to a comma or the end of the statement.
    mutating func skipValue() {
        var isFirst = true
        while !isAtEnd {
            let goesOn = current.isMark(".") || current.isMark("?") || current.isMark(":")
            if !isFirst, current.startsLine, !goesOn { return }
            if current.isMark("(") || current.isMark("[") || current.isMark("{") {
                skipBrackets()
            } else if current.isMark(",") || current.isMark(")") || current.isMark("}") || current.isMark(";") {
                return
            } else {
                advance()
            }
            isFirst = false
        }
    }

    func dotted(_ scope: [String], _ name: String) -> String { (scope + [name]).joined(separator: ".") }

    // MARK: Declarations

    /// Reads to the bracket that closes the type, or to the end of the file.
    private mutating func scanMembers(of scope: [String], access: SourceIndex.Access) {
        var prefix = Prefix()
        while !isAtEnd {
            if current.kind == .mark {
                if current.isMark("}"), !scope.isEmpty { return }
                if current.isMark("@") {
                    scanAttribute(&prefix)
                } else if current.isMark("{") || current.isMark("(") || current.isMark("[") {
                    skipBrackets()
                    prefix = Prefix()
                } else {
                    advance()
                }
            } else if current.kind == .word {
                scanWord(&prefix, scope, access)
            } else {
                advance()
            }
        }
    }

    private mutating func scanAttribute(_ prefix: inout Prefix) {
        advance()
        let name = current.text
        advance()
        if name == "NSManaged" { prefix.isManaged = true }
        if name == "objc" { prefix.isExposed = true }
        if name == "testable" { prefix.isTestable = true }
        if name.hasSuffix("Actor") { prefix.isIsolated = true }
        guard current.isMark("("), !current.startsLine else { return }
        let start = position
        skipBrackets()
        if name == "objc" {
            // The end of an `#if` may stand behind the bracket.
            prefix.selector = tokens[(start + 1)..<position].filter { $0.kind != .directive }.dropLast().map(\.text).joined()
        }
    }

    private mutating func scanWord(_ prefix: inout Prefix, _ scope: [String], _ access: SourceIndex.Access) {
        declarationConditions = conditions
        switch current.text {
        case "import" where scope.isEmpty: scanImport(prefix)
        case "class" where isModifier(following):
            prefix.modifiers.insert("class")
            advance()
            return
        case "class", "struct", "enum", "protocol", "extension", "actor":
            guard following.kind == .word else { return advance() }
            scanType(prefix, scope, access)
        case "typealias": scanAlias(scope)
        case "var", "let": scanProperties(prefix, scope, access)
        case "func": scanMethod(prefix, scope, access)
        case "init", "subscript", "deinit": scanInitialiser(prefix, scope)
        case let word where Self.modifiers.contains(word):
            advance()
            guard current.isMark("("), !current.startsLine else {
                prefix.modifiers.insert(word)
                return
            }
            prefix.modifiers.insert("\(word)(\(following.text))")
            return skipBrackets()
        default: advance()
        }
        prefix = Prefix()
    }

    private func isModifier(_ token: SwiftToken) -> Bool {
        token.kind == .word && (Self.modifiers.contains(token.text) || ["func", "var", "let", "subscript"].contains(token.text))
    }

    private static let modifiers: Set<String> = [
        "public", "private", "fileprivate", "internal", "open", "package", "static", "final", "dynamic", "override", "lazy", "weak",
        "unowned", "required", "convenience", "nonisolated", "mutating", "nonmutating", "optional", "indirect", "prefix", "postfix",
        "infix", "isolated", "distributed", "consuming", "borrowing", "async", "unsafe", "class",
    ]

    private mutating func scanImport(_ prefix: Prefix) {
        advance()
        if ["struct", "class", "enum", "func", "protocol", "typealias", "var", "let"].contains(current.text) { advance() }
        index.imports.append(
            SourceIndex.Import(
                module: current.text, conditions: declarationConditions, isPublic: prefix.access == .public, isTestable: prefix.isTestable,
                file: file))
        advance()
        while current.isMark("."), !current.startsLine {
            advance()
            advance()
        }
    }

    private mutating func scanType(_ prefix: Prefix, _ scope: [String], _ access: SourceIndex.Access) {
        let keyword = current.text
        let line = current.line
        advance()
        var names = [current.text]
        advance()
        while current.isMark(".") {
            advance()
            names.append(current.text)
            advance()
        }
        let path = keyword == "extension" ? names : scope + names
        let own = prefix.access
        let kind: SourceIndex.TypeDeclaration.Kind? =
            switch keyword {
            case "class", "actor": .class
            case "struct": .struct
            case "enum": .enum
            case "protocol": .protocol
            default: nil
            }
        let name = path.joined(separator: ".")
        let inherits = scanInheritance()
        if let kind {
            index.types[name] = SourceIndex.TypeDeclaration(
                kind: kind, access: own ?? access, file: file, line: line, inherits: inherits, exposedName: prefix.selector,
                conditions: declarationConditions)
        }
        if prefix.isExposed, kind != .enum { index.exposed.append(SourceIndex.Exposed(name: name, file: file, line: line)) }
        while !isAtEnd, !current.isMark("{") {
            if current.isMark("(") || current.isMark("[") { skipBrackets() } else { advance() }
        }
        guard current.isMark("{") else { return }
        advance()
        let isOuterIsolated = isIsolated
        isIsolated = isOuterIsolated || prefix.isIsolated || index.isolated.contains(name)
        if isIsolated { index.isolated.insert(name) }
        defer { isIsolated = isOuterIsolated }
        scanMembers(of: path, access: kind == nil ? own ?? .internal : .internal)
        if current.isMark("}") { advance() }
    }

    /// Returns the names after the colon of a type's declaration. The current token follows the type's name.
    private mutating func scanInheritance() -> [String] {
        if current.isMark("<") { skipBrackets() }
        guard current.isMark(":") else { return [] }
        var names: [String] = []
        repeat {
            advance()
            if case .named(let components) = scanTypeSyntax() { names.append(components.map(\.name).joined(separator: ".")) }
        } while current.isMark(",")
        return names
    }

    private mutating func scanAlias(_ scope: [String]) {
        advance()
        let name = current.text
        advance()
        if current.isMark("<") { skipBrackets() }
        guard current.isMark("=") else { return }
        advance()
        index.aliases[dotted(scope, name)] = SourceIndex.Alias(type: scanTypeSyntax(), scope: scope)
    }
}
