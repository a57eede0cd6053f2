// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import ObjectGraph

extension NSPersistentCloudKitContainerOptions {
    /// An attribute that this device and another changed at the same time.
    ///
    /// Differs: Apple's container takes one of the two and tells nobody.
    public struct MergeConflict {
        public let entityName: String
        public let attributeName: String
        /// What both sides knew, as `value(forKey:)` gives it.
        public let ancestor: Any?
        public let here: Any?
        public let elsewhere: Any?
    }

    public enum MergeDecision {
        /// What the attribute's `syncPolicy` says; without one the value that reaches the server last.
        case byPolicy
        case keepHere
        case takeElsewhere
        /// A value of the attribute's type, or nil; one of another type counts as ``byPolicy``.
        case value(Any?)
    }

    /// What the mapping asks: the app's function in terms of stored values.
    var resolver: (@Sendable (AttributeConflict) -> MergeResolution?)? {
        guard let resolveMergeConflict else { return nil }
        return { conflict in
            func value(_ stored: StoredValue) -> Any? { AttributeCoding.value(stored, of: conflict.attribute) }
            let decision = resolveMergeConflict(
                MergeConflict(
                    entityName: conflict.entity, attributeName: conflict.attribute.name, ancestor: value(conflict.ancestor),
                    here: value(conflict.here), elsewhere: value(conflict.elsewhere)))
            switch decision {
            case .byPolicy: return nil
            case .keepHere: return .here
            case .takeElsewhere: return .elsewhere
            case .value(let value):
                if value == nil, !conflict.attribute.isOptional { return nil }
                // A transformed value has no form that could be compared here.
                if conflict.attribute.type == .transformable { return nil }
                return AttributeCoding.stored(value, as: conflict.attribute.type).map { .merged($0, keepsAll: false) }
            }
        }
    }
}
