// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// A list of documented declarations (`Tests/Surface/*.txt`), one declaration per line, members indented below their type.
///
/// ```text
/// class CKAsset: NSObject, any NSSecureCoding      a type with its superclass and protocols
///   init(fileURL: URL)                             members, with parameter labels and types
///   var fileURL: URL?                              `{ set }` at the end marks a settable property
///   block progressBlock: (Double)                  a settable, optional closure that returns nothing
///   static let name: String = "value"              a constant and its documented value
///   case first = 1                                 a case and its raw value, or its payload in parentheses
///   alias ID = String
///   absent member                                  not declared here; the ledger has to say so
/// let CKName: String = "value"                     a global constant
/// ```
///
/// `deprecated` before a declaration keeps its uses inside deprecated functions, where the compiler doesn't warn.
struct SurfaceList {
    struct Member: Equatable {
        enum Kind: Equatable {
            case initializer(failable: Bool, [Parameter], effects: String)
            case function(name: String, isStatic: Bool, [Parameter], effects: String, result: String)
            case property(name: String, isStatic: Bool, type: String, isSettable: Bool)
            case block(name: String, [String])
            case `subscript`(key: String, value: String, isSettable: Bool)
            case `case`(name: String, payload: [Parameter])
            case alias(name: String, type: String)
        }
        var kind: Kind
        /// The literal after `=`: a number or a text in quotation marks.
        var value: String?
        var isDeprecated = false
    }

    struct Parameter: Equatable {
        var label: String?
        var type: String
        var hasDefault = false
    }

    struct TypeEntry: Equatable {
        enum Kind: String { case `class`, `struct`, `enum`, `protocol`, `extension` }
        var kind: Kind
        var name: String
        var conformances: [String] = []
        var isDeprecated = false
        var members: [Member] = []
    }

    /// A line that isn't a declaration of this format.
    struct Malformed: Error, Equatable {
        var line: Int
        var text: String
    }

    var types: [TypeEntry] = []
    var globals: [Member] = []
    /// Names of declarations that are not there, qualified by their type.
    var absent: [String] = []

    init(_ text: String) throws(Malformed) {
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let isMember = line.hasPrefix("  ")
            var words = line.trimmingCharacters(in: .whitespaces)
            if words.isEmpty || words.hasPrefix("#") { continue }
            let malformed = Malformed(line: index + 1, text: words)
            let isDeprecated = words.dropKeyword("deprecated")
            if words.dropKeyword("absent") {
                absent.append(isMember ? (types.last.map { $0.name + "." } ?? "") + words : words)
            } else if isMember {
                guard let member = Member(words, isDeprecated: isDeprecated), !types.isEmpty else { throw malformed }
                types[types.count - 1].members.append(member)
            } else if words.hasPrefix("let ") {
                guard let member = Member("static " + words, isDeprecated: isDeprecated) else { throw malformed }
                globals.append(member)
            } else {
                let keyword = words.prefix { $0 != " " }
                guard let kind = TypeEntry.Kind(rawValue: String(keyword)) else { throw malformed }
                let parts = words.dropFirst(keyword.count + 1).splitOnce(":")
                guard !parts.0.isEmpty else { throw malformed }
                types.append(
                    TypeEntry(
                        kind: kind, name: parts.0, conformances: parts.1.map { $0.splitAtTopLevel() } ?? [], isDeprecated: isDeprecated))
            }
        }
    }
}

extension SurfaceList.Member {
    /// Parses one member; nil if it isn't a declaration of the list's format.
    init?(_ text: String, isDeprecated: Bool) {
        self.isDeprecated = isDeprecated
        var text = text
        let isStatic = text.dropKeyword("static")
        if text.hasPrefix("init(") || text.hasPrefix("init?(") {
            guard let (_, inside, after) = text.parenthesized() else { return nil }
            kind = .initializer(failable: text.hasPrefix("init?"), SurfaceList.parameters(inside), effects: after)
        } else if text.dropKeyword("func") {
            guard let (name, inside, after) = text.parenthesized() else { return nil }
            let ends = after.splitOnce("->")
            kind = .function(
                name: name, isStatic: isStatic, SurfaceList.parameters(inside), effects: ends.0, result: ends.1 ?? "Void")
        } else if text.dropKeyword("block") {
            let parts = text.splitOnce(":")
            guard let type = parts.1, let (_, inside, _) = type.parenthesized() else { return nil }
            kind = .block(name: parts.0, inside.splitAtTopLevel())
        } else if text.hasPrefix("subscript(") {
            guard let (_, key, after) = text.parenthesized(), let value = after.splitOnce("->").1 else { return nil }
            kind = .subscript(key: key, value: value.withoutSet, isSettable: value.hasSuffix("{ set }"))
        } else if text.dropKeyword("case") {
            let parts = text.splitOnce("=")
            value = parts.1
            if let (name, inside, _) = parts.0.parenthesized() {
                kind = .case(name: name, payload: SurfaceList.payload(inside))
            } else {
                kind = .case(name: parts.0, payload: [])
            }
        } else if text.dropKeyword("alias") {
            let parts = text.splitOnce("=")
            guard let type = parts.1 else { return nil }
            kind = .alias(name: parts.0, type: type)
        } else if text.dropKeyword("var") || text.dropKeyword("let") {
            let parts = text.splitOnce(":")
            guard let rest = parts.1 else { return nil }
            let ends = rest.splitOnce(" = ")
            value = ends.1
            kind = .property(
                name: parts.0, isStatic: isStatic, type: ends.0.withoutSet, isSettable: ends.0.hasSuffix("{ set }"))
        } else {
            return nil
        }
    }
}

extension SurfaceList {
    fileprivate static func parameters(_ text: String) -> [Parameter] {
        text.splitAtTopLevel().map { part in
            let ends = part.splitOnce(":")
            let type = (ends.1 ?? part).splitOnce(" = ")
            return Parameter(
                label: ends.1 == nil || ends.0 == "_" ? nil : ends.0, type: type.0, hasDefault: type.1 != nil)
        }
    }

    /// Associated values have a label only where the list shows one; a dictionary's colon is not one.
    fileprivate static func payload(_ text: String) -> [Parameter] {
        text.splitAtTopLevel().map { part in
            part.hasPrefix("[") || !part.contains(":") ? Parameter(label: nil, type: part) : parameters(part)[0]
        }
    }
}

extension String {
    fileprivate mutating func dropKeyword(_ word: String) -> Bool {
        guard hasPrefix(word + " ") else { return false }
        self = String(dropFirst(word.count + 1))
        return true
    }

    fileprivate var withoutSet: String { hasSuffix(" { set }") ? String(dropLast(8)) : self }

    /// What stands before the first parenthesis, inside it, and behind its counterpart.
    fileprivate func parenthesized() -> (before: String, inside: String, after: String)? {
        guard let start = firstIndex(of: "(") else { return nil }
        var depth = 0
        for index in indices[start...] {
            if self[index] == "(" { depth += 1 }
            if self[index] == ")" { depth -= 1 }
            guard depth == 0 else { continue }
            return (
                String(self[..<start]), String(self[self.index(after: start)..<index]),
                self[self.index(after: index)...].trimmingCharacters(in: .whitespaces)
            )
        }
        return nil
    }
}

extension StringProtocol {
    fileprivate func splitOnce(_ separator: String) -> (String, String?) {
        guard let range = range(of: separator) else { return (trimmingCharacters(in: .whitespaces), nil) }
        return (
            self[..<range.lowerBound].trimmingCharacters(in: .whitespaces), self[range.upperBound...].trimmingCharacters(in: .whitespaces)
        )
    }

    /// Splits at commas outside of parentheses, brackets and generic arguments.
    fileprivate func splitAtTopLevel() -> [String] {
        var parts: [String] = []
        var part = ""
        var depth = 0
        var previous: Character = " "
        for character in self {
            if "([<".contains(character) { depth += 1 }
            if ")]".contains(character) || character == ">" && previous != "-" { depth -= 1 }
            if character == ",", depth == 0 {
                parts.append(part.trimmingCharacters(in: .whitespaces))
                part = ""
            } else {
                part.append(character)
            }
            previous = character
        }
        let last = part.trimmingCharacters(in: .whitespaces)
        return last.isEmpty ? parts : parts + [last]
    }
}
