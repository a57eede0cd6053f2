// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
package import ManagedModel

/// Objects of the home zone that follow others to the zone of a share, because a deferred reference or a link connects them: the device
/// that relocated one end did not have the reference, or did not have the other end.
///
/// Participants of a share write its records. Such a record may not bring an object of the owner to the share, so the owner's record at
/// one end has to vouch for the other: only the owner writes to the home zone.
package enum DeferredReferenceFollowers {
    /// Returns the objects to which records of the share refer.
    ///
    /// The record of the share is this device's, unsent, or was last changed by the owner.
    ///
    /// - Parameters:
    ///   - references: Deferred references of the share.
    ///   - home: Returns a record of the home zone.
    ///   - share: Returns a record of the zone of the share.
    package static func targets(
        of references: [ParkedRelationship], home: (String) throws -> RecordState?, share: (String) throws -> RecordState?
    ) rethrows -> [RowKey] {
        try references.compactMap { reference in
            guard let target = try home(reference.destination), isFollower(target), let source = try share(reference.key.source),
                isUnsent(source, by: target.modified?.userRecordName)
                    || target.modified != nil && source.modified?.userRecordName == target.modified?.userRecordName
            else { return nil }
            return target.key
        }
    }

    /// Returns the objects that refer to records of the share.
    ///
    /// The record of the share is this device's, unsent, or was created by the owner. A record with unique values is left out: an equal
    /// object of the share has the same name.
    ///
    /// - Parameters:
    ///   - references: Deferred references of the home zone.
    ///   - home: Returns a record of the home zone.
    ///   - isWithheld: Whether the home zone withholds a record.
    ///   - share: Returns a record of the zone of the share.
    package static func sources(
        of references: [ParkedRelationship], mapping: RecordMapping, home: (String) throws -> RecordState?,
        isWithheld: (String) throws -> Bool, share: (String) throws -> RecordState?
    ) rethrows -> [RowKey] {
        try references.compactMap { reference in
            guard let source = try home(reference.key.source), isFollower(source), let target = try share(reference.destination),
                target.stage != .needsDelete, !mapping.isUnique(target.key.entityIndex), isOwners(target, as: source),
                try home(reference.destination) == nil, try !isWithheld(reference.destination)
            else { return nil }
            return source.key
        }
    }

    /// Returns the object that a link of the home zone joins with a record of the share; nil if it stays.
    ///
    /// The device that relocated one end may withhold the other one: it does not relocate that, and sends the link to the home zone.
    /// Devices that show the other end may have received the relocation before.
    ///
    /// The record of the share is this device's, unsent, or was created by the owner. One with unique values needs the relocation stamp of
    /// the linked object: an equal object of the share has the same name.
    ///
    /// - Parameters:
    ///   - link: A link of the home zone that arrived, or that belongs to an object which was withheld there until now.
    ///   - home: Returns a record of the home zone.
    ///   - isWithheld: Whether the home zone withholds a record.
    ///   - share: Returns a record of the zone of the share.
    package static func linked(
        by link: LinkState, mapping: RecordMapping, home: (String) throws -> RecordState?, isWithheld: (String) throws -> Bool,
        share: (String) throws -> RecordState?
    ) rethrows -> RowKey? {
        guard link.isLive else { return nil }
        for name in [link.pair.first, link.pair.second] {
            let other = link.pair.end(opposite: name)
            guard let source = try home(name), isFollower(source), try home(other) == nil, try !isWithheld(other),
                let target = try share(other), !target.isRelocated, target.stage != .needsDelete, isOwners(target, as: source),
                !mapping.isUnique(target.key.entityIndex) || target.isRelocation(ofRecordNamed: other)
            else { continue }
            return source.key
        }
        return nil
    }

    /// Whether the owner of the home zone created a record of the share.
    ///
    /// - Parameter source: A record of the home zone.
    static func isOwners(_ target: RecordState, as source: RecordState) -> Bool {
        isUnsent(target, by: source.modified?.userRecordName)
            || source.modified != nil && target.system.creator == source.modified?.userRecordName
    }

    /// A record that this device sends again to a restored server may be a participant's.
    private static func isUnsent(_ state: RecordState, by owner: String?) -> Bool {
        guard state.changeTag == nil else { return false }
        guard let creator = state.system.creator, let owner else { return true }
        return creator == owner
    }

    static func isFollower(_ state: RecordState) -> Bool { !state.isRelocated && RelocatedRecord.isRelocatable(state) }
}
