// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Finds what does not compile without Objective-C in one file.
package struct PortScan {
    let bytes: [UInt8]
    let tokens: [SwiftToken]
    var obstacles: [Obstacle] = []
    /// Overrides that stand in extensions, for edits that may need another file.
    var movable: [MovableOverride] = []

    /// - Parameter keepsAttributes: Whether the compiler is given access notes, so that `@objc` may stay.
    /// - Returns: In the order of the source; nil for a file with unbalanced brackets.
    package static func obstacles(in text: String, keepsAttributes: Bool) -> [Obstacle]? {
        PortScan(text, keepsAttributes: keepsAttributes)?.obstacles
    }

    /// - Returns: nil for a file with unbalanced brackets.
    init?(_ text: String, keepsAttributes: Bool) {
        self.init(text)
        guard isBalanced else { return nil }
        run(keepsAttributes: keepsAttributes)
        scanImports()
        scanOverrides()
        obstacles.sort { $0.line < $1.line }
    }

    /// The text with the edits of the obstacles that have one.
    package static func applying(_ obstacles: [Obstacle], to text: String) -> String {
        applying(obstacles.compactMap(\.edit), to: text)
    }

    /// The text with edits. One that lies within another is part of what that one moves, and is left out.
    static func applying(_ edits: [Obstacle.Edit], to text: String) -> String {
        var bytes = Array(text.utf8)
        let outer = edits.enumerated().filter { index, edit in
            !edits.enumerated().contains { other, around in
                other != index && !around.range.isEmpty && around.range != edit.range && around.range.lowerBound <= edit.range.lowerBound
                    && edit.range.upperBound <= around.range.upperBound && edit.range.count < around.range.count
                    && (!edit.range.isEmpty || edit.range.lowerBound > around.range.lowerBound)
            }
        }
        // From the end to the start; insertions at one place keep their order.
        for (_, edit) in outer.sorted(by: { ($0.element.range.lowerBound, $0.offset) > ($1.element.range.lowerBound, $1.offset) }) {
            bytes.replaceSubrange(edit.range, with: edit.text.utf8)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private init(_ text: String) {
        bytes = Array(text.utf8)
        tokens = SwiftLexer.tokens(of: text)
    }

    // MARK: Brackets

    /// Whether each bracket has its other half, in every branch of conditional compilation.
    private var isBalanced: Bool {
        var open: [String] = []
        var branches: [(before: [String], after: [String]?)] = []
        for token in tokens {
            switch token.kind {
            case .mark:
                switch token.text {
                case "(", "[", "{": open.append(token.text)
                case ")": if open.popLast() != "(" { return false }
                case "]": if open.popLast() != "[" { return false }
                case "}": if open.popLast() != "{" { return false }
                default: break
                }
            case .directive:
                if token.text.hasPrefix("#if") {
                    branches.append((open, nil))
                } else {
                    guard let branch = branches.last else { return false }
                    if let after = branch.after, after != open { return false }
                    branches[branches.count - 1].after = open
                    if token.text.hasPrefix("#endif") { branches.removeLast() } else { open = branch.before }
                }
            case .word, .literal, .end: break
            }
        }
        return open.isEmpty && branches.isEmpty
    }

    // MARK: Places

    private mutating func run(keepsAttributes: Bool) {
        /// Per open `#if`: whether the branch is compiled with Objective-C only.
        var isForObjectiveC: [Bool] = []
        for (index, token) in tokens.enumerated() {
            if token.kind == .directive {
                let isGuard = token.text.contains("canImport(ObjectiveC)") && !token.text.contains("!")
                switch token.text {
                case let text where text.hasPrefix("#if"): isForObjectiveC.append(isGuard)
                case let text where text.hasPrefix("#endif"): _ = isForObjectiveC.popLast()
                default: if !isForObjectiveC.isEmpty { isForObjectiveC[isForObjectiveC.count - 1] = false }
                }
                continue
            }
            if isForObjectiveC.contains(true) { continue }
            if token.kind == .literal { scanInterpolations(of: token) }
            if token.isWord("#keyPath") { addKeyPath(index) }
            if token.isWord("#selector"), let end = closing(index + 1), !addObserver(index, end) {
                add(.selector, index, to: end, edit: comparison(namedFrom: index + 2, to: end))
            }
            scanName(index)
            if token.isMark("@"), tokens[index + 1].isWord("objcMembers") { addAttribute(.members, index, to: index + 1) }
            if token.isMark("@"), tokens[index + 1].isWord("objc"), !keepsAttributes, !isBeforeEnum(index) {
                let hasName = tokens[index + 2].isMark("(") && !tokens[index + 2].startsLine
                addAttribute(.exposed, index, to: hasName ? closing(index + 2) ?? index + 1 : index + 1)
            }
            if token.isWord("optional"), tokens[index + 1].isWord("func") || tokens[index + 1].isWord("var") {
                add(.optionalRequirement, index, to: index + 1, edit: nil)
            }
            if token.isWord("as"), index + 2 < tokens.count, tokens[index + 1].isMark("!") || tokens[index + 1].isMark("?"),
                tokens[index + 2].isWord("NSFetchRequest")
            {
                addErasedRequest(index)
            }
        }
    }

    /// `Note.fetchRequest() as! NSFetchRequest<NSFetchRequestResult>` is a cast of the request that the class declares. Without
    /// the `!` it chooses the method of `NSManagedObject`, which returns that type, on Apple's platforms too.
    private mutating func addErasedRequest(_ index: Int) {
        let before = index > 3 ? tokens[(index - 3)..<index].map(\.text) : []
        let after = tokens[(index + 3)...].prefix(4).map(\.text).filter { $0 != "any" }.prefix(3)
        let isDeclared = before == ["fetchRequest", "(", ")"] && tokens[index - 4].isMark(".") && tokens[index + 1].isMark("!")
        guard isDeclared, Array(after) == ["<", "NSFetchRequestResult", ">"] else {
            return add(.erasedRequest, index, to: index + 2, edit: nil)
        }
        obstacles.append(
            Obstacle(
                kind: .erasedRequest, line: tokens[index].line, text: "as! NSFetchRequest",
                edit: Obstacle.Edit(range: tokens[index + 1].range, text: "")))
    }

    /// Enumerations may keep `@objc`: the compiler accepts it everywhere.
    private func isBeforeEnum(_ index: Int) -> Bool {
        var next = tokens[index + 2].isMark("(") ? (closing(index + 2) ?? index) + 1 : index + 2
        while next < tokens.count,
            ["public", "open", "internal", "private", "fileprivate", "package", "indirect"].contains(tokens[next].text)
        {
            next += 1
        }
        return next < tokens.count && tokens[next].isWord("enum")
    }

    /// The index of the bracket that closes the one at `start`.
    func closing(_ start: Int) -> Int? {
        guard start < tokens.count, tokens[start].isMark("(") || tokens[start].isMark("{") else { return nil }
        let (open, close) = tokens[start].isMark("(") ? ("(", ")") : ("{", "}")
        var depth = 0
        for index in start..<tokens.count {
            if tokens[index].isMark(open) { depth += 1 }
            if tokens[index].isMark(close) { depth -= 1 }
            if depth == 0 { return index }
        }
        return nil
    }

    func text(_ range: Range<Int>) -> String { String(decoding: bytes[range], as: UTF8.self) }

    mutating func add(_ kind: Obstacle.Kind, _ first: Int, to last: Int, edit: String?) {
        let range = tokens[first].range.lowerBound..<tokens[last].range.upperBound
        obstacles.append(
            Obstacle(
                kind: kind, line: tokens[first].line, text: String(decoding: bytes[range], as: UTF8.self),
                edit: edit.map { Obstacle.Edit(range: range, text: $0) }))
    }

    /// `#keyPath(Post.author.name)` is the name `author.name`: types begin with a capital, properties do not.
    private mutating func addKeyPath(_ index: Int) {
        guard let end = closing(index + 1) else { return }
        let names = tokens[(index + 2)..<end].filter { $0.kind == .word }.map(\.text)
        let properties = names.drop { $0.first?.isUppercase == true || $0 == "self" }
        add(.keyPath, index, to: end, edit: properties.isEmpty ? nil : "\"\(properties.joined(separator: "."))\"")
    }

    /// The comparison of a sort descriptor, such as `NSString.localizedStandardCompare(_:)`, as a selector by name. The second
    /// pair of parentheses keeps compilers that have `#selector` from asking for it.
    ///
    /// - Returns: nil for other methods, which nothing finds by name.
    private func comparison(namedFrom start: Int, to end: Int) -> String? {
        let words = tokens[start..<end].prefix { !$0.isMark("(") }.filter { $0.kind == .word }.map(\.text)
        guard words.count == 2, ["NSString", "NSNumber", "NSDate"].contains(words[0]), Self.comparisons.contains(words[1]) else {
            return nil
        }
        return "Selector((\"\(words[1]):\"))"
    }

    private static let comparisons: Set<String> = [
        "compare", "caseInsensitiveCompare", "localizedCompare", "localizedCaseInsensitiveCompare", "localizedStandardCompare",
    ]

    /// The attribute, with conditions around it. What follows it begins a line of its own.
    private mutating func addAttribute(_ kind: Obstacle.Kind, _ first: Int, to last: Int) {
        let start = tokens[first].range.lowerBound
        let end = tokens[last].range.upperBound
        let text = String(decoding: bytes[start..<end], as: UTF8.self)
        let lineStart = bytes[..<start].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
        let before = String(decoding: bytes[lineStart..<start], as: UTF8.self)
        let isAlone = tokens[first].startsLine && before.allSatisfy(\.isWhitespace)
        let indent = String(before.prefix { $0.isWhitespace })
        var tail = end
        while tail < bytes.count, bytes[tail] == UInt8(ascii: " ") { tail += 1 }
        let endsLine = tail < bytes.count && bytes[tail] == UInt8(ascii: "\n")
        let opening = isAlone ? "#if canImport(ObjectiveC)\n\(indent)" : "\n\(indent)#if canImport(ObjectiveC)\n\(indent)"
        let replacement = opening + "\(text)\n\(indent)#endif" + (endsLine ? "" : "\n\(indent)")
        obstacles.append(
            Obstacle(kind: kind, line: tokens[first].line, text: text, edit: Obstacle.Edit(range: start..<tail, text: replacement)))
    }

    /// Interpolations may contain key paths.
    private mutating func scanInterpolations(of literal: SwiftToken) {
        guard literal.text.contains("\\"), literal.text.contains("#keyPath(") else { return }
        let start = literal.range.lowerBound
        let inner = Array(literal.text.utf8)
        let needle = Array("\\(#keyPath(".utf8)
        guard inner.count > needle.count else { return }
        for offset in 0...(inner.count - needle.count) where inner[offset..<(offset + needle.count)].elementsEqual(needle) {
            guard let close = inner[offset...].firstIndex(of: UInt8(ascii: ")")) else { return }
            let names = String(decoding: inner[(offset + needle.count)..<close], as: UTF8.self).split(separator: ".")
            let properties = names.drop { $0.first?.isUppercase == true || $0 == "self" }
            let range = (start + offset + 2)..<(start + close + 1)
            let line = literal.line + inner[..<offset].count { $0 == UInt8(ascii: "\n") }
            obstacles.append(
                Obstacle(
                    kind: .keyPath, line: line, text: String(decoding: bytes[range], as: UTF8.self),
                    edit: properties.isEmpty ? nil : Obstacle.Edit(range: range, text: "\"\(properties.joined(separator: "."))\"")))
        }
    }
}
