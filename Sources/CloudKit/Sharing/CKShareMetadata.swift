// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// The metadata of a share, available before it is accepted.
///
/// Source: Apple's documentation of `CKShare.Metadata`.
public final class CKShareMetadata: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The share.
    public let share: CKShare
    /// The container with the share.
    public let containerIdentifier: String
    /// The root record's identifier. `nil` if the share is of a whole zone.
    public let hierarchicalRootRecordID: CKRecord.ID?
    /// The root record. `nil` unless it was requested.
    public let rootRecord: CKRecord?
    /// The owner of the share.
    public let ownerIdentity: CKUserIdentity
    /// The role of the signed-in user.
    public let participantRole: CKShare.ParticipantRole
    /// Whether the signed-in user has accepted the share.
    public let participantStatus: CKShare.ParticipantAcceptanceStatus
    /// The permission of the signed-in user.
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

    /// The root record's identifier, or that of a zone-wide share.
    @available(*, deprecated, renamed: "hierarchicalRootRecordID")
    public var rootRecordID: CKRecord.ID { hierarchicalRootRecordID ?? share.recordID }

    /// The role of the signed-in user.
    @available(*, deprecated, renamed: "participantRole")
    public var participantType: CKShare.ParticipantType { participantRole }

    /// Returns whether an object is equal metadata.
    public override func isEqual(_ object: Any?) -> Bool { (object as? CKShareMetadata)?.shortGUID == shortGUID }
    /// A hash of the values that ``isEqual(_:)`` compares.
    public override var hash: Int { shortGUID.hashValue }
    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes archived metadata. Returns `nil` if the archive is damaged.
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

    /// Encodes the metadata.
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
    /// The parent record, in the same zone. A share of the parent includes this record.
    public var parent: CKReference? {
        get { stored.value.parent.map { CKReference(recordID: $0.recordID, action: .none) } }
        set {
            stored.update { state in
                state.parent = newValue.map { ParentLink(recordID: $0.recordID) }
                state.isParentChanged = true
            }
        }
    }

    /// Sets the parent record. `nil` removes it.
    public func setParent(_ parentRecord: CKRecord?) { setParent(parentRecord?.recordID) }

    /// Sets the parent record. `nil` removes it.
    public func setParent(_ parentRecordID: CKRecord.ID?) {
        parent = parentRecordID.map { CKReference(recordID: $0, action: .none) }
    }

    /// The share of which this record is the root.
    public var share: CKReference? {
        let state = stored.value
        let name = state.shareName ?? state.server?.sharing.share
        return name.map {
            CKReference(recordID: CKRecord.ID(recordName: $0, zoneID: recordID.zoneID), action: .none)
        }
    }
}
