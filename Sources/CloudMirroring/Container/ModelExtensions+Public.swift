// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore

extension NSPersistentCloudKitContainerOptions {
    /// Features of mirrored models that Apple's container rejects.
    public struct ModelExtensions: OptionSet, Hashable, Sendable {
        /// The options as bits.
        public let rawValue: Int
        /// Creates options from bits.
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// To-many relationships keep their order, one-to-many and many-to-many. Concurrent insertions and moves merge: all devices show
        /// the same order. A move sends only the moved member. Of two moves of one member, the one that reaches the server later wins.
        public static let orderedRelationships = Self(rawValue: 1 << 0)

        /// Uniqueness constraints of attributes that are not encrypted. Record names follow from the values, so that devices that create
        /// the same object create one record. Objects that get equal values later are merged into one of them, the same on every device:
        /// values of the duplicate fill empty ones, different values go to the conflict log, and related objects are related to the
        /// survivor. As in a store, objects without one of the values are not compared. Of two objects in different shares, the later one
        /// is withheld, counted (``NSPersistentCloudKitContainer/SyncStatus/incompleteCount``), and shown once the values are free.
        public static let uniquenessConstraints = Self(rawValue: 1 << 1)

        /// Required attributes without a default value, and required to-one relationships. An object is withheld until all its required
        /// values arrive: it is counted (``NSPersistentCloudKitContainer/SyncStatus/incompleteCount``), and never deleted on the server. An
        /// object that loses a required target is withheld again, and its unsent changes go to the conflict log. A required value that
        /// another client clears is set again. To-many relationships are always optional.
        public static let requiredValues = Self(rawValue: 1 << 2)

        /// Relationships with the delete rule Deny. The deleting device checks the rule at its save. Another device may add a member
        /// concurrently: then the deletion wins, as it does against edits. The object is deleted on every device, and the member remains
        /// without it. The server needs no capability for this.
        public static let denyDeleteRule = Self(rawValue: 1 << 3)

        var core: MirroringCore.ModelExtensions { MirroringCore.ModelExtensions(rawValue: rawValue) }
    }
}

extension RecordMapping {
    /// The capabilities that the server needs.
    var capabilities: Set<Capability> { extensions.onTheWire.isEmpty ? [] : [.modelExtensions] }
}
