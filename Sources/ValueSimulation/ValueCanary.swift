// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Defects that are planted in devices, to prove that the invariants find them.
package enum ValueCanary: String, CaseIterable, Sendable {
    /// Reading history skips updates of every third object.
    case lostEdits
    /// Imports leave lists in the order in which members arrived.
    case unsortedLists
    /// Withheld records stay withheld when the missing object arrives.
    case withheldForever
    /// The displaced side of a one-to-one relationship is not cleared.
    case oneSidedRelationships
    /// Objects with the same unique values are not merged.
    case unmergedDuplicates
    /// Edits of other devices to relocated objects are not forwarded.
    case unforwardedEdits
    /// An object that another device relocated reappears after its deletion.
    case deletionsNotRepeated
}

extension ValueCanary {
    /// The features that a run needs to show the defect; nil for those that the seed decides.
    package var features: Set<ValueFeature>? {
        switch self {
        case .lostEdits, .oneSidedRelationships: nil
        case .unsortedLists: [.order]
        case .withheldForever: [.requirements]
        case .unmergedDuplicates: [.uniqueness]
        case .unforwardedEdits, .deletionsNotRepeated: [.relocation]
        }
    }
}
