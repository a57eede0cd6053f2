// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A JSON text that is written down in code. The order of keys is kept.
indirect enum JSONTree: Sendable, ExpressibleByStringLiteral, ExpressibleByStringInterpolation, ExpressibleByBooleanLiteral,
    ExpressibleByIntegerLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    case text(String)
    case flag(Bool)
    case number(Int)
    case array([JSONTree])
    case object([(key: String, value: JSONTree)])

    init(stringLiteral value: String) { self = .text(value) }
    init(booleanLiteral value: Bool) { self = .flag(value) }
    init(integerLiteral value: Int) { self = .number(value) }
    init(arrayLiteral elements: JSONTree...) { self = .array(elements) }
    init(dictionaryLiteral elements: (String, JSONTree)...) { self = .object(elements.map { (key: $0.0, value: $0.1) }) }

    init(_ texts: some Sequence<String>) { self = .array(texts.map { .text($0) }) }

    /// An object with more members behind its own; those without a value are left out.
    func with(_ members: (String, JSONTree?)...) -> JSONTree {
        guard case .object(let own) = self else { return self }
        return .object(own + members.compactMap { member in member.1.map { (key: member.0, value: $0) } })
    }

    /// As a file: two spaces for each level, short arrays on one line.
    var pretty: String {
        var text = ""
        write(to: &text, level: 0)
        return text + "\n"
    }

    private func write(to text: inout String, level: Int) {
        let line = "\n" + String(repeating: "  ", count: level + 1)
        let end = "\n" + String(repeating: "  ", count: level)
        switch self {
        case .text(let value): text += Self.quoted(value)
        case .flag(let value): text += value ? "true" : "false"
        case .number(let value): text += String(value)
        case .array(let elements) where elements.allSatisfy(\.isShort):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += ", " }
                element.write(to: &text, level: level + 1)
            }
            text += "]"
        case .array(let elements):
            for (index, element) in elements.enumerated() {
                text += index == 0 ? "[" + line : "," + line
                element.write(to: &text, level: level + 1)
            }
            text += end + "]"
        case .object(let members) where members.isEmpty: text += "{}"
        case .object(let members):
            for (index, member) in members.enumerated() {
                text += (index == 0 ? "{" : ",") + line + Self.quoted(member.key) + ": "
                member.value.write(to: &text, level: level + 1)
            }
            text += end + "}"
        }
    }

    private var isShort: Bool {
        switch self {
        case .text, .flag, .number: true
        case .array: false
        case .object(let members): members.isEmpty
        }
    }

    private static func quoted(_ text: String) -> String {
        "\"" + text.replacing("\\", with: "\\\\").replacing("\"", with: "\\\"").replacing("\n", with: "\\n") + "\""
    }
}
