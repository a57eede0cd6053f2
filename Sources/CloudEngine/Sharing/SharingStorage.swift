// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Reading who shares what in one partition. Zones are named by their key.
///
/// A zone has one share of the whole zone or any number of shares of hierarchies. Of a hierarchy the records are listed
/// one by one, each with the number of the change that it last had in the share, so that participants have a change feed
/// of what they see and of nothing else.
package protocol SharingView {
    func hasShares(inZone zone: Int64) throws -> Bool
    func share(named name: String, in zone: Int64) throws -> StoredShare?
    /// The share of a root record; of the zone if the root is nil.
    func share(ofRoot root: String?, in zone: Int64) throws -> StoredShare?
    func members(ofShare name: String, in zone: Int64) throws -> [ShareMember]
    /// The shares that a user has accepted.
    func memberships(ofUser user: String, in zone: Int64) throws -> [Membership]
    /// Who has accepted a share of the zone.
    func members(inZone zone: Int64) throws -> Set<String>
    /// Raised whenever what a user sees of a zone changes otherwise than by changes of records, so that tokens expire.
    func generation(ofUser user: String, in zone: Int64) throws -> Int64

    func parent(of name: String, in zone: Int64) throws -> String?
    func children(of name: String, in zone: Int64) throws -> [String]
    /// The shares of hierarchies that records are in.
    func shareNames(ofRecords names: [String], in zone: Int64) throws -> [String: String]
    /// Records of shares by the numbers of their last changes, in order of change; those that left a share come as deleted
    /// ones.
    func sharedRecords(
        _ slice: ChangeSlice, in zone: Int64, shares: [String], includingDeleted: Bool, limit: Int, bytesMax: Int
    ) throws -> [StoredRecord]
}

package protocol SharingWork {
    func save(_ share: StoredShare, in zone: Int64) throws
    /// Removes a share, its members and its list of records.
    func removeShare(named name: String, in zone: Int64) throws
    func setMembers(_ members: [ShareMember], ofShare name: String, in zone: Int64) throws
    func raiseGeneration(ofUsers users: Set<String>, in zone: Int64) throws

    func setParent(_ parent: String?, of name: String, in zone: Int64) throws
    func place(_ name: String, inShare share: String, hasLeft: Bool, change: Int64, in zone: Int64) throws
    /// Removes all that is known of sharing in a zone, but for its links.
    func removeSharing(ofZone zone: Int64) throws

    /// The number of the link to a record, made on first use.
    func link(to name: String, in zone: Int64) throws -> Int64

    /// Remembers news for other partitions until they are delivered.
    func post(_ news: [ShareNews]) throws
    func removeNews(_ news: [ShareNews]) throws
}

package struct StoredShare: Hashable, Sendable {
    /// Record name of the share.
    package var name: String
    /// Nil shares the zone.
    package var root: String?
    /// The permission of all members who joined by the share's link.
    package var publicPermission: SharePermission

    package init(name: String, root: String?, publicPermission: SharePermission = .none) {
        self.name = name
        self.root = root
        self.publicPermission = publicPermission
    }
}

/// Somebody who takes part in a share, as far as access goes.
package struct ShareMember: Hashable, Sendable {
    package var user: String
    /// The member's own permission. Nil for a member who joined by the share's link: the share's public permission applies.
    package var permission: SharePermission?
    /// Whether the person may change the share itself.
    package var isAdministrator: Bool

    package init(user: String, permission: SharePermission?, isAdministrator: Bool) {
        self.user = user
        self.permission = permission
        self.isAdministrator = isAdministrator
    }
}

package struct Membership: Hashable, Sendable {
    package var share: StoredShare
    package var canWrite: Bool
    package var isAdministrator: Bool

    package init(share: StoredShare, canWrite: Bool, isAdministrator: Bool) {
        self.share = share
        self.canWrite = canWrite
        self.isAdministrator = isAdministrator
    }
}

/// That somebody's list of shared zones has to change. It is written with what it tells of, and applied to the other
/// partition afterwards, once or more often to the same effect.
package struct ShareNews: Hashable, Sendable {
    package var user: String
    package var zoneName: String
    /// Whether the user has no share of the zone any more.
    package var isGone: Bool
    /// Number of the change in the owner's partition.
    package var change: Int64

    package init(user: String, zoneName: String, isGone: Bool, change: Int64) {
        self.user = user
        self.zoneName = zoneName
        self.isGone = isGone
        self.change = change
    }
}

/// Where a link leads.
package struct LinkTarget: Hashable, Sendable {
    /// The owner's private database.
    package var partition: Partition
    package var zoneName: String
    /// The root record, or the share of a zone.
    package var recordName: String

    package init(partition: Partition, zoneName: String, recordName: String) {
        self.partition = partition
        self.zoneName = zoneName
        self.recordName = recordName
    }
}
