// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

extension CKShare {
    /// The type of a participant.
    public typealias Participant = CKShareParticipant
    /// The type of a share's metadata.
    public typealias Metadata = CKShareMetadata

    /// The roles of participants.
    public enum ParticipantRole: Int, Sendable {
        /// Unknown.
        case unknown = 0
        /// Created the share.
        case owner = 1
        /// May change the share.
        case administrator = 2
        /// Invited individually.
        case privateUser = 3
        /// Joined by the link of a share that anyone with the link may join.
        case publicUser = 4
    }

    /// The earlier name of `ParticipantRole`.
    @available(*, deprecated, renamed: "ParticipantRole")
    public typealias ParticipantType = ParticipantRole

    /// The permissions of participants.
    public enum ParticipantPermission: Int, Sendable {
        /// Unknown.
        case unknown = 0
        /// No access.
        case none = 1
        /// May read.
        case readOnly = 2
        /// May read and write.
        case readWrite = 3
    }

    /// Whether a participant has accepted the share.
    public enum ParticipantAcceptanceStatus: Int, Sendable {
        /// Unknown.
        case unknown = 0
        /// Invited, and not accepted yet.
        case pending = 1
        /// Accepted.
        case accepted = 2
        /// Removed from the share.
        case removed = 3
    }
}

/// A participant of a share.
///
/// Source: Apple's documentation of `CKShare.Participant`.
public final class CKShareParticipant: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // @unchecked: mutable state is behind a lock.
    /// The type of a participant's identifier.
    public typealias ID = String
    /// The type of a participant's role.
    public typealias Role = CKShare.ParticipantRole
    /// The type of a participant's permission.
    public typealias Permission = CKShare.ParticipantPermission
    /// The type of a participant's acceptance status.
    public typealias AcceptanceStatus = CKShare.ParticipantAcceptanceStatus

    /// The user.
    public let userIdentity: CKUserIdentity
    /// The identifier of the participant.
    public let participantID: ID
    /// Whether the participant has accepted the share.
    public let acceptanceStatus: AcceptanceStatus
    /// Whether the participant requested access, and the owner accepted.
    public let isApprovedRequester: Bool
    /// When the participant was added. `nil` before the share was saved, or if the server does not state it.
    public let dateAddedToShare: Date?
    private let isKnown: Bool
    private let isOneTime: Bool
    /// Last part of the participant's personal link.
    let oneTimeGUID: String?
    private let stored: Locked<(role: Role, permission: Permission)>

    /// - Parameter ownID: Identifies the participant until the server assigns an identifier.
    init(_ participant: ShareParticipant, ownID: ID = UUID().uuidString) {
        userIdentity = CKUserIdentity(participant.identity)
        isKnown = participant.participantID != nil
        participantID = participant.participantID ?? ownID
        acceptanceStatus = CKShare.ParticipantAcceptanceStatus(participant.status)
        isApprovedRequester = participant.isApprovedRequester
        dateAddedToShare = participant.added.map { Date(timeIntervalSince1970: Double($0) / 1000) }
        isOneTime = participant.isOneTime
        oneTimeGUID = participant.oneTimeGUID
        stored = Locked((Role(participant.kind), Permission(participant.permission)))
    }

    /// Creates a participant for an unknown user: the first one to open the participant's link. Read the
    /// link from ``CKShare/oneTimeURL(for:)`` of the saved share.
    public class func oneTimeURLParticipant() -> CKShareParticipant {
        var participant = ShareParticipant(
            participantID: UUID().uuidString, identity: UserIdentity(userRecordName: ""), permission: .readOnly)
        participant.isOneTime = true
        return CKShareParticipant(participant)
    }

    /// The role. `.privateUser` means invited individually.
    public var role: Role {
        get { stored.value.role }
        set { stored.update { $0.role = newValue } }
    }
    /// The participant's rights to the records.
    public var permission: Permission {
        get { stored.value.permission }
        set { stored.update { $0.permission = newValue } }
    }

    /// The role, by its earlier name.
    @available(*, deprecated, renamed: "role")
    public var type: CKShare.ParticipantType {
        get { role }
        set { role = newValue }
    }

    var wire: ShareParticipant {
        let (role, permission) = stored.value
        var participant = ShareParticipant(
            participantID: isKnown ? participantID : nil, identity: userIdentity.wire, kind: role.wire,
            permission: permission.wire, status: acceptanceStatus.wire,
            added: dateAddedToShare.flatMap { Int64(exactly: ($0.timeIntervalSince1970 * 1000).rounded()) })
        participant.isApprovedRequester = isApprovedRequester
        participant.isOneTime = isOneTime
        participant.oneTimeGUID = oneTimeGUID
        return participant
    }

    /// Returns whether an object is an equal participant.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKShareParticipant else { return false }
        if participantID == other.participantID { return true }
        let isSomebody = userIdentity.userRecordID != nil || userIdentity.lookupInfo != nil
        return isSomebody && userIdentity == other.userIdentity
    }

    /// A hash of the values that ``isEqual(_:)`` compares.
    public override var hash: Int { userIdentity.hash }
    /// Returns an independent copy.
    public func copy(with zone: NSZone? = nil) -> Any { CKShareParticipant(wire, ownID: participantID) }

    // MARK: Archives

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived participant. Returns `nil` if the archive is damaged.
    public convenience init?(coder: NSCoder) {
        guard let participant = ShareParticipant.decode(from: coder, forKey: "participant"),
            let ownID = coder.decodeObject(of: NSString.self, forKey: "participantID")
        else { return nil }
        self.init(participant, ownID: ownID as String)
    }

    /// Encodes the participant.
    public func encode(with coder: NSCoder) {
        coder.encode(wire.archived, forKey: "participant")
        coder.encode(participantID as NSString, forKey: "participantID")
    }
}

extension CKShare.ParticipantRole {
    init(_ kind: ShareParticipant.Kind) {
        switch kind {
        case .owner: self = .owner
        case .administrator: self = .administrator
        case .user: self = .privateUser
        case .publicUser: self = .publicUser
        case .unknown: self = .unknown
        }
    }

    var wire: ShareParticipant.Kind {
        switch self {
        case .owner: .owner
        case .administrator: .administrator
        case .privateUser: .user
        case .publicUser: .publicUser
        case .unknown: .unknown
        }
    }
}

extension CKShare.ParticipantPermission {
    init(_ permission: SharePermission) {
        switch permission {
        case .none: self = .none
        case .readOnly: self = .readOnly
        case .readWrite: self = .readWrite
        case .unknown: self = .unknown
        }
    }

    var wire: SharePermission {
        switch self {
        case .none: .none
        case .readOnly: .readOnly
        case .readWrite: .readWrite
        case .unknown: .unknown
        }
    }
}

extension CKShare.ParticipantAcceptanceStatus {
    init(_ status: ShareParticipant.Status) {
        switch status {
        case .invited: self = .pending
        case .accepted: self = .accepted
        case .removed: self = .removed
        case .unknown: self = .unknown
        }
    }

    var wire: ShareParticipant.Status {
        switch self {
        case .pending: .invited
        case .accepted: .accepted
        case .removed: .removed
        case .unknown: .unknown
        }
    }
}
