// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import ObjectGraph

extension NSPersistentCloudKitContainerOptions {
    /// An attribute that this device and another one changed concurrently.
    ///
    /// Differs: Apple's container keeps one of the two without a report.
    public struct MergeConflict {
        /// The name of the object's entity.
        public let entityName: String
        /// The name of the attribute.
        public let attributeName: String
        /// The merge base: the value before both changes, as `value(forKey:)` returns it.
        public let ancestor: Any?
        /// This device's value, as `value(forKey:)` returns it.
        public let here: Any?
        /// The other device's value, as `value(forKey:)` returns it.
        public let elsewhere: Any?
    }

    /// The app's decision on a conflict.
    public enum MergeDecision {
        /// The attribute's `syncPolicy` decides; without one, the value that reaches the server last wins.
        case byPolicy
        /// This device's value wins.
        case keepHere
        /// The other device's value wins.
        case takeElsewhere
        /// Another value of the attribute's type, or nil, wins. A value of another type counts as ``byPolicy``.
        case value(Any?)
    }

    /// The app's resolver, in terms of stored values.
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
