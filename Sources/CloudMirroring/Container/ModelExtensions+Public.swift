// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore

extension NSPersistentCloudKitContainerOptions {
    /// What a mirrored model may have that Apple's container refuses.
    public struct ModelExtensions: OptionSet, Hashable, Sendable {
        public let rawValue: Int
        public init(rawValue: Int) { self.rawValue = rawValue }

        /// To-many relationships keep their order, one-to-many and many-to-many. What is inserted and moved on several devices
        /// merges: all of them show the same order, a move sends the member that moved and no other, and of two moves of one
        /// member the one that reaches the server later counts.
        public static let orderedRelationships = Self(rawValue: 1 << 0)

        /// Uniqueness constraints of attributes that are not encrypted. Names of records follow from the values, so that devices that
        /// make the same thing make one record; what gets the same values later is merged into one object, the same on every device:
        /// its values fill what is empty, those that differ are in the conflict log, and what was related to either is related to the
        /// one that stays. As in a store, objects that lack one of the values are not compared. Of two that are shared in different ways
        /// the one that comes later is kept, counted (``NSPersistentCloudKitContainer/SyncStatus/incompleteCount``), and shown when the
        /// values are free.
        public static let uniquenessConstraints = Self(rawValue: 1 << 1)

        /// Attributes without a default value and to-one relationships that are not optional. An object is shown once all that it must
        /// have is there; until then its record is kept and counted (``NSPersistentCloudKitContainer/SyncStatus/incompleteCount``), and
        /// never deleted on the server. An object that loses something is not shown until it has it again, and what was changed here
        /// and not sent goes to the conflict log; a value that another client clears is set again. To-many relationships stay
        /// optional.
        public static let requiredValues = Self(rawValue: 1 << 2)

        /// Relationships with the delete rule Deny. The rule is checked on the device that deletes, when it saves, against what it knows:
        /// another device may add a member at the same time. The deletion wins then, as it does against edits: the object is deleted on
        /// every device, and the member stays without it. Needs nothing of the server.
        public static let denyDeleteRule = Self(rawValue: 1 << 3)

        var core: MirroringCore.ModelExtensions { MirroringCore.ModelExtensions(rawValue: rawValue) }
    }
}

extension RecordMapping {
    /// What the server has to offer.
    var capabilities: Set<Capability> { extensions.onTheWire.isEmpty ? [] : [.modelExtensions] }
}
