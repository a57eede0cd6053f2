// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// The record that shares a hierarchy of records, or a whole zone, with participants.
///
/// Save the share and the root of its hierarchy in the same operation.
///
/// Source: Apple's documentation of `CKShare`.
public final class CKShare: CKRecord, @unchecked Sendable {  // As its superclass.
    /// Keys of the fields that every share has.
    public enum SystemFieldKey {
        /// The key of the title, a `String`.
        public static let title: CKRecord.FieldKey = "cloudkit.title"
        /// The key of the thumbnail image, a `Data`.
        public static let thumbnailImageData: CKRecord.FieldKey = "cloudkit.thumbnailImageData"
        /// The key of the app-defined type, a `String`.
        public static let shareType: CKRecord.FieldKey = "cloudkit.type"
    }

    /// Creates a share of a record and the records below it, with a random name.
    public convenience init(rootRecord: CKRecord) {
        self.init(rootRecord: rootRecord, shareID: CKRecord.ID(zoneID: rootRecord.recordID.zoneID))
    }

    /// Creates a share of a record and the records below it.
    ///
    /// - Parameters:
    ///   - rootRecord: The root of the hierarchy, in a custom zone.
    ///   - shareID: An identifier in the root record's zone.
    public convenience init(rootRecord: CKRecord, shareID: CKRecord.ID) {
        var details = ShareDetails(
            rootRecordName: rootRecord.recordID.recordName, rootRecordChangeTag: rootRecord.recordChangeTag)
        details.participants = [Self.ownParticipant]
        self.init(details, shareID)
        rootRecord.stored.update { $0.shareName = shareID.recordName }
    }

    /// Creates a share of all records of a zone.
    public convenience init(recordZoneID: CKRecordZone.ID) {
        self.init(
            ShareDetails(participants: [Self.ownParticipant]),
            CKRecord.ID(recordName: CKRecordNameZoneWideShare, zoneID: recordZoneID))
    }

    private convenience init(_ details: ShareDetails, _ recordID: CKRecord.ID) {
        var state = State(recordType: CKRecord.SystemType.share)
        state.share = ShareState(details)
        self.init(state, recordID, scope: .private)
    }

    /// The creator of a share owns it.
    private static var ownParticipant: ShareParticipant {
        ShareParticipant(
            identity: UserIdentity(userRecordName: CKCurrentUserDefaultName), kind: .owner, permission: .readWrite,
            status: .accepted)
    }

    /// Returns an independent copy.
    public override func copy(with zone: NSZone? = nil) -> Any {
        var state = stored.value
        // Participants are objects: an edit of one in the copy must not change the original.
        let participants = state.share?.participants.map { CKShareParticipant($0.wire, ownID: $0.participantID) }
        state.share?.participants = participants ?? []
        return CKShare(state, recordID, scope: scope)
    }

    private var details: ShareState { stored.value.share ?? ShareState(ShareDetails()) }

    private func change(_ body: (inout ShareState) -> Void) {
        stored.update { state in
            var share = state.share ?? ShareState(ShareDetails())
            body(&share)
            state.share = share
        }
    }

    // MARK: Participants

    /// The link to the share. `nil` before the share was saved.
    public var url: URL? {
        let state = stored.value
        guard let guid = state.server?.sharing.shortGUID, let base = state.linkBase else { return nil }
        return URL(string: base + "/share/" + guid)
    }

    /// The owner of the share.
    public var owner: Participant {
        details.participants.first { $0.role == .owner } ?? CKShareParticipant(Self.ownParticipant)
    }

    /// The participant of the signed-in user. `nil` if the user doesn't participate.
    public var currentUserParticipant: Participant? {
        let details = details
        if let id = details.currentParticipantID { return details.participants.first { $0.participantID == id } }
        return stored.value.server == nil ? owner : nil
    }

    /// All participants, the owner included.
    public var participants: [Participant] { details.participants }

    /// The permission of anyone with the link. Unless it is `.none`, anyone with the link may join. It is the
    /// permission of every participant with the role `.publicUser`, effective immediately; invited participants have
    /// their own.
    public var publicPermission: ParticipantPermission {
        get { details.publicPermission }
        set {
            change { share in
                share.publicPermission = newValue
                if newValue == .none { share.participants.removeAll { $0.role == .publicUser } }
                for participant in share.participants where participant.role == .publicUser {
                    participant.permission = newValue
                }
            }
        }
    }

    /// Adds a participant, or updates an existing one. Effective once the share is saved.
    public func addParticipant(_ participant: Participant) {
        if participant.role == .unknown { participant.role = .privateUser }
        if participant.permission == .unknown { participant.permission = .readOnly }
        change { share in
            if let index = share.participants.firstIndex(of: participant) {
                share.participants[index] = participant
            } else {
                share.participants.append(participant)
            }
        }
    }

    /// Removes a participant. Effective once the share is saved.
    public func removeParticipant(_ participant: Participant) {
        change { share in share.participants.removeAll { $0 == participant && $0.role != .owner } }
    }

    /// Returns the personal link of a participant created by `Participant.oneTimeURLParticipant()`. The first user that
    /// opens it becomes the participant, and the link expires.
    ///
    /// - Returns: `nil` before the share was saved, after the link was used, and for users who may not change the
    ///   share.
    public func oneTimeURL(for participantID: Participant.ID) -> URL? {
        let state = stored.value
        guard let base = state.linkBase,
            let guid = details.participants.first(where: { $0.participantID == participantID })?.oneTimeGUID
        else { return nil }
        return URL(string: base + "/share/" + guid)
    }

    // MARK: Access requests

    /// Whether uninvited users may request access. Effective once the share is saved.
    public var allowsAccessRequests: Bool {
        get { details.allowsAccessRequests }
        set { change { $0.allowsAccessRequests = newValue } }
    }

    /// The users with an open access request; empty unless this user may change the share. To accept one, find the
    /// participant by the requester's `participantLookupInfo` and add it.
    public var requesters: [AccessRequester] { details.requesters.map { AccessRequester($0) } }

    /// The users blocked from requesting access; empty unless this user may change the share.
    public var blockedIdentities: [BlockedIdentity] { details.blocked.map { BlockedIdentity($0) } }

    /// Denies access requests. The users may request again. Effective once the share is saved.
    public func denyRequesters(_ requesters: [AccessRequester]) {
        change { share in
            let names = Self.remove(requesters.map(\.userIdentity), from: &share.requesters).map(\.userRecordName)
            share.answers.denied += names
        }
    }

    /// Denies access requests, and blocks later ones. Effective once the share is saved.
    public func blockRequesters(_ requesters: [AccessRequester]) {
        change { share in
            let blocked = Self.remove(requesters.map(\.userIdentity), from: &share.requesters)
            share.blocked += blocked
            share.answers.blocked += blocked.map(\.userRecordName)
        }
    }

    /// Unblocks users, so that they can request access again. Effective once the share is saved.
    public func unblockIdentities(_ blockedIdentities: [BlockedIdentity]) {
        change { share in
            let unblocked = Self.remove(blockedIdentities.map(\.userIdentity), from: &share.blocked).map(\.userRecordName)
            share.answers.blocked.removeAll { unblocked.contains($0) }
            share.answers.unblocked += unblocked
        }
    }

    private static func remove(_ identities: [CKUserIdentity], from list: inout [UserIdentity]) -> [UserIdentity] {
        let names = Set(identities.compactMap { $0.userRecordID?.recordName })
        let taken = list.filter { names.contains($0.userRecordName) }
        list.removeAll { names.contains($0.userRecordName) }
        return taken
    }
}

/// The key of a share's title.
public let CKShareTitleKey = CKShare.SystemFieldKey.title
/// The key of a share's thumbnail image.
public let CKShareThumbnailImageDataKey = CKShare.SystemFieldKey.thumbnailImageData
/// The key of a share's app-defined type.
public let CKShareTypeKey = CKShare.SystemFieldKey.shareType

/// State of a share that other records do not have.
struct ShareState: Sendable {
    var rootRecordName: String?
    var rootRecordChangeTag: String?
    var publicPermission: CKShare.ParticipantPermission
    var participants: [CKShareParticipant]
    var currentParticipantID: String?
    var allowsAccessRequests: Bool
    var requesters: [UserIdentity]
    var blocked: [UserIdentity]
    /// The decisions on access requests since the share was fetched or saved.
    var answers: AccessAnswers

    init(_ details: ShareDetails) {
        rootRecordName = details.rootRecordName
        rootRecordChangeTag = details.rootRecordChangeTag
        publicPermission = CKShare.ParticipantPermission(details.publicPermission)
        participants = details.participants.map { CKShareParticipant($0) }
        currentParticipantID = details.currentParticipantID
        allowsAccessRequests = details.allowsAccessRequests ?? false
        requesters = details.requesters
        blocked = details.blocked
        answers = details.answers
    }

    var wire: ShareDetails {
        var details = ShareDetails(
            rootRecordName: rootRecordName, rootRecordChangeTag: rootRecordChangeTag,
            publicPermission: publicPermission.wire, participants: participants.map(\.wire))
        details.allowsAccessRequests = allowsAccessRequests
        details.requesters = requesters
        details.blocked = blocked
        details.answers = answers
        return details
    }
}
