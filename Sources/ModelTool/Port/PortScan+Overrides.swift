// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// An override that stands in an extension, which compiles with the Objective-C runtime only.
struct MovableOverride {
    /// The extended type, with dots.
    var type: String
    /// The place among the file's obstacles, by its line.
    var line: Int
    /// The declaration with the comments and attributes in front of it, and its line breaks.
    var range: Range<Int>
    var text: String
    /// Names that other files cannot see and that the declaration uses.
    var hiddenNames: [String]
    var isConditional: Bool
    /// Where the extension starts, with the comments in front of it.
    var extensionStart: Int
    /// Where `override` stands in the text, if the declaration has no access level; nil if it has one.
    var accessOffset: Int?
}

extension MovableOverride {
    /// The declaration in a public class: its overrides are public.
    var publicText: String {
        let text = text.hasSuffix("\n") ? text : text + "\n"
        guard let accessOffset else { return text }
        let utf8 = Array(text.utf8)
        return String(decoding: utf8[..<accessOffset] + Array("public ".utf8) + utf8[accessOffset...], as: UTF8.self)
    }
}

extension PortScan {
    /// Finds overrides that stand directly in extensions.
    mutating func scanOverrides() {
        for (index, token) in tokens.enumerated() where token.isWord("extension") && (index == 0 || !tokens[index - 1].isMark(".")) {
            guard index + 2 < tokens.count, tokens[index + 1].kind == .word,
                let open = (index..<tokens.count).first(where: { tokens[$0].isMark("{") }), let close = closing(open)
            else { continue }
            var name = tokens[index + 1].text
            var next = index + 2
            while next + 1 < open, tokens[next].isMark(".") {
                name += "." + tokens[next + 1].text
                next += 2
            }
            let access = index > 0 && ["public", "open", "package"].contains(tokens[index - 1].text) ? tokens[index - 1].text : nil
            let first = access == nil ? index : index - 1
            scanOverrides(of: name, open + 1, close, access, leadingComments(before: tokens[first].range.lowerBound))
        }
    }

    private mutating func scanOverrides(of type: String, _ start: Int, _ close: Int, _ access: String?, _ extensionStart: Int) {
        var index = start
        while index < close {
            if tokens[index].isMark("{") || tokens[index].isMark("(") {
                index = (closing(index) ?? index) + 1
                continue
            }
            guard tokens[index].isWord("override") else {
                index += 1
                continue
            }
            var first = index
            while first > start, isModifier(first - 1) { first -= 1 }
            guard let body = (index..<close).first(where: { tokens[$0].isMark("{") }), let last = closing(body) else { return }
            // Not the modifiers of the declaration before: they'd stand behind its bracket.
            let lower = leadingComments(before: tokens[first].range.lowerBound)
            var upper = tokens[last].range.upperBound
            if upper < bytes.count, bytes[upper] == UInt8(ascii: "\n") { upper += 1 }
            var text = self.text(lower..<upper)
            let hasAccess = (first..<body).contains { ["public", "open", "package", "internal"].contains(tokens[$0].text) }
            let offset = tokens[index].range.lowerBound - lower
            if let access, !hasAccess {
                var utf8 = Array(text.utf8)
                utf8.insert(contentsOf: Array("\(access) ".utf8), at: offset)
                text = String(decoding: utf8, as: UTF8.self)
            }
            let words = Set(tokens[first...last].filter { $0.kind == .word }.map(\.text))
            let signature = tokens[index...body].map(\.text).joined(separator: " ")
            obstacles.append(
                Obstacle(kind: .overrideInExtension, line: tokens[index].line, text: "\(type): \(signature.dropLast(2))"))
            movable.append(
                MovableOverride(
                    type: type, line: tokens[index].line, range: lower..<upper, text: text,
                    hiddenNames: hiddenNames.intersection(words).sorted(),
                    isConditional: conditionDepth(at: index) > 0 || (first...last).contains { tokens[$0].kind == .directive },
                    extensionStart: extensionStart, accessOffset: hasAccess || access != nil ? nil : offset))
            index = last + 1
        }
    }

    /// Whether the token belongs to the attributes and modifiers of a declaration.
    private func isModifier(_ index: Int) -> Bool {
        let token = tokens[index]
        let modifiers: Set<String> = ["public", "open", "internal", "package", "final", "class", "static", "nonisolated", "dynamic"]
        if token.kind == .word, modifiers.contains(token.text) { return true }
        if token.kind == .word, index > 0, tokens[index - 1].isMark("@") { return true }
        return token.isMark("@")
    }

    /// The start of the line, or of the comment lines above it.
    private func leadingComments(before position: Int) -> Int {
        func lineStart(_ position: Int) -> Int { bytes[..<position].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0 }
        var start = lineStart(position)
        guard text(start..<position).allSatisfy(\.isWhitespace) else { return position }
        while start > 0 {
            let before = lineStart(start - 1)
            guard text(before..<start).drop(while: \.isWhitespace).hasPrefix("//") else { break }
            start = before
        }
        return start
    }

    /// Names that are private to the file.
    private var hiddenNames: Set<String> {
        var names: Set<String> = []
        for (index, token) in tokens.enumerated() where token.isWord("private") || token.isWord("fileprivate") {
            var next = index + 1
            while next < tokens.count, !["func", "var", "let", "class", "struct", "enum", "typealias"].contains(tokens[next].text),
                next < index + 6
            {
                next += 1
            }
            if next + 1 < tokens.count { names.insert(tokens[next + 1].text) }
        }
        return names
    }

    /// Where the body of a class ends, if this file declares the class: the position of its closing bracket.
    func classEnd(_ name: String) -> Int? {
        let last = String(name.split(separator: ".").last ?? "")
        for (index, token) in tokens.enumerated()
        where token.isWord("class") && index + 1 < tokens.count && tokens[index + 1].isWord(last) && conditionDepth(at: index) == 0 {
            guard let open = (index..<tokens.count).first(where: { tokens[$0].isMark("{") }), let close = closing(open) else { return nil }
            return tokens[close].range.lowerBound
        }
        return nil
    }
}
