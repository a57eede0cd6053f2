// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Reads the attributes and children of an element, and records the names that were read: the others are unknown, and are
/// reported.
package struct ElementReader {
    let element: SourceElement
    /// The name of the element in diagnostics, such as `Post.title`.
    let subject: String
    let namespace: ModelDocument.Namespace
    private(set) var errors: [String] = []
    private(set) var warnings: [String] = []
    private(set) var unsupported: [String] = []
    private var attributesAskedFor: Set<String> = []
    private var childrenAskedFor: Set<String> = []

    /// Known and without effect here, so that no one but the file's writer needs them.
    private var carriedAttributes: Set<String> = []
    private var carriedChildren: Set<String> = []

    package init(_ element: SourceElement, subject: String, namespace: ModelDocument.Namespace) {
        self.element = element
        self.subject = subject
        self.namespace = namespace
    }

    mutating func error(_ what: String) { errors.append(what) }
    mutating func warning(_ what: String) { warnings.append(what) }

    /// Reports something that a model may have and that has no effect yet. `what` reads on from the subject.
    mutating func notSupported(_ what: String) { unsupported.append(what) }

    /// - Returns: The attribute's text as it stands, the empty text included.
    mutating func text(_ name: String) -> String? {
        attributesAskedFor.insert(name)
        return element.attributes[name]
    }

    /// - Returns: The first of the attributes that is there and not empty.
    mutating func name(_ names: String...) -> String? {
        var found: String?
        for name in names {
            if let text = text(name), !text.isEmpty, found == nil { found = text }
        }
        return found
    }

    /// A missing flag means NO.
    mutating func flag(_ name: String) -> Bool {
        guard let text = text(name) else { return false }
        guard let flag = Self.flag(from: text) else {
            error("has '\(text)' for \(name); expected YES or NO")
            return false
        }
        return flag
    }

    package static func flag(from text: String) -> Bool? {
        switch text.lowercased() {
        case "yes", "true", "1": true
        case "no", "false", "0": false
        default: nil
        }
    }

    mutating func count(_ name: String) -> Int? {
        guard let text = text(name) else { return nil }
        guard let count = Int(text), count >= 0 else {
            error("has '\(text)' for \(name); expected a whole number from 0")
            return nil
        }
        return count
    }

    mutating func number(_ name: String) -> Double? {
        guard let text = self.name(name) else { return nil }
        guard let number = Double(text), number.isFinite else {
            error("has '\(text)' for \(name); expected a number")
            return nil
        }
        return number
    }

    /// Attributes without an effect here.
    mutating func ignore(_ names: String...) {
        attributesAskedFor.formUnion(names)
        carriedAttributes.formUnion(names)
    }

    package mutating func children(_ name: String) -> [SourceElement] {
        childrenAskedFor.insert(name)
        return element.children.filter { $0.name == name }
    }

    /// Children without an effect here.
    mutating func ignoreChildren(_ names: String...) {
        childrenAskedFor.formUnion(names)
        carriedChildren.formUnion(names)
    }

    /// The parts of the file that a writer needs in addition to the model.
    var sourceForm: ModelDocument.SourceForm {
        ModelDocument.SourceForm(
            source: element, spellings: element.attributes,
            carried: element.attributes.filter { carriedAttributes.contains($0.key) || !attributesAskedFor.contains($0.key) },
            children: element.children.filter { carriedChildren.contains($0.name) || !childrenAskedFor.contains($0.name) })
    }

    /// Key to value of the `userInfo` children.
    package mutating func userInfo() -> [String: String] {
        var result: [String: String] = [:]
        for entry in children("userInfo").flatMap(\.children) {
            guard entry.name == "entry", let key = entry.attributes["key"] else {
                warning("has an unknown element '\(entry.name)' in its user info")
                continue
            }
            result[key] = entry.attributes["value"] ?? ""
        }
        return result
    }

    var unknown: [String] {
        let attributes = Set(element.attributes.keys).subtracting(attributesAskedFor).sorted()
        let children = Set(element.children.map(\.name)).subtracting(childrenAskedFor).sorted()
        return attributes.map { "has an unknown attribute '\($0)'" } + children.map { "has an unknown element '\($0)'" }
    }
}
