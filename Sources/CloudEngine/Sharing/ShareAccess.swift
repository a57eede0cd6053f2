// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The permissions of a participant in another user's zone, by the accepted shares. For the owner
/// of the zone it allows everything.
struct ShareAccess {
    let isParticipant: Bool
    private let memberships: [String: Membership]
    private let zoneWide: Membership?

    init(_ view: any PartitionReader, zone: StoredZone, _ call: Call) throws {
        isParticipant = call.isParticipant
        guard isParticipant else {
            (memberships, zoneWide) = ([:], nil)
            return
        }
        let all = try view.memberships(ofUser: call.caller.userRecordName, in: zone.key)
        memberships = Dictionary(all.map { ($0.share.name, $0) }, uniquingKeysWith: { first, _ in first })
        zoneWide = all.first { $0.share.root == nil }
    }

    /// Names of the shares whose records are visible to the caller; nil if the whole zone is.
    var visibleShares: [String]? {
        isParticipant && zoneWide == nil ? memberships.keys.sorted() : nil
    }

    var canWriteAnything: Bool { !isParticipant || memberships.values.contains(where: \.canWrite) }

    /// - Parameter share: Share of a hierarchy that the record is in.
    func canRead(_ recordName: String, share: String?) -> Bool {
        membership(of: recordName, share: share) != nil || !isParticipant
    }

    func canWrite(_ recordName: String, share: String?) -> Bool {
        !isParticipant || membership(of: recordName, share: share)?.canWrite == true
    }

    /// The membership through which the caller sees a record.
    func membership(of recordName: String, share: String?) -> Membership? {
        zoneWide ?? memberships[recordName] ?? share.flatMap { memberships[$0] }
    }

    func membership(ofShare name: String) -> Membership? { memberships[name] }
}

extension Call {
    /// Whether the caller reaches another user's partition through the shared database.
    package var isParticipant: Bool {
        partition.scope == .private && caller.userRecordName != partition.owner && !caller.isOperator
    }

    /// What change tokens of a zone are sealed for: everybody sees another part of it.
    func feed(of zone: StoredZone, in view: any PartitionReader) throws -> Partition {
        guard isParticipant else { return partition }
        var feed = partition
        feed.scope = .shared
        let generation = try view.generation(ofUser: caller.userRecordName, in: zone.key)
        feed.owner = "\(caller.userRecordName) \(partition.owner) \(generation)"
        return feed
    }
}
