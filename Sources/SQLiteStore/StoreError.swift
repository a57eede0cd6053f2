// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// A failed operation of a store. Nothing of it was written.
package struct StoreError: Error, Sendable {
    package enum Code: CaseIterable, Sendable {
        /// Another connection locked the file for too long; a retry may succeed.
        case busy
        /// Rows were changed concurrently; see ``StoreError/conflicts``.
        case conflict
        case constraint
        /// The file isn't a SQLite database, or is damaged.
        case corrupt
        /// A delete rule denies it.
        case denied
        case diskFull
        /// The file was made for another model, or by a newer format.
        case incompatibleModel
        /// Rows prevent a migration: see ``StoreError/obstacles``.
        case migration
        case newerFormat
        /// Other devices have the old version of the model, and could not follow: see ``StoreError/obstacles``.
        case modelOfOthers
        /// The store needs a migration, and no mapping was given.
        case noMapping
        /// The model that the store was made for is unknown.
        case noSourceModel
        /// A mapping cannot be inferred: see ``StoreError/obstacles``.
        case notInferable
        case notFound
        case notPermitted
        case unsupportedPredicate
        case other
    }

    package let code: Code
    /// Constant text, so that errors can be counted; ``detail`` has the variable part.
    package let summary: StaticString
    /// Location and cause: file, entity, SQLite's own message. Never a stored value.
    package let detail: String
    package let conflicts: [RowConflict]
    /// With `.constraint`: the rows that violate a uniqueness constraint.
    package let collisions: [UniquenessCollision]
    /// The parts of the model that a migration cannot convert.
    package let obstacles: [ModelDifference.Change]

    package init(
        _ code: Code, _ summary: StaticString, detail: String = "", conflicts: [RowConflict] = [],
        collisions: [UniquenessCollision] = [], obstacles: [ModelDifference.Change] = []
    ) {
        self.code = code
        self.summary = summary
        self.detail = detail
        self.conflicts = conflicts
        self.collisions = collisions
        self.obstacles = obstacles
    }
}
