// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A type with all that its part of a symbol depends on.
package indirect enum MangledType: Hashable, Sendable {
    package enum Kind: String, Sendable { case `class` = "C", `struct` = "V", `enum` = "O" }

    /// One type on the way from a module to a nested type.
    package struct Segment: Hashable, Sendable {
        package var name: String
        package var kind: Kind
        /// Distinguishes private declarations of different files.
        package var discriminator: String?

        package init(_ name: String, _ kind: Kind, discriminator: String? = nil) {
            self.name = name
            self.kind = kind
            self.discriminator = discriminator
        }
    }

    case nominal(module: String, [Segment])
    case generic(module: String, [Segment], arguments: [MangledType])
    case optional(MangledType)
    case tuple([MangledType])
    case existential(module: String, name: String)
    case any
    case anyObject
    case void
}
