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

extension Record {
    /// References with an action, those in lists included.
    var actingReferences: [RecordReference] {
        var found: [RecordReference] = []
        for field in fields.values {
            switch field.value {
            case .reference(let reference) where reference.action != .none: found.append(reference)
            case .list(let elements, of: .reference):
                for case .reference(let reference) in elements where reference.action != .none { found.append(reference) }
            default: break
            }
        }
        return found
    }

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
