// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The role of a record for its object. An object has one current record; a relocated object has a second one in its source zone until the
/// server has deleted that.
package enum RecordRole: Hashable, Sendable {
    /// The record from which the object is shown and to which its edits are sent.
    case current
    /// The record that a relocated object had in its source zone. It is deleted once the current record has arrived in the destination
    /// zone. Edits that other devices make there until then are forwarded to the object.
    case source(isObjectDeleted: Bool)
}

extension RecordState {
    /// Returns `true` for the record that a relocated object had in its source zone.
    package var isRelocated: Bool { role != .current }

    /// Returns `true` for the source record of an object that was deleted after its relocation.
    package var isDeletedAtDestination: Bool { role == .source(isObjectDeleted: true) }

    /// Returns `true` if the object has a row, as far as history was read.
    package var hasRow: Bool {
        switch role {
        case .current: stage != .needsDelete
        case .source(let isObjectDeleted): !isObjectDeleted
        }
    }
}
