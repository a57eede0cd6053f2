// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// The record that says with whom a hierarchy of records, or a whole zone, is shared.
///
/// The share and the root of its hierarchy are saved in the same operation.
///
/// Source: Apple's documentation of `CKShare`. One-time links and access requests are not offered.
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

    /// What everybody who has the link may do; without `.none` anybody who has it may join.
    public var publicPermission: ParticipantPermission {
        get { details.publicPermission }
        set {
            change { share in
                share.publicPermission = newValue
                if newValue == .none { share.participants.removeAll { $0.role == .publicUser } }
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

    init(_ details: ShareDetails) {
        rootRecordName = details.rootRecordName
        rootRecordChangeTag = details.rootRecordChangeTag
        publicPermission = CKShare.ParticipantPermission(details.publicPermission)
        participants = details.participants.map { CKShareParticipant($0) }
        currentParticipantID = details.currentParticipantID
    }

    var wire: ShareDetails {
        ShareDetails(
            rootRecordName: rootRecordName, rootRecordChangeTag: rootRecordChangeTag,
            publicPermission: publicPermission.wire, participants: participants.map(\.wire))
    }
}
