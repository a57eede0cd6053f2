// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The permission of a participant.
package enum SharePermission: String, Hashable, Sendable, CaseIterable {
    case none = "NONE"
    case readOnly = "READ_ONLY"
    case readWrite = "READ_WRITE"
    case unknown = "UNKNOWN"
}

/// A participant of a share.
///
/// Source: *CloudKit Web Services Reference*, "Share Participant Dictionary".
package struct ShareParticipant: Hashable, Sendable {
    package enum Kind: String, Hashable, Sendable, CaseIterable {
        case owner = "OWNER"
        case administrator = "ADMINISTRATOR"
        /// Invited individually.
        case user = "USER"
        /// Joined by the link of a share that anyone with the link may join.
        case publicUser = "PUBLIC_USER"
        case unknown = "UNKNOWN"
    }

    package enum Status: String, Hashable, Sendable, CaseIterable {
        case invited = "INVITED"
        case accepted = "ACCEPTED"
        case removed = "REMOVED"
        case unknown = "UNKNOWN"
    }

    /// Assigned by the server. `nil` in a request that invites.
    package var participantID: String?
    package var identity: UserIdentity
    package var kind: Kind
    package var permission: SharePermission
    package var status: Status
    /// Milliseconds since 1970 UTC, in responses to clients that request ``Capability/accessRequests``.
    package var added: Int64?
    /// The participant requested access, and the owner accepted.
    package var isApprovedRequester = false
    /// The first user to open the participant's personal link becomes the participant.
    package var isOneTime = false
    /// Last part of the personal link, in responses to users with write access to the share.
    package var oneTimeGUID: String?

    package init(
        participantID: String? = nil, identity: UserIdentity, kind: Kind = .user, permission: SharePermission,
        status: Status = .invited, added: Int64? = nil
    ) {
        self.participantID = participantID
        self.identity = identity
        self.kind = kind
        self.permission = permission
        self.status = status
        self.added = added
    }
}

/// The keys of a share record that other records do not have.
///
/// Source: *CloudKit Web Services Reference*, "Sharing Records".
package struct ShareDetails: Hashable, Sendable {
    /// Record type of share records. `cloudKit.share`, as the documents print it, is read as this.
    package static let recordType = "cloudkit.share"
    /// Record name of the share of a whole zone.
    package static let zoneShareName = "cloudkit.zoneshare"

    /// The root of the shared hierarchy. `nil` shares the whole zone.
    package var rootRecordName: String?
    /// The change tag of the root record that the sender has.
    package var rootRecordChangeTag: String?
    /// The permission of anyone with the link.
    package var publicPermission: SharePermission
    /// Participants as stored: a `.publicUser` has no permission of its own here.
    private var storedParticipants: [ShareParticipant] = []
    /// All participants, the owner included.
    ///
    /// The permission of a `.publicUser` is derived from ``publicPermission``, so that the two cannot differ. With
    /// `.none` a share has no public participants.
    ///
    /// Source: Apple's documentation of `CKShare.publicPermission` ("The permission for anyone with access to the
    /// share's URL").
    package var participants: [ShareParticipant] {
        get {
            guard storedParticipants.contains(where: { $0.kind == .publicUser }) else { return storedParticipants }
            return storedParticipants.compactMap { participant in
                guard participant.kind == .publicUser else { return participant }
                guard publicPermission != .none else { return nil }
                var participant = participant
                participant.permission = publicPermission
                return participant
            }
        }
        set {
            storedParticipants = newValue
            for index in storedParticipants.indices where storedParticipants[index].kind == .publicUser {
                storedParticipants[index].permission = .unknown
            }
        }
    }
    /// `participantId` of the caller. In responses only.
    package var currentParticipantID: String?
    /// Whether uninvited users may request access. In a request `nil` keeps the setting; elsewhere it means no.
    package var allowsAccessRequests: Bool?
    /// The users with an open request, in responses to users with write access to the share.
    package var requesters: [UserIdentity] = []
    /// The users blocked from requests, in responses to users with write access to the share.
    package var blocked: [UserIdentity] = []
    /// In a request: decisions on requesters and blocked users. Adding a requester as a participant accepts the
    /// request.
    package var answers = AccessAnswers()

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

/// Decisions on access requests and blocked users of a share, by their record names. Tarn's addition.
package struct AccessAnswers: Hashable, Sendable {
    package var denied: [String]
    /// Denied, and blocked from further requests.
    package var blocked: [String]
    package var unblocked: [String]

    package init(denied: [String] = [], blocked: [String] = [], unblocked: [String] = []) {
        self.denied = denied
        self.blocked = blocked
        self.unblocked = unblocked
    }
}

/// A short GUID: the last part of the link to a share.
///
/// Source: *CloudKit Web Services Reference*, "Short GUID Dictionary".
package struct ShortGUID: Hashable, Sendable {
    package var value: String
    package var shouldFetchRootRecord: Bool
    /// The fields to return of the root record. `nil` means all.
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

/// The target of a link, as far as the caller may see it.
///
/// Source: *CloudKit Web Services Reference*, "Short GUID Result Dictionary".
package struct ShareMetadata: Hashable, Sendable {
    package var shortGUID: ShortGUID
    package var containerIdentifier: String
    package var environment: CloudEnvironment
    /// `.private` for the owner, `.shared` for all other users.
    package var scope: DatabaseScope
    package var zoneID: ZoneID
    /// `nil` if the share is of a whole zone.
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

/// The result of a request for access. `nil` means that the owner was notified.
package struct AccessRequestResult: Hashable, Sendable {
    package var shortGUID: ShortGUID
    package var error: WireError?

    package init(shortGUID: ShortGUID, error: WireError? = nil) {
        self.shortGUID = shortGUID
        self.error = error
    }
}

/// Response of `public/records/requestAccess`: one result for each short GUID, in order. The request is a
/// ``ShortGUIDsRequest``. Tarn's addition.
package struct AccessRequestsResponse: Hashable, Sendable {
    package var results: [AccessRequestResult]

    package init(results: [AccessRequestResult]) {
        self.results = results
    }
}

/// Response of `records/resolve` and `records/accept`: one result for each short GUID, in order.
package struct ShortGUIDsResponse: Hashable, Sendable {
    package var results: [ShortGUIDResult]

    package init(results: [ShortGUIDResult]) {
        self.results = results
    }
}
