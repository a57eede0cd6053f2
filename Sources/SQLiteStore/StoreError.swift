// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// A store could not do what was asked. Nothing of the failed operation was written.
package struct StoreError: Error, Sendable {
    package enum Code: CaseIterable, Sendable {
        /// Another connection held the file too long; trying again may help.
        case busy
        /// Rows were changed by somebody else since they were read; see ``StoreError/conflicts``.
        case conflict
        case constraint
        /// The file is not a SQLite database, or is damaged.
        case corrupt
        /// A delete rule does not allow it.
        case denied
        case diskFull
        /// The file was made for another model, or by a newer format.
        case incompatibleModel
        /// Rows stand in the way of a migration: see ``StoreError/obstacles``.
        case migration
        case newerFormat
        /// Other devices have the old version of the model, and could not follow: see ``StoreError/obstacles``.
        case modelOfOthers
        /// The store has to be migrated, and nobody wrote down how.
        case noMapping
        /// Nobody knows the model that the store was made for.
        case noSourceModel
        /// How to migrate cannot be inferred: see ``StoreError/obstacles``.
        case notInferable
        case notFound
        case notPermitted
        case unsupportedPredicate
        case other
    }

    package let code: Code
    /// Constant text, so that errors can be counted; what varies stands in ``detail``.
    package let what: StaticString
    /// Where and why: file, entity, SQLite's own message. Never a stored value.
    package let detail: String
    package let conflicts: [RowConflict]
    /// With `.constraint`: which rows have values that must be unique.
    package let collisions: [UniquenessCollision]
    /// What a migration cannot carry over.
    package let obstacles: [ModelDifference.Change]

    package init(
        _ code: Code, _ what: StaticString, detail: String = "", conflicts: [RowConflict] = [],
        collisions: [UniquenessCollision] = [], obstacles: [ModelDifference.Change] = []
    ) {
        self.code = code
        self.what = what
        self.detail = detail
        self.conflicts = conflicts
        self.collisions = collisions
        self.obstacles = obstacles
    }
}
