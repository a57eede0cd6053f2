// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A lens as a model declares it, in the user info of the entity:
///
///     syncLens = "name -> firstName lastName; street city -> address by ', '; count -> quantity"
///
/// One attribute to several splits a text, several to one join texts, one to one converts a value between types.
package struct LensDeclaration: Hashable, Sendable {
    package let earlier: [String]
    package let later: [String]
    /// The text between parts.
    package let separator: String

    /// `name -> firstName lastName`
    package var text: String { Self.text(from: earlier, to: later) }

    /// The declaration in the form that ``parse(_:)`` reads.
    package var source: String { separator == " " ? text : "\(text) by '\(separator)'" }

    package var attributes: [String] { earlier + later }

    /// Returns the declaration after an attribute was renamed.
    package func renaming(_ name: String, to newName: String) -> LensDeclaration {
        func renamed(_ names: [String]) -> [String] { names.map { $0 == name ? newName : $0 } }
        return LensDeclaration(earlier: renamed(earlier), later: renamed(later), separator: separator)
    }

    package static func text(from earlier: [String], to later: [String]) -> String {
        "\(earlier.joined(separator: " ")) -> \(later.joined(separator: " "))"
    }

    /// Parses the declarations of an entity.
    ///
    /// - Returns: nil for a text of another form.
    package static func parse(_ text: String) -> [LensDeclaration]? {
        var declarations: [LensDeclaration] = []
        var rest = text[...]
        while true {
            rest = rest.drop { $0.isWhitespace || $0 == ";" }
            if rest.isEmpty { return declarations }
            guard let declaration = next(&rest) else { return nil }
            declarations.append(declaration)
        }
    }

    private static func next(_ rest: inout Substring) -> LensDeclaration? {
        let earlier = names(&rest)
        guard rest.hasPrefix("->") else { return nil }
        rest = rest.dropFirst(2)
        var later = names(&rest)
        var separator = " "
        if later.last == "by" {
            later.removeLast()
            guard rest.first == "'" else { return nil }
            rest = rest.dropFirst()
            guard let end = rest.firstIndex(of: "'"), end > rest.startIndex else { return nil }
            separator = String(rest[..<end])
            rest = rest[rest.index(after: end)...].drop { $0.isWhitespace }
        }
        guard rest.isEmpty || rest.first == ";", !earlier.isEmpty, !later.isEmpty, earlier.count == 1 || later.count == 1 else {
            return nil
        }
        return LensDeclaration(earlier: earlier, later: later, separator: separator)
    }

    /// Reads words of letters, digits and underscores.
    private static func names(_ rest: inout Substring) -> [String] {
        var names: [String] = []
        while true {
            rest = rest.drop { $0.isWhitespace }
            let name = rest.prefix { $0.isLetter || $0.isNumber || $0 == "_" }
            if name.isEmpty { return names }
            names.append(String(name))
            rest = rest[name.endIndex...]
        }
    }
}

extension Entity {
    /// The lenses that the entity declares; none for a text of another form, which is a violation of the rules of mirroring.
    package var lenses: [LensDeclaration] { userInfo[SyncKeys.lens].flatMap(LensDeclaration.parse) ?? [] }
}
