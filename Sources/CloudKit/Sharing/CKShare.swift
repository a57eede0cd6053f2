// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// The record that says with whom a hierarchy of records, or a whole zone, is shared.
///
/// The share and the root of its hierarchy are saved in the same operation.
///
/// Source: Apple's documentation of `CKShare`.
public final class CKShare: CKRecord, @unchecked Sendable {  // As its superclass.
    public enum SystemFieldKey {
        public static let title: CKRecord.FieldKey = "cloudkit.title"
        public static let thumbnailImageData: CKRecord.FieldKey = "cloudkit.thumbnailImageData"
        public static let shareType: CKRecord.FieldKey = "cloudkit.type"
    }

    public convenience init(rootRecord: CKRecord) {
        self.init(rootRecord: rootRecord, shareID: CKRecord.ID(zoneID: rootRecord.recordID.zoneID))
    }

    /// - Parameter shareID: In the zone of the root.
    public convenience init(rootRecord: CKRecord, shareID: CKRecord.ID) {
        var details = ShareDetails(
            rootRecordName: rootRecord.recordID.recordName, rootRecordChangeTag: rootRecord.recordChangeTag)
        details.participants = [Self.ownParticipant]
        self.init(details, shareID)
        rootRecord.stored.update { $0.shareName = shareID.recordName }
    }

    /// Shares all records of a zone.
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

    /// Whoever makes a share owns it.
    private static var ownParticipant: ShareParticipant {
        ShareParticipant(
            identity: UserIdentity(userRecordName: CKCurrentUserDefaultName), kind: .owner, permission: .readWrite,
            status: .accepted)
    }

    public override func copy(with zone: NSZone? = nil) -> Any { CKShare(stored.value, recordID, scope: scope) }

    private var details: ShareState { stored.value.share ?? ShareState(ShareDetails()) }

    private func change(_ body: (inout ShareState) -> Void) {
        stored.update { state in
            var share = state.share ?? ShareState(ShareDetails())
            body(&share)
            state.share = share
        }
    }

    // MARK: What is shared with whom

    /// The link to give to others; nil before the share was saved.
    public var url: URL? {
        let state = stored.value
        guard let guid = state.server?.sharing.shortGUID, let base = state.linkBase else { return nil }
        return URL(string: base + "/share/" + guid)
    }

    public var owner: Participant {
        details.participants.first { $0.role == .owner } ?? CKShareParticipant(Self.ownParticipant)
    }

    public var currentUserParticipant: Participant? {
        let details = details
        if let id = details.currentParticipantID { return details.participants.first { $0.participantID == id } }
        return stored.value.server == nil ? owner : nil
    }

    /// All of them, the owner included.
    public var participants: [Participant] { details.participants }

    /// What everybody who has the link may do; without `.none` anybody who has it may join. It is the permission of every
    /// participant with the role `.publicUser`, at once; invited participants keep their own.
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

    /// Adds somebody, or updates who is there already.
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

    public func removeParticipant(_ participant: Participant) {
        change { share in share.participants.removeAll { $0 == participant && $0.role != .owner } }
    }

    /// The link that is one participant's alone, made by `Participant.oneTimeURLParticipant()`: whoever opens it first takes
    /// part, and it is of no use to anybody afterwards.
    ///
    /// - Returns: Nil before the share was saved, once the link was used, and for who may not change the share.
    public func oneTimeURL(for participantID: Participant.ID) -> URL? {
        let state = stored.value
        guard let base = state.linkBase,
            let guid = details.participants.first(where: { $0.participantID == participantID })?.oneTimeGUID
        else { return nil }
        return URL(string: base + "/share/" + guid)
    }

    // MARK: Who wants to take part

    /// Whether people who were not invited may ask to be. It counts once the share is saved.
    public var allowsAccessRequests: Bool {
        get { details.allowsAccessRequests }
        set { change { $0.allowsAccessRequests = newValue } }
    }

    /// Who asked, and has no answer yet; empty for who may not change the share. Whoever is added as a participant, found by
    /// the requester's `participantLookupInfo`, is let in.
    public var requesters: [AccessRequester] { details.requesters.map { AccessRequester($0) } }

    /// Who may not ask; empty for who may not change the share.
    public var blockedIdentities: [BlockedIdentity] { details.blocked.map { BlockedIdentity($0) } }

    /// Says no. They may ask again. It counts once the share is saved.
    public func denyRequesters(_ requesters: [AccessRequester]) {
        change { share in
            let names = Self.take(requesters.map(\.userIdentity), from: &share.requesters).map(\.userRecordName)
            share.answers.denied += names
        }
    }

    /// Says no, now and whenever they ask again. It counts once the share is saved.
    public func blockRequesters(_ requesters: [AccessRequester]) {
        change { share in
            let blocked = Self.take(requesters.map(\.userIdentity), from: &share.requesters)
            share.blocked += blocked
            share.answers.blocked += blocked.map(\.userRecordName)
        }
    }

    /// Lets people ask again. It counts once the share is saved.
    public func unblockIdentities(_ blockedIdentities: [BlockedIdentity]) {
        change { share in
            let unblocked = Self.take(blockedIdentities.map(\.userIdentity), from: &share.blocked).map(\.userRecordName)
            share.answers.blocked.removeAll { unblocked.contains($0) }
            share.answers.unblocked += unblocked
        }
    }

    private static func take(_ identities: [CKUserIdentity], from list: inout [UserIdentity]) -> [UserIdentity] {
        let names = Set(identities.compactMap { $0.userRecordID?.recordName })
        let taken = list.filter { names.contains($0.userRecordName) }
        list.removeAll { names.contains($0.userRecordName) }
        return taken
    }
}

public let CKShareTitleKey = CKShare.SystemFieldKey.title
public let CKShareThumbnailImageDataKey = CKShare.SystemFieldKey.thumbnailImageData
public let CKShareTypeKey = CKShare.SystemFieldKey.shareType

/// What a share has that no other record has.
struct ShareState: Sendable {
    var rootRecordName: String?
    var rootRecordChangeTag: String?
    var publicPermission: CKShare.ParticipantPermission
    var participants: [CKShareParticipant]
    var currentParticipantID: String?
    var allowsAccessRequests: Bool
    var requesters: [UserIdentity]
    var blocked: [UserIdentity]
    /// What was decided here about both since the share was fetched or saved.
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
