// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The rules that a batch of records keeps.
enum BatchPurpose {
    /// A request of an app.
    case request
    /// An earlier state of a zone, which replaces the present one in one transaction.
    case restoration
    /// Records and values of types and fields that are removed from the schema. References to them were checked before, in the same unit for
    /// records that were saved since.
    case schemaRemoval

    /// Whether the memory of its records, and of those in its cascades, has a limit. An operator's change can't be divided.
    var isLimited: Bool { self == .request }

    /// Whether a save is rejected if the batch deletes the target of its `DELETE_SELF` reference: an earlier state may have had such records.
    var validatesSaves: Bool { self == .request }

    /// Whether `VALIDATE` references keep their targets from being deleted.
    var validatesDeletions: Bool { self != .schemaRemoval }
}
