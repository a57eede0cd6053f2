// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

extension CKShare {
    public typealias Participant = CKShareParticipant
    public typealias Metadata = CKShareMetadata

    public enum ParticipantRole: Int, Sendable {
        case unknown = 0
        case owner = 1
        case administrator = 2
        /// Invited by name.
        case privateUser = 3
        /// Came by the link of a share that is open to everybody who has it.
        case publicUser = 4
    }

    @available(*, deprecated, renamed: "ParticipantRole")
    public typealias ParticipantType = ParticipantRole

    public enum ParticipantPermission: Int, Sendable {
        case unknown = 0
        case none = 1
        case readOnly = 2
        case readWrite = 3
    }

    public enum ParticipantAcceptanceStatus: Int, Sendable {
        case unknown = 0
        case pending = 1
        case accepted = 2
        case removed = 3
    }
}

/// One of those who share records.
///
/// Source: Apple's documentation of `CKShare.Participant`.
public final class CKShareParticipant: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // @unchecked: what changes is behind a lock.
    public typealias ID = String
    public typealias Role = CKShare.ParticipantRole
    public typealias Permission = CKShare.ParticipantPermission
    public typealias AcceptanceStatus = CKShare.ParticipantAcceptanceStatus

    public let userIdentity: CKUserIdentity
    public let participantID: ID
    public let acceptanceStatus: AcceptanceStatus
    /// Whether the participant asked to take part, and was let in.
    public let isApprovedRequester: Bool
    /// Nil before the share was saved, or if the server does not tell.
    public let dateAddedToShare: Date?
    private let isKnown: Bool
    private let isOneTime: Bool
    /// Last part of the link that is this participant's alone.
    let oneTimeGUID: String?
    private let stored: Locked<(role: Role, permission: Permission)>

    /// - Parameter ownID: Stands for the participant until the server gives one.
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

    /// Somebody who is not known yet: whoever opens the participant's link first. The link is ``CKShare/oneTimeURL(for:)``
    /// of the saved share.
    public class func oneTimeURLParticipant() -> CKShareParticipant {
        var participant = ShareParticipant(
            participantID: UUID().uuidString, identity: UserIdentity(userRecordName: ""), permission: .readOnly)
        participant.isOneTime = true
        return CKShareParticipant(participant)
    }

    /// A privateUser is invited by name.
    public var role: Role {
        get { stored.value.role }
        set { stored.update { $0.role = newValue } }
    }
    public var permission: Permission {
        get { stored.value.permission }
        set { stored.update { $0.permission = newValue } }
    }

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

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKShareParticipant else { return false }
        if participantID == other.participantID { return true }
        let isSomebody = userIdentity.userRecordID != nil || userIdentity.lookupInfo != nil
        return isSomebody && userIdentity == other.userIdentity
    }

    public override var hash: Int { userIdentity.hash }
    public func copy(with zone: NSZone? = nil) -> Any { CKShareParticipant(wire, ownID: participantID) }

    // MARK: Archives

    public static var supportsSecureCoding: Bool { true }

    public convenience init?(coder: NSCoder) {
        guard let participant = ShareParticipant.decode(from: coder, forKey: "participant"),
            let ownID = coder.decodeObject(of: NSString.self, forKey: "participantID")
        else { return nil }
        self.init(participant, ownID: ownID as String)
    }

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
