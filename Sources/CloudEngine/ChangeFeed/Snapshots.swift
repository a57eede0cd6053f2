// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The zone that a snapshot is of. A zone that was created again has another key, and one of a restored server another epoch.
package struct SnapshotSubject: Hashable, Sendable {
    package var partition: Partition
    package var zoneName: String
    package var zoneKey: Int64
    package var epoch: Int64

    package init(partition: Partition, zoneName: String, zoneKey: Int64, epoch: Int64) {
        self.partition = partition
        self.zoneName = zoneName
        self.zoneKey = zoneKey
        self.epoch = epoch
    }
}

/// The content of a snapshot's frame.
package struct SnapshotPart: Sendable {
    /// One ``ZoneChangesResult`` as JSON.
    package var body: [UInt8]
    package var recordCount: Int
    /// The change token behind the part.
    package var syncToken: String
    /// The number of the last change in the part.
    package var lastChange: Int64
    /// The number of the last change of the snapshot.
    package var end: Int64
    package var isLast: Bool
}

/// Decides whether a zone has a snapshot, and reads its parts.
///
/// A snapshot ends at a change, and has the records that last changed up to it.
///
///     change   1 ── 2 ── 3 ── 4 ── 5 ── 6 ── 7
///     snapshot └─ part ─┘ └─ part ─┘ │
///     feed                           └───────
///
/// Parts are read one after the other, each in a unit of its own. A record that changes in between is in no later part: its change comes
/// after the end, so that the feed brings it. A record that is deleted after it was read is deleted by the feed as well.
package struct Snapshots: Sendable {
    /// Bytes of records after which a part ends.
    private static let partBytesMax = 1_000_000

    let limits: Limits
    let sealer: Sealer

    /// The zone of a query, if its caller may read it from a snapshot; nil for all others, which get change pages.
    ///
    /// Only the owner of a zone may: participants see a part of it. The records of a shared zone name their share, and the share itself
    /// is shown differently to each caller, so a zone with shares has no snapshot.
    package func subject(of query: ZoneChangesQuery, in view: any PartitionReader, _ call: Call) throws -> SnapshotSubject? {
        guard call.capabilities.contains(.snapshots), query.syncToken == nil, query.reverse != true, query.desiredKeys == nil,
            query.desiredRecordTypes == nil, query.numbersAsStrings != true, query.zoneID.zoneName != ZoneID.defaultZoneName
        else { return nil }
        guard let zone = try snapshotZone(query.zoneID, in: view, call) else { return nil }
        let state = try view.state()
        // Reports a lost history, as a change page does.
        _ = try ZoneWalk(query, zone, state, call.partition, sealer, view, call)
        let count = try view.count(
            ChangeSlice(after: 0), in: zone.key, shares: nil, includingDeleted: false, atMost: limits.snapshotRecordsMin)
        guard count >= limits.snapshotRecordsMin else { return nil }
        return SnapshotSubject(partition: call.partition, zoneName: zone.name, zoneKey: zone.key, epoch: state.epoch)
    }

    private func snapshotZone(_ zoneID: ZoneID, in view: any PartitionReader, _ call: Call) throws -> StoredZone? {
        guard call.partition.scope == .private, !call.isParticipant else { return nil }
        let zone = try ZoneAccess(view, call).liveZone(zoneID)
        return try view.hasShares(inZone: zone.key) ? nil : zone
    }

    /// The zone of a snapshot as it is now; nil if it was deleted, was created again, or is that of another server's history.
    private func zone(of subject: SnapshotSubject, _ state: PartitionState, in view: any PartitionReader) throws -> StoredZone? {
        guard state.epoch == subject.epoch, let zone = try view.zone(named: subject.zoneName), !zone.isDeleted, zone.key == subject.zoneKey
        else { return nil }
        return zone
    }

    /// Whether there is still the zone that a snapshot is of.
    package func exists(_ subject: SnapshotSubject, in view: any PartitionReader) throws -> Bool {
        try zone(of: subject, view.state(), in: view) != nil
    }

    /// Whether a caller may read a snapshot now.
    package func mayRead(_ subject: SnapshotSubject, in view: any PartitionReader, _ call: Call) throws -> Bool {
        guard call.partition == subject.partition, !call.isParticipant else { return false }
        return try zone(of: subject, view.state(), in: view).map { try !view.hasShares(inZone: $0.key) } ?? false
    }

    /// Changes of the zone since a snapshot, counted up to a limit; nil if the feed does not continue the snapshot: the zone or its
    /// history is another one, deletions after the snapshot are forgotten, or its token is invalid.
    package func changes(
        since syncToken: String, of subject: SnapshotSubject, atMost limit: Int, in view: any PartitionReader
    ) throws -> Int? {
        let state = try view.state()
        guard let zone = try zone(of: subject, state, in: view),
            let token = try? ChangeToken(opening: syncToken, for: subject.partition, by: sealer), token.subject == .zone(key: zone.key),
            token.number >= zone.floor, try token.isKnown(to: state, view)
        else { return nil }
        return try view.count(ChangeSlice(after: token.number), in: zone.key, shares: nil, includingDeleted: true, atMost: limit)
    }

    /// Reads the part of a snapshot behind a change.
    ///
    /// - Parameter end: The end of the snapshot; nil for the first part, which determines it.
    /// - Throws: `WireError` with `.zoneNotFound` if the zone was deleted, or is another one.
    package func part(
        of subject: SnapshotSubject, after change: Int64, end: Int64?, in view: any PartitionReader
    ) throws -> SnapshotPart {
        let state = try view.state()
        guard let zone = try zone(of: subject, state, in: view) else { throw WireError(.zoneNotFound, "zone not found") }
        let end = end ?? zone.change
        let zoneID = ZoneID(zoneName: zone.name, ownerRecordName: subject.partition.owner)
        var texts = RecordTexts(zoneID: zoneID)
        var last = change
        var isLast = true
        try view.recordTexts(ChangeSlice(after: change, before: end + 1), in: zone.key, includingDeleted: false) { text, number in
            guard texts.count < limits.recordsPerLargePage, texts.byteCount < Self.partBytesMax else {
                isLast = false
                return false
            }
            // Assets are without addresses, which are made for one caller and expire.
            texts.append(text: text)
            last = number
            return true
        }
        let token = ChangeToken(
            subject: .zone(key: zone.key), epoch: state.epoch, number: isLast ? end : last, origin: try view.origin(of: state),
            readAt: zone.change
        ).sealed(for: subject.partition, by: sealer)
        var page = ZoneChanges(zoneID: zoneID, records: [], syncToken: token, moreComing: !isLast)
        page.texts = texts
        return SnapshotPart(
            body: ZoneChangesResult.changes(page).encoded(), recordCount: texts.count, syncToken: token, lastChange: last, end: end,
            isLast: isLast)
    }

    /// The response that offers a snapshot. Its token is that of the zone's beginning.
    package func page(
        offering snapshot: SnapshotOffer, of subject: SnapshotSubject, in view: any PartitionReader, _ call: Call
    ) throws -> ZoneChangesResponse {
        let state = try view.state()
        let token = ChangeToken(subject: .zone(key: subject.zoneKey), epoch: subject.epoch, number: 0, origin: try view.origin(of: state))
        var page = ZoneChanges(
            zoneID: ZoneID(zoneName: subject.zoneName, ownerRecordName: subject.partition.owner), records: [],
            remaining: call.capabilities.contains(.remainingCount) ? snapshot.whole?.recordCount : nil,
            syncToken: token.sealed(for: subject.partition, by: sealer), moreComing: true)
        page.snapshot = snapshot
        return ZoneChangesResponse(zones: [.changes(page)])
    }
}
