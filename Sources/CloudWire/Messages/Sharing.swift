// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// What somebody may do with what is shared with them.
package enum SharePermission: String, Hashable, Sendable, CaseIterable {
    case none = "NONE"
    case readOnly = "READ_ONLY"
    case readWrite = "READ_WRITE"
    case unknown = "UNKNOWN"
}

/// One of those who share records.
///
/// Source: *CloudKit Web Services Reference*, "Share Participant Dictionary".
package struct ShareParticipant: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case owner = "OWNER"
        case administrator = "ADMINISTRATOR"
        /// Invited by name.
        case user = "USER"
        /// Came by the link of a share that is open to everybody who has it.
        case publicUser = "PUBLIC_USER"
        case unknown = "UNKNOWN"
    }

    package enum Status: String, Hashable, Sendable, CaseIterable {
        case invited = "INVITED"
        case accepted = "ACCEPTED"
        case removed = "REMOVED"
        case unknown = "UNKNOWN"
    }

    /// Made by the server; nil in a request that invites.
    package var participantID: String?
    package var identity: UserIdentity
    package var kind: Kind
    package var permission: SharePermission
    package var status: Status

    package init(
        participantID: String? = nil, identity: UserIdentity, kind: Kind = .user, permission: SharePermission,
        status: Status = .invited
    ) {
        self.participantID = participantID
        self.identity = identity
        self.kind = kind
        self.permission = permission
        self.status = status
    }
}

/// What a share record has that no other record has.
///
/// Source: *CloudKit Web Services Reference*, "Sharing Records".
package struct ShareDetails: Hashable, Sendable {
    /// Record type of share records. `cloudKit.share`, as the documents print it, is read as this.
    package static let recordType = "cloudkit.share"
    /// Record name of the share of a whole zone.
    package static let zoneShareName = "cloudkit.zoneshare"

    /// The root of the hierarchy that is shared; nil shares the whole zone.
    package var rootRecordName: String?
    /// What the sender knew of the root record.
    package var rootRecordChangeTag: String?
    /// What everybody who has the link may do.
    package var publicPermission: SharePermission
    /// All of them, the owner included.
    package var participants: [ShareParticipant]
    /// `participantId` of the caller, in answers.
    package var currentParticipantID: String?

    package init(
        rootRecordName: String? = nil, rootRecordChangeTag: String? = nil, publicPermission: SharePermission = .none,
        participants: [ShareParticipant] = []
    ) {
        self.rootRecordName = rootRecordName
        self.rootRecordChangeTag = rootRecordChangeTag
        self.publicPermission = publicPermission
        self.participants = participants
    }

    package var owner: ShareParticipant? { participants.first { $0.kind == .owner } }

    package var currentParticipant: ShareParticipant? {
        currentParticipantID.flatMap { id in participants.first { $0.participantID == id } }
    }
}

/// A short GUID: the last part of the link to a share.
///
/// Source: *CloudKit Web Services Reference*, "Short GUID Dictionary".
package struct ShortGUID: Hashable, Sendable {
    package var value: String
    package var shouldFetchRootRecord: Bool
    /// Fields wanted of the root record; nil wants all.
    package var rootRecordDesiredKeys: [String]?

    package init(value: String, shouldFetchRootRecord: Bool = false, rootRecordDesiredKeys: [String]? = nil) {
        self.value = value
        self.shouldFetchRootRecord = shouldFetchRootRecord
        self.rootRecordDesiredKeys = rootRecordDesiredKeys
    }
}

/// Body of `POST public/records/resolve` and `public/records/accept`.
package struct ShortGUIDsRequest: Hashable, Sendable {
    package var shortGUIDs: [ShortGUID]

    package init(shortGUIDs: [ShortGUID]) {
        self.shortGUIDs = shortGUIDs
    }
}

/// What a link leads to, as the caller may know it.
///
/// Source: *CloudKit Web Services Reference*, "Short GUID Result Dictionary".
package struct ShareMetadata: Hashable, Sendable {
    package var shortGUID: ShortGUID
    package var containerIdentifier: String
    package var environment: CloudEnvironment
    /// `.private` for the owner, `.shared` for everybody else.
    package var scope: DatabaseScope
    package var zoneID: ZoneID
    /// Nil where a whole zone is shared.
    package var rootRecordName: String?
    package var rootRecord: Record?
    package var share: Record
    package var owner: UserIdentity
    package var participantKind: ShareParticipant.Kind
    package var participantPermission: SharePermission
    package var participantStatus: ShareParticipant.Status

    package init(
        shortGUID: ShortGUID, containerIdentifier: String, environment: CloudEnvironment, scope: DatabaseScope,
        zoneID: ZoneID, rootRecordName: String?, rootRecord: Record? = nil, share: Record, owner: UserIdentity,
        participantKind: ShareParticipant.Kind, participantPermission: SharePermission,
        participantStatus: ShareParticipant.Status
    ) {
        self.shortGUID = shortGUID
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.scope = scope
        self.zoneID = zoneID
        self.rootRecordName = rootRecordName
        self.rootRecord = rootRecord
        self.share = share
        self.owner = owner
        self.participantKind = participantKind
        self.participantPermission = participantPermission
        self.participantStatus = participantStatus
    }
}

package enum ShortGUIDResult: Hashable, Sendable {
    case share(ShareMetadata)
    case failure(ShortGUID, WireError)
}

/// Answer of `records/resolve` and `records/accept`: one result for each short GUID, in order.
package struct ShortGUIDsResponse: Hashable, Sendable {
    package var results: [ShortGUIDResult]

    package init(results: [ShortGUIDResult]) {
        self.results = results
    }
}
