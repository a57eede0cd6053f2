// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A type as source spells it.
package indirect enum TypeSyntax: Hashable, Sendable {
    package struct Component: Hashable, Sendable {
        package var name: String
        package var arguments: [TypeSyntax]
    }

    /// `Module.Outer.Inner<Argument>`.
    case named([Component])
    /// Also for types that are unwrapped implicitly.
    case optional(TypeSyntax)
    case array(TypeSyntax)
    case dictionary(key: TypeSyntax, value: TypeSyntax)
    case tuple([TypeSyntax])
    /// What no property of a managed object can have, such as a function; with its name.
    case other(String)
}
