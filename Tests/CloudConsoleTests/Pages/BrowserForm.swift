// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import Testing

/// The form of a record page as a browser reads, shows and submits it.
///
/// Source: *HTML Living Standard*, "Preprocessing the input stream", "The rules for parsing tokens in HTML content" (a line
/// break that opens a text area is dropped), "Value sanitization algorithm", "Form submission".
struct BrowserForm {
    struct Control {
        enum Kind { case hidden, text, checkbox, textArea, button, file }

        var kind: Kind
        var name: String
        var value: String
        var isChecked = false
    }

    var controls: [Control] = []

    init(record html: String) throws {
        let bytes = Self.preprocessed(Array(html.utf8))
        let start = try #require(Self.index(of: #"id="record""#, in: bytes, from: 0))
        let end = try #require(Self.index(of: "</form>", in: bytes, from: start))
        var index = start
        while index < end {
            guard bytes[index] == UInt8(ascii: "<") else {
                index += 1
                continue
            }
            let (tag, attributes, after) = Self.tag(bytes, at: index)
            index = after
            let value = attributes["value"] ?? ""
            switch tag {
            case "input":
                let kind: Control.Kind =
                    switch attributes["type"] {
                    case "hidden": .hidden
                    case "checkbox": .checkbox
                    case "file": .file
                    default: .text
                    }
                let shown = kind == .text ? String(decoding: value.utf8.filter { $0 != 10 && $0 != 13 }, as: UTF8.self) : value
                controls.append(Control(kind: kind, name: attributes["name"] ?? "", value: shown, isChecked: attributes["checked"] != nil))
            case "button": controls.append(Control(kind: .button, name: attributes["name"] ?? "", value: value))
            case "textarea":
                let close = try #require(Self.index(of: "</textarea>", in: bytes, from: index))
                var content = bytes[index..<close]
                if content.first == 10 { content.removeFirst() }
                controls.append(Control(kind: .textArea, name: attributes["name"] ?? "", value: Self.unescaped(content)))
                index = close
            default: break
            }
        }
    }

    subscript(name: String) -> String? {
        get { controls.first { $0.name == name && $0.kind != .button }?.value }
        set {
            guard let index = controls.firstIndex(where: { $0.name == name && $0.kind != .button }), let newValue else { return }
            controls[index].value = newValue
        }
    }

    /// - Returns: Nil for a box that the form does not have.
    func isChecked(_ name: String) -> Bool? { controls.first { $0.name == name && $0.kind == .checkbox }?.isChecked }

    mutating func check(_ name: String, _ isOn: Bool = true) {
        for index in controls.indices where controls[index].name == name && controls[index].kind == .checkbox {
            controls[index].isChecked = isOn
        }
    }

    /// Text controls of one field: its name, or an element's.
    func names(of field: String) -> [String] {
        controls.filter { $0.kind == .text || $0.kind == .textArea }.map(\.name).filter { name in
            name == "f.\(field)" || name.hasPrefix("v.") && name.hasSuffix(".\(field)")
        }
    }

    /// The body that a browser sends for a press of a button.
    func body(pressing name: String, _ value: String) -> String {
        var items = controls.compactMap { control -> (String, String)? in
            switch control.kind {
            case .button, .file: nil
            case .checkbox: control.isChecked ? (control.name, control.value) : nil
            case .hidden, .text, .textArea: (control.name, control.value)
            }
        }
        items.append((name, value))
        return items.map { "\(QueryItems.encode($0.0))=\(QueryItems.encode(Self.submitted($0.1)))" }.joined(separator: "&")
    }

    /// Every line break as CR LF.
    private static func submitted(_ text: String) -> String {
        let bytes = preprocessed(Array(text.utf8), keepsNUL: true)
        return String(decoding: bytes.flatMap { $0 == 10 ? [13, 10] : [$0] }, as: UTF8.self)
    }

    private static func preprocessed(_ bytes: [UInt8], keepsNUL: Bool = false) -> [UInt8] {
        var read: [UInt8] = []
        for (index, byte) in bytes.enumerated() {
            if byte == 10, index > 0, bytes[index - 1] == 13 { continue }
            if byte == 0, !keepsNUL {
                read += Array("\u{FFFD}".utf8)
            } else {
                read.append(byte == 13 ? 10 : byte)
            }
        }
        return read
    }

    private static func index(of text: String, in bytes: [UInt8], from start: Int) -> Int? {
        let text = Array(text.utf8)
        return (start...max(start, bytes.count - text.count)).first {
            $0 + text.count <= bytes.count && bytes[$0..<$0 + text.count].elementsEqual(text)
        }
    }

    private static func tag(_ bytes: [UInt8], at start: Int) -> (name: String, attributes: [String: String], after: Int) {
        var index = start + 1
        func word(_ isIn: (UInt8) -> Bool) -> String {
            let from = index
            while index < bytes.count, isIn(bytes[index]) { index += 1 }
            return String(decoding: bytes[from..<index], as: UTF8.self)
        }
        let space: Set<UInt8> = [9, 10, 12, 32]
        let end = UInt8(ascii: ">"), equals = UInt8(ascii: "="), quote = UInt8(ascii: "\"")
        let name = word { !space.contains($0) && $0 != end }
        var attributes: [String: String] = [:]
        while index < bytes.count, bytes[index] != end {
            _ = word { space.contains($0) }
            let key = word { !space.contains($0) && $0 != end && $0 != equals }
            guard index < bytes.count, bytes[index] == equals else {
                if !key.isEmpty { attributes[key] = "" }
                continue
            }
            index += 1
            guard index < bytes.count, bytes[index] == quote else { continue }
            index += 1
            let from = index
            while index < bytes.count, bytes[index] != quote { index += 1 }
            attributes[key] = unescaped(bytes[from..<index])
            index += 1
        }
        return (name, attributes, index + 1)
    }

    private static func unescaped(_ bytes: ArraySlice<UInt8>) -> String {
        let codes = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&amp;", "&")].map {
            (Array($0.0.utf8), Array($0.1.utf8))
        }
        var (rest, plain) = (bytes, [UInt8]())
        while let byte = rest.first {
            if byte == UInt8(ascii: "&"), let (code, character) = codes.first(where: { rest.starts(with: $0.0) }) {
                plain += character
                rest = rest.dropFirst(code.count)
            } else {
                plain.append(byte)
                rest = rest.dropFirst()
            }
        }
        return String(decoding: plain, as: UTF8.self)
    }
}
