// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Keeps the lists of shared records true while records are written.
struct SharingEffects {
    let zone: Int64
    let unit: any PartitionWriter
    /// Number of the last change so far.
    private(set) var number: Int64
    /// Bytes that shares which went with their roots leave free, as a negative number.
    private(set) var bytes: Int64 = 0
    /// Shares that went with their roots.
    private(set) var deletions: [ChangeLogEntry.Change] = []
    /// Users whose visible records changed otherwise than by changes of records.
    private var regenerated: Set<String> = []

    private let now: Int64

    init(zone: Int64, unit: any PartitionWriter, number: Int64, now: Int64) {
        self.zone = zone
        self.now = now
        self.unit = unit
        self.number = number
    }

    // MARK: Shares

    /// Stores the members of a share. A new share includes the hierarchy of its root.
    mutating func save(_ details: ShareDetails, of name: String, before: ShareDetails?) throws {
        let share = StoredShare(name: name, root: details.rootRecordName, publicPermission: details.publicPermission)
        let old = Set(before?.members.map(\.user) ?? [])
        let new = Set(details.members.map(\.user))
        try unit.save(share, in: zone)
        try unit.setMembers(details.members, ofShare: name, in: zone)
        regenerated.formUnion(old.symmetricDifference(new))
        if before == nil, let root = share.root { try move(root, to: name) }
    }

    mutating func removeShare(named name: String) throws {
        regenerated.formUnion(try unit.members(ofShare: name, in: zone).map(\.user))
        try unit.removeShare(named: name, in: zone)
    }

    // MARK: Records

    /// Moves a written record into the share of its root or parent, with its descendants.
    mutating func place(_ stored: StoredRecord) throws {
        let record = stored.record
        let name = record.recordName
        if record.isDeleted {
            if let share = try unit.share(ofRoot: name, in: zone) { try delete(share) }
            try move(name, to: nil, change: stored.change)
            return
        }
        if record.recordType == ShareDetails.recordType {
            // The share is one of its own records, so that participants hear of its changes.
            if record.sharing.details?.rootRecordName != nil {
                try unit.place(name, inShare: name, hasLeft: false, change: stored.change, in: zone)
            }
            return
        }
        let share: String? =
            if let own = try unit.share(ofRoot: name, in: zone) {
                own.name
            } else if let parent = record.sharing.parent {
                try unit.shareNames(ofRecords: [parent], in: zone)[parent]
            } else {
                nil
            }
        try move(name, to: share, change: stored.change)
    }

    /// Moves the root of a removed share, with its descendants, into the share of its parent.
    mutating func rejoin(_ root: String) throws {
        guard try unit.share(ofRoot: root, in: zone) == nil, let parent = try unit.parent(of: root, in: zone),
            let share = try unit.shareNames(ofRecords: [parent], in: zone)[parent]
        else { return }
        try move(root, to: share)
    }

    /// The share of a root that was deleted goes with it.
    private mutating func delete(_ share: StoredShare) throws {
        try removeShare(named: share.name)
        let stored = try unit.records(named: [share.name], in: zone)[share.name]
        if let old = stored?.record, !old.isDeleted { bytes -= Int64(RecordSize.bytes(of: old)) }
        number = try unit.raiseCounter(by: 1)
        deletions.append(ChangeLogEntry.Change(number: number, previous: stored?.change, kind: .cascaded))
        let tombstone = Record(
            recordName: share.name, recordType: ShareDetails.recordType, recordChangeTag: String(number, radix: 36),
            isDeleted: true)
        try unit.save([StoredRecord(record: tombstone, change: number)], in: zone, at: now)
        if stored?.record.isDeleted != true { try unit.addTombstones(1) }
    }

    /// Moves a record and all below it, up to the roots of other shares, from one share to another.
    ///
    /// - Parameter change: The number of the record's change; nil gives it a new one.
    private mutating func move(_ name: String, to share: String?, change: Int64? = nil) throws {
        var open: [(name: String, change: Int64?)] = [(name, change)]
        while let (name, change) = open.popLast() {
            let old = try unit.shareNames(ofRecords: [name], in: zone)[name]
            guard old != share || change != nil && share != nil else { continue }
            let number: Int64
            if let change {
                number = change
            } else {
                number = try unit.raiseCounter(by: 1)
                self.number = number
            }
            if let old, old != share { try unit.place(name, inShare: old, hasLeft: true, change: number, in: zone) }
            if let share { try unit.place(name, inShare: share, hasLeft: false, change: number, in: zone) }
            guard old != share else { continue }
            for child in try unit.children(of: name, in: zone) where try unit.share(ofRoot: child, in: zone) == nil {
                open.append((child, nil))
            }
        }
    }

    // MARK: News

    /// Notifications for the participants, stored until they are delivered.
    mutating func news(zoneName: String, membersBefore: Set<String>, _ call: Call) throws -> [ShareNews] {
        if !regenerated.isEmpty { try unit.raiseGeneration(ofUsers: regenerated, in: zone) }
        let members = try unit.members(inZone: zone)
        let news = members.union(membersBefore).sorted().map {
            ShareNews(user: $0, zoneName: zoneName, isGone: !members.contains($0), change: number)
        }
        if !news.isEmpty { try unit.post(news) }
        return news
    }
}
