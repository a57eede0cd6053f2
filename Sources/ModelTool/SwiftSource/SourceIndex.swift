// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The declarations of one module that accessors of managed properties depend on.
package struct SourceIndex: Sendable {
    package struct TypeDeclaration: Sendable {
        package enum Kind: Sendable { case `class`, `struct`, `enum`, `protocol` }
        package var kind: Kind
        package var access: Access
        /// The file's path.
        package var file: String
        package var line: Int
        /// Superclass and protocols, as they are written.
        package var inherits: [String]
        /// The name that `@objc(…)` gives.
        package var exposedName: String?
        /// Conditions of the `#if`s around it, outermost first.
        package var conditions: [String]
    }

    package enum Access: Int, Comparable, Sendable {
        case `private`, `fileprivate`, `internal`, `package`, `public`, `open`

        package init?(_ word: String) {
            switch word {
            case "private": self = .private
            case "fileprivate": self = .fileprivate
            case "internal": self = .internal
            case "package": self = .package
            case "public": self = .public
            case "open": self = .open
            default: return nil
            }
        }

        /// Whether other files cannot see the declaration.
        package var isHidden: Bool { self <= .fileprivate }
        package static func < (a: Access, b: Access) -> Bool { a.rawValue < b.rawValue }
    }

    package struct Alias: Sendable {
        package var type: TypeSyntax
        /// The types around the alias, outermost first.
        package var scope: [String]
    }

    /// A property or method marked `@NSManaged`.
    package struct ManagedMember: Sendable {
        package enum Kind: Sendable {
            case property(TypeSyntax?, text: String)
            case method([Parameter], result: TypeSyntax?)
        }

        package var name: String
        package var kind: Kind
        package var access: Access
        package var hasOwnSetterAccess: Bool
        package var isOverride: Bool
        /// The name that `@objc(…)` gives.
        package var selector: String?
        /// The types around the member, outermost first; the last one is its class.
        package var scope: [String]
        /// Conditions of the `#if`s around it, outermost first.
        package var conditions: [String]
        package var file: String
        package var line: Int
    }

    /// A property of a class that is marked `@objc` and that other files can read.
    package struct KeyedProperty: Sendable {
        package var name: String
        /// Its name for Objective-C.
        package var key: String
        package var isSettable: Bool
        /// The types around it, outermost first; the last one is its class.
        package var scope: [String]
        package var conditions: [String]
        package var file: String
    }

    package struct Parameter: Sendable {
        package var label: String?
        package var type: TypeSyntax
    }

    package struct Import: Hashable, Sendable {
        package var module: String
        package var conditions: [String]
        package var isPublic: Bool
        package var isTestable: Bool
        package var file: String
    }

    /// A declaration marked `@objc`, under the name that access notes use: `Post.addToTags(_:)`.
    package struct Exposed: Hashable, Sendable {
        package var name: String
        package var file: String
        package var line: Int
    }

    package let module: String
    /// By dotted path, such as `Outer.Inner`.
    package var types: [String: TypeDeclaration] = [:]
    package var aliases: [String: Alias] = [:]
    package var members: [ManagedMember] = []
    package var keyed: [KeyedProperty] = []
    /// Types that belong to a global actor.
    package var isolated: Set<String> = []
    package var imports: [Import] = []
    package var exposed: [Exposed] = []

    package init(module: String) { self.module = module }

    /// Adds the declarations of a file. Malformed parts are skipped: the compiler reports them.
    package mutating func add(_ text: String, file: String) {
        var scanner = DeclarationScanner(SwiftLexer.tokens(of: text), file: file, index: self)
        scanner.run()
        self = scanner.index
    }
}
