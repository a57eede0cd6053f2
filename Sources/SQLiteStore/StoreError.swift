// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

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
        case newerFormat
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

    package init(
        _ code: Code, _ what: StaticString, detail: String = "", conflicts: [RowConflict] = [],
        collisions: [UniquenessCollision] = []
    ) {
        self.code = code
        self.what = what
        self.detail = detail
        self.conflicts = conflicts
        self.collisions = collisions
    }
}
