// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// A reference with an action that came or went.
package struct ReferenceChange: Hashable, Sendable {
    package var source: String
    package var target: String
    package var action: RecordReference.Action
    package var isAdded: Bool
}

/// The stored part of a reference: its target and action.
struct ReferenceLink: Hashable {
    var target: String
    var action: RecordReference.Action
}

extension FieldValue {
    /// References with an action, those in a list included.
    var actingReferences: [RecordReference] {
        switch self {
        case .reference: actingReference.map { [$0] } ?? []
        case .list(let elements, of: .reference): elements.compactMap(\.actingReference)
        default: []
        }
    }

    private var actingReference: RecordReference? {
        if case .reference(let reference) = self, reference.action != .none { reference } else { nil }
    }
}

extension Record {
    /// References with an action, those in lists included.
    var actingReferences: [RecordReference] { fields.values.flatMap { $0.value?.actingReferences ?? [] } }

    var links: Set<ReferenceLink> {
        isDeleted ? [] : Set(actingReferences.map { ReferenceLink(target: $0.recordName, action: $0.action) })
    }

    /// Changes to the stored references when this record replaces another version.
    func referenceChanges(after old: Record?) -> [ReferenceChange] {
        let (before, after) = (old?.links ?? [], links)
        func change(_ link: ReferenceLink, _ isAdded: Bool) -> ReferenceChange {
            ReferenceChange(source: recordName, target: link.target, action: link.action, isAdded: isAdded)
        }
        return before.subtracting(after).map { change($0, false) } + after.subtracting(before).map { change($0, true) }
    }
}
