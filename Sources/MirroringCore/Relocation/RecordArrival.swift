// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import ManagedModel

/// The relation of a share's record to the objects of this device. A record that another device has relocated names its source record: a
/// device that has the object under that name keeps it, and shows nothing older than before.
///
///     this device has                                       decision
///     no record of either name                              ordinary
///     the source record in the home zone                    adopted
///     its own relocation, which it has withheld             resumed
///     its own relocation, which has not arrived             reconciled
///     the record, with edits that are not forwarded yet     completed
///     the withheld record, with such edits                  completed
///     the record                                            ordinary
package enum RecordArrival: Hashable, Sendable {
    /// The import needs no preparation.
    case ordinary
    /// The record of the home zone becomes the record of this zone.
    case adopted(RecordState, source: RecordState, Record)
    /// This device and another one have relocated the object, and the other was first: it deletes the source record.
    case reconciled(RecordState, source: RecordState, Record)
    /// The record is shown with edits of its source record that the other device has not forwarded yet.
    case completed(Record)
    /// This device has relocated the object and withheld it since: it continues to forward the edits of the source record.
    case resumed(ResumedRelocation, Record)

    /// Stored records of the names that a record has and had.
    package struct Stored: Sendable {
        /// The record in the zone of the page.
        package var record: RecordState?
        /// The source record in the home zone of that record's object.
        package var source: RecordState?
        /// The record of the home zone that the relocation stamp names.
        package var stamped: RecordState?
        /// The record that the zone of the page withholds.
        package var withheld: Record?

        package init(record: RecordState? = nil, source: RecordState? = nil, stamped: RecordState? = nil, withheld: Record? = nil) {
            self.record = record
            self.source = source
            self.stamped = stamped
            self.withheld = withheld
        }
    }

    package static func decide(_ record: Record, _ stored: Stored, mapping: RecordMapping) -> RecordArrival {
        guard let current = stored.record else {
            guard let source = stored.stamped, let stamp = RelocationStamp.ofHomeZone(record), stamp.names(source, mapping: mapping),
                mapping.entity(of: record)?.entity.root == mapping.model.entities[source.key.entityIndex].root
            else { return decide(record, withheld: stored.withheld, mapping: mapping) }
            let completed = mapping.entities[source.key.entityIndex]?.completed(record, with: source, stamp) ?? record
            if source.isRelocated {
                guard stored.withheld != nil, source.isDeletedAtDestination else { return .ordinary }
                return .resumed(ResumedRelocation(record, source: source), completed)
            }
            return .adopted(source.adopted(as: record.recordName), source: source, completed)
        }
        if current.changeTag == nil, !current.isRelocated {
            guard let source = stored.source else { return .ordinary }
            let stamp = RelocationStamp.ofHomeZone(record)
            // An equal object of the destination zone: this device goes on relocating its own, and deletes the source record.
            if mapping.isUnique(current.key.entityIndex), stamp.map({ !$0.names(source, mapping: mapping) }) ?? true { return .ordinary }
            let completed = stamp.flatMap { mapping.entities[current.key.entityIndex]?.completed(record, with: source, $0) } ?? record
            return .reconciled(current.reconciled(with: source), source: source, completed)
        }
        guard current.ancestor.unapplied[MirrorNames.awaited] != nil, let stamp = RelocationStamp.ofHomeZone(record),
            let entity = mapping.entities[current.key.entityIndex]
        else { return .ordinary }
        return .completed(entity.completedAgain(record, with: current.ancestor, stamp))
    }

    /// Decides on a record without a row and without a source record on this device.
    ///
    /// - Parameter withheld: The version that is withheld, which may have awaited edits. It is the record itself if the page releases it.
    private static func decide(_ record: Record, withheld: Record?, mapping: RecordMapping) -> RecordArrival {
        guard let withheld, withheld.fields[MirrorNames.awaited] != nil, record.fields[MirrorNames.awaited] == nil,
            let stamp = RelocationStamp.ofHomeZone(record), let entity = mapping.entity(of: record)
        else { return .ordinary }
        return .completed(entity.completedAgain(record, with: entity.ancestor(of: withheld.fields), stamp))
    }
}

/// The relation of a share's link to the pairs of this device.
package enum LinkArrival: Hashable, Sendable {
    case ordinary
    /// The link of the home zone becomes the link of this zone.
    case adopted(LinkState)
    /// The link of the home zone is forgotten, so that the one of this zone links the rows: an end was missing in the home zone when it
    /// arrived there, and no device shows it.
    case forgotten

    /// - Parameters:
    ///   - isKnown: Whether the zone of the page has the link.
    ///   - home: The link in the home zone.
    ///   - hasBothEnds: Whether both objects are current, in either zone.
    ///   - isLinked: Whether the rows of both objects are linked.
    package static func decide(
        isKnown: Bool, home: LinkState?, hasBothEnds: Bool, isLinked: Bool, mapping: RecordMapping
    ) -> LinkArrival {
        guard !isKnown, let home else { return .ordinary }
        if home.isLive, mapping.links[home.pair.kind] != nil, !hasBothEnds || !isLinked { return .forgotten }
        return .adopted(home.adopted())
    }
}

extension Record {
    /// Whether a record of a share may be a relocation of an object of the home zone: the owner created it. Participants write to the zone of
    /// the share, too, and a forged stamp would bring the object there.
    ///
    /// - Parameter owner: Record name of the owner of the home zone; nil if the server never identified a user.
    package func mayBeRelocation(by owner: String?) -> Bool {
        guard let owner else { return true }
        return created?.userRecordName == owner
    }
}

extension RecordState {
    /// Whether a user created the record and changed it last.
    package func isWritten(by user: String) -> Bool {
        system.creator ?? user == user && modified?.userRecordName ?? user == user
    }
}

extension RelocationStamp {
    /// Returns the stamp of a record that comes from the home zone.
    package static func ofHomeZone(_ record: Record) -> RelocationStamp? {
        guard let stamp = RelocationStamp(record), stamp.zone.zoneName == MirrorNames.zone else { return nil }
        return stamp
    }
}

extension ImportPage {
    /// Returns the records of a page of the home zone that say something new. Records that are in another zone already were deleted in the
    /// home zone by the device that relocated them, or will be; it forwards what other devices edit there.
    ///
    /// - Parameters:
    ///   - isInHome: Whether the home zone has a record or link.
    ///   - isElsewhere: Whether another zone has it.
    package func recordsOfHome(
        isInHome: (Record) throws -> Bool, isElsewhere: (Record) throws -> Bool
    ) rethrows -> [Record] {
        try records.filter { record in try isInHome(record) || !isElsewhere(record) }
    }
}
