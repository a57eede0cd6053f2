// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// What a link to a share leads to, before it is accepted.
///
/// Source: Apple's documentation of `CKShare.Metadata`.
public final class CKShareMetadata: NSObject, NSCopying, NSSecureCoding, Sendable {
    public let share: CKShare
    public let containerIdentifier: String
    /// Nil where a whole zone is shared.
    public let hierarchicalRootRecordID: CKRecord.ID?
    /// Nil if it was not asked for.
    public let rootRecord: CKRecord?
    public let ownerIdentity: CKUserIdentity
    public let participantRole: CKShare.ParticipantRole
    public let participantStatus: CKShare.ParticipantAcceptanceStatus
    public let participantPermission: CKShare.ParticipantPermission
    let shortGUID: String

    init(_ metadata: ShareMetadata, share: CKShare) {
        self.share = share
        let scope = CKDatabase.Scope(metadata.scope)
        let zoneID = CKRecordZone.ID(metadata.zoneID, scope: scope)
        containerIdentifier = metadata.containerIdentifier
        hierarchicalRootRecordID = metadata.rootRecordName.map { CKRecord.ID(recordName: $0, zoneID: zoneID) }
        rootRecord = metadata.rootRecord.map { CKRecord($0, in: zoneID, scope: scope) }
        ownerIdentity = CKUserIdentity(metadata.owner)
        participantRole = CKShare.ParticipantRole(metadata.participantKind)
        participantStatus = CKShare.ParticipantAcceptanceStatus(metadata.participantStatus)
        participantPermission = CKShare.ParticipantPermission(metadata.participantPermission)
        shortGUID = metadata.shortGUID.value
    }

    @available(*, deprecated, renamed: "hierarchicalRootRecordID")
    public var rootRecordID: CKRecord.ID { hierarchicalRootRecordID ?? share.recordID }

    @available(*, deprecated, renamed: "participantRole")
    public var participantType: CKShare.ParticipantType { participantRole }

    public override func isEqual(_ object: Any?) -> Bool { (object as? CKShareMetadata)?.shortGUID == shortGUID }
    public override var hash: Int { shortGUID.hashValue }
    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    public static var supportsSecureCoding: Bool { true }

    public init?(coder: NSCoder) {
        guard let share = coder.decodeObject(of: CKShare.self, forKey: "share"),
            let containerIdentifier = coder.decodeObject(of: NSString.self, forKey: "containerIdentifier"),
            let owner = coder.decodeObject(of: CKUserIdentity.self, forKey: "owner"),
            let shortGUID = coder.decodeObject(of: NSString.self, forKey: "shortGUID")
        else { return nil }
        self.share = share
        self.containerIdentifier = containerIdentifier as String
        hierarchicalRootRecordID = coder.decodeObject(of: CKRecord.ID.self, forKey: "rootRecordID")
        rootRecord = coder.decodeObject(of: CKRecord.self, forKey: "rootRecord")
        ownerIdentity = owner
        participantRole = CKShare.ParticipantRole(rawValue: coder.decodeInteger(forKey: "role")) ?? .unknown
        participantStatus = CKShare.ParticipantAcceptanceStatus(rawValue: coder.decodeInteger(forKey: "status")) ?? .unknown
        participantPermission = CKShare.ParticipantPermission(rawValue: coder.decodeInteger(forKey: "permission")) ?? .unknown
        self.shortGUID = shortGUID as String
    }

    public func encode(with coder: NSCoder) {
        coder.encode(share, forKey: "share")
        coder.encode(containerIdentifier as NSString, forKey: "containerIdentifier")
        coder.encode(hierarchicalRootRecordID, forKey: "rootRecordID")
        coder.encode(rootRecord, forKey: "rootRecord")
        coder.encode(ownerIdentity, forKey: "owner")
        coder.encode(participantRole.rawValue, forKey: "role")
        coder.encode(participantStatus.rawValue, forKey: "status")
        coder.encode(participantPermission.rawValue, forKey: "permission")
        coder.encode(shortGUID as NSString, forKey: "shortGUID")
    }
}

extension CKRecord {
    /// The record above this one: who shares that one shares this one too. In the same zone.
    public var parent: CKReference? {
        get { stored.value.parent.map { CKReference(recordID: $0.recordID, action: .none) } }
        set {
            stored.update { state in
                state.parent = newValue.map { ParentLink(recordID: $0.recordID) }
                state.isParentChanged = true
            }
        }
    }

    public func setParent(_ parentRecord: CKRecord?) { setParent(parentRecord?.recordID) }

    public func setParent(_ parentRecordID: CKRecord.ID?) {
        parent = parentRecordID.map { CKReference(recordID: $0, action: .none) }
    }

    /// The share that the record belongs to.
    public var share: CKReference? {
        let state = stored.value
        let name = state.shareName ?? state.server?.sharing.share
        return name.map {
            CKReference(recordID: CKRecord.ID(recordName: $0, zoneID: recordID.zoneID), action: .none)
        }
    }
}
