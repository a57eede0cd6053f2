// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

package struct StoredShare: Hashable, Sendable {
    /// Record name of the share.
    package var name: String
    /// Nil shares the zone.
    package var root: String?
    /// The permission of all members that joined by the share's link.
    package var publicPermission: SharePermission

    package init(name: String, root: String?, publicPermission: SharePermission = .none) {
        self.name = name
        self.root = root
        self.publicPermission = publicPermission
    }
}

/// A participant of a share, with their access.
package struct ShareMember: Hashable, Sendable {
    package var user: String
    /// The member's own permission. Nil for a member that joined by the share's link: the share's public permission applies.
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

/// A pending change of a user's list of shared zones. It is written with its cause, and applied to the other
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
