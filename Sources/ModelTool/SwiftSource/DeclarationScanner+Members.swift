// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension DeclarationScanner {
    mutating func scanProperties(_ prefix: Prefix, _ scope: [String], _ access: SourceIndex.Access) {
        let isVariable = current.isWord("var")
        var names: [String] = []
        repeat {
            advance()
            let name = current.text
            names.append(name)
            let line = current.line
            advance()
            var type: TypeSyntax?
            var text = ""
            if current.isMark(":") {
                advance()
                let start = position
                type = scanTypeSyntax()
                text = source(from: start)
            }
            if prefix.isExposed { index.exposed.append(SourceIndex.Exposed(name: dotted(scope, name), file: file, line: line)) }
            if prefix.isManaged { note(name, .property(type, text: text), prefix, scope, access, line: line) }
            if current.isMark("=") {
                advance()
                skipValue()
            }
        } while current.isMark(",")
        let start = position
        if current.isMark("{") { skipBrackets() }
        guard prefix.isExposed, !prefix.isManaged, let access = keyedAccess(prefix, scope, access) else { return }
        let accessors = accessors(from: start)
        guard accessors.isPlain else { return }
        for name in names {
            index.keyed.append(
                SourceIndex.KeyedProperty(
                    name: name, key: prefix.selector ?? name,
                    isSettable: isVariable && accessors.isSettable && !access.hidesSetter, scope: scope, conditions: declarationConditions,
                    file: file))
        }
    }

    /// - Returns: nil for what key-value coding of objects does not reach, or another file cannot read.
    private func keyedAccess(
        _ prefix: Prefix, _ scope: [String], _ access: SourceIndex.Access
    ) -> (level: SourceIndex.Access, hidesSetter: Bool)? {
        let level = prefix.access ?? access
        guard !scope.isEmpty, !level.isHidden, !isIsolated, !prefix.isIsolated,
            prefix.modifiers.isDisjoint(with: ["static", "class", "weak", "unowned"])
        else { return nil }
        return (level, prefix.modifiers.contains("private(set)") || prefix.modifiers.contains("fileprivate(set)"))
    }

    /// Parses a property's accessor block, if it has one.
    private func accessors(from start: Int) -> (isSettable: Bool, isPlain: Bool) {
        guard start < position, tokens[start].isMark("{") else { return (true, true) }
        var depth = 0
        var words: [String] = []
        for token in tokens[start..<position] {
            if token.isMark("{") { depth += 1 }
            if token.isMark("}") { depth -= 1 }
            if depth == 1, token.kind == .word { words.append(token.text) }
        }
        let isObserved = words.contains("didSet") || words.contains("willSet")
        let hasGetter =
            words.first { $0 != "mutating" && $0 != "nonmutating" }.map { ["get", "set", "_read", "_modify"].contains($0) } ?? false
        let isPlain = !hasGetter || !(words.contains("async") || words.contains("throws"))
        return (isObserved || (hasGetter && (words.contains("set") || words.contains("_modify"))), isPlain)
    }

    mutating func scanMethod(_ prefix: Prefix, _ scope: [String], _ access: SourceIndex.Access) {
        advance()
        let line = current.line
        var name = current.text
        advance()
        // The rest of an operator's name.
        while current.kind == .mark, !current.isMark("("), !current.isMark("<") {
            name += current.text
            advance()
        }
        if current.isMark("<") { skipBrackets() }
        let parameters = scanParameters()
        while ["async", "throws", "rethrows"].contains(current.text) {
            advance()
            if current.isMark("(") { skipBrackets() }
        }
        var result: TypeSyntax?
        if current.isMark("->") {
            advance()
            result = scanTypeSyntax()
        }
        if prefix.isExposed { expose(name, parameters.map(\.label), scope, line) }
        if prefix.isManaged { note(name, .method(parameters, result: result), prefix, scope, access, line: line) }
        skipWhereClause()
        if current.isMark("{") { skipBrackets() }
    }

    mutating func scanInitialiser(_ prefix: Prefix, _ scope: [String]) {
        let isInitialiser = current.isWord("init")
        let line = current.line
        advance()
        if current.isMark("?") || current.isMark("!") { advance() }
        if current.isMark("<") { skipBrackets() }
        let parameters = scanParameters()
        if isInitialiser, prefix.isExposed { expose("init", parameters.map(\.label), scope, line) }
        while !isAtEnd, !current.isMark("{"), !current.startsLine { advance() }
        if current.isMark("{") { skipBrackets() }
    }

    private mutating func scanParameters() -> [SourceIndex.Parameter] {
        guard current.isMark("(") else { return [] }
        var parameters: [SourceIndex.Parameter] = []
        advance()
        while !isAtEnd, !current.isMark(")") {
            skipAttributes()
            let label = current.text
            advance()
            if current.kind == .word { advance() }
            if current.isMark(":") { advance() }
            parameters.append(SourceIndex.Parameter(label: label == "_" ? nil : label, type: scanTypeSyntax()))
            if current.isMark("=") {
                advance()
                skipValue()
            }
            // Unknown tokens must not stop the scanner.
            while !isAtEnd, !current.isMark(","), !current.isMark(")") { advance() }
            if current.isMark(",") { advance() }
        }
        advance()
        return parameters
    }

    private mutating func skipWhereClause() {
        guard current.isWord("where") else { return }
        while !isAtEnd, !current.isMark("{"), !current.isMark("}") { advance() }
    }

    private mutating func expose(_ name: String, _ labels: [String?], _ scope: [String], _ line: Int) {
        let list = labels.map { ($0 ?? "_") + ":" }.joined()
        index.exposed.append(SourceIndex.Exposed(name: dotted(scope, "\(name)(\(list))"), file: file, line: line))
    }

    private mutating func note(
        _ name: String, _ kind: SourceIndex.ManagedMember.Kind, _ prefix: Prefix, _ scope: [String],
        _ access: SourceIndex.Access, line: Int
    ) {
        index.members.append(
            SourceIndex.ManagedMember(
                name: name, kind: kind, access: prefix.access ?? access,
                hasOwnSetterAccess: prefix.modifiers.contains { $0.hasSuffix("(set)") },
                isOverride: prefix.modifiers.contains("override"), selector: prefix.selector, scope: scope,
                conditions: declarationConditions,
                file: file, line: line))
    }

    /// The text of the tokens since `start`.
    private func source(from start: Int) -> String {
        tokens[start..<position].filter { $0.kind != .directive }.map(\.text).joined()
    }

    mutating func skipAttributes() {
        while current.isMark("@") {
            advance()
            advance()
            if current.isMark("(") { skipBrackets() }
        }
    }
}
