// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A class that can name the properties of a key path. Key paths on Linux don't contain these names.
package protocol KeyPathNaming: AnyObject {
    /// - Returns: The names, joined by dots; nil unless the key path consists of properties of this class.
    static func name(of keyPath: AnyKeyPath) -> String?
}

extension AnyKeyPath {
    /// The key path as a text for key-value coding, such as `author.name`.
    ///
    /// The standard library declares this property too, and returns nil for it off Apple's platforms. Overload resolution
    /// prefers this one. It names properties of managed objects, also before a model is loaded, and stored properties of
    /// other types.
    ///
    /// - Returns: nil for computed properties of other types, for subscripts and for `\.self`.
    public var _kvcKeyPathString: String? {
        let root = type(of: self).rootType
        if let root = root as? any KeyPathNaming.Type { return root.name(of: self) }
        return storedNames(of: root)
    }

    /// The names in the standard library's description, `\Root.first?.second`, which has addresses for computed
    /// properties.
    private func storedNames(of root: Any.Type) -> String? {
        let text = debugDescription
        let prefix = ["\\\(root).", "\\\(String(reflecting: root))."].first { text.hasPrefix($0) }
        guard let prefix else { return nil }
        let names = text.dropFirst(prefix.count).split(separator: ".", omittingEmptySubsequences: false).map { component in
            component.hasSuffix("?") || component.hasSuffix("!") ? component.dropLast() : component
        }
        let areNames = names.allSatisfy { name in
            !name.isEmpty && name.allSatisfy { $0.isLetter || $0.isNumber || $0 == "_" } && name != "self"
        }
        return areNames ? names.joined(separator: ".") : nil
    }
}
