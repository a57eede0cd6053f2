// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Generated from Tests/Surface/Sharing.txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests

import CloudKit
import Foundation
import Testing

@Suite struct SharingSurfaceTests {
    @Test func constantsHaveTheirDocumentedValues() {
        expectDocumented("CKShare.SystemFieldKey.title", CKShare.SystemFieldKey.title, "cloudkit.title")
        expectDocumented("CKShare.SystemFieldKey.thumbnailImageData", CKShare.SystemFieldKey.thumbnailImageData, "cloudkit.thumbnailImageData")
        expectDocumented("CKShare.SystemFieldKey.shareType", CKShare.SystemFieldKey.shareType, "cloudkit.type")
        expectDocumented("CKShare.ParticipantRole.unknown", CKShare.ParticipantRole.unknown, 0)
        expectDocumented("CKShare.ParticipantRole.owner", CKShare.ParticipantRole.owner, 1)
        expectDocumented("CKShare.ParticipantRole.administrator", CKShare.ParticipantRole.administrator, 2)
        expectDocumented("CKShare.ParticipantRole.privateUser", CKShare.ParticipantRole.privateUser, 3)
        expectDocumented("CKShare.ParticipantRole.publicUser", CKShare.ParticipantRole.publicUser, 4)
        expectDocumented("CKShare.ParticipantPermission.unknown", CKShare.ParticipantPermission.unknown, 0)
        expectDocumented("CKShare.ParticipantPermission.none", CKShare.ParticipantPermission.none, 1)
        expectDocumented("CKShare.ParticipantPermission.readOnly", CKShare.ParticipantPermission.readOnly, 2)
        expectDocumented("CKShare.ParticipantPermission.readWrite", CKShare.ParticipantPermission.readWrite, 3)
        expectDocumented("CKShare.ParticipantAcceptanceStatus.unknown", CKShare.ParticipantAcceptanceStatus.unknown, 0)
        expectDocumented("CKShare.ParticipantAcceptanceStatus.pending", CKShare.ParticipantAcceptanceStatus.pending, 1)
        expectDocumented("CKShare.ParticipantAcceptanceStatus.accepted", CKShare.ParticipantAcceptanceStatus.accepted, 2)
        expectDocumented("CKShare.ParticipantAcceptanceStatus.removed", CKShare.ParticipantAcceptanceStatus.removed, 3)
        expectDocumented("CKShareTitleKey", CKShareTitleKey, "cloudkit.title")
        expectDocumented("CKShareThumbnailImageDataKey", CKShareThumbnailImageDataKey, "cloudkit.thumbnailImageData")
        expectDocumented("CKShareTypeKey", CKShareTypeKey, "cloudkit.type")
    }

    @Test func membersHaveTheirDocumentedTypes() {
        Self.usesCKShare()
        Self.usesCKShareSystemFieldKey()
        Self.usesCKShareParticipantRole()
        Self.usesCKShareParticipantPermission()
        Self.usesCKShareParticipantAcceptanceStatus()
        Self.usesCKShareParticipant()
        Self.usesCKShareMetadata()
        Self.usesCKShareAccessRequester()
        Self.usesCKShareBlockedIdentity()
        Self.usesCKUserIdentity()
        Self.usesCKUserIdentityLookupInfo()
        Self.usesCKFetchShareMetadataOperation()
        Self.usesCKAcceptSharesOperation()
        Self.usesCKFetchShareParticipantsOperation()
        Self.usesCKShareRequestAccessOperation()
        Self.usesCKAllowedSharingOptions()
        Self.usesCKSharingParticipantAccessOption()
        Self.usesCKSharingParticipantPermissionOption()
        Self.usesGlobals()
    }

    private static func usesCKShare() {
        _ = { (x: CKShare) -> CKRecord in x }
        _ = { (x: CKShare) -> any NSSecureCoding in x }
        _ = { (x: CKShare) -> any NSCopying in x }
        _ = { (a0: CKRecord) -> CKShare in CKShare(rootRecord: a0) }
        _ = { (a0: CKRecord, a1: CKRecord.ID) -> CKShare in CKShare(rootRecord: a0, shareID: a1) }
        _ = { (a0: CKRecordZone.ID) -> CKShare in CKShare(recordZoneID: a0) }
        _ = { (a0: NSCoder) -> CKShare? in CKShare(coder: a0) }
        let _: KeyPath<CKShare, URL?> = \.url
        let _: KeyPath<CKShare, CKShare.Participant> = \.owner
        let _: KeyPath<CKShare, CKShare.Participant?> = \.currentUserParticipant
        let _: KeyPath<CKShare, [CKShare.Participant]> = \.participants
        let _: ReferenceWritableKeyPath<CKShare, CKShare.ParticipantPermission> = \.publicPermission
        _ = { (x: CKShare, a0: CKShare.Participant) -> Void in x.addParticipant(a0) }
        _ = { (x: CKShare, a0: CKShare.Participant) -> Void in x.removeParticipant(a0) }
        _ = { (x: CKShare, a0: CKShare.Participant.ID) -> URL? in x.oneTimeURL(for: a0) }
        let _: ReferenceWritableKeyPath<CKShare, Bool> = \.allowsAccessRequests
        let _: KeyPath<CKShare, [CKShare.AccessRequester]> = \.requesters
        let _: KeyPath<CKShare, [CKShare.BlockedIdentity]> = \.blockedIdentities
        _ = { (x: CKShare, a0: [CKShare.AccessRequester]) -> Void in x.denyRequesters(a0) }
        _ = { (x: CKShare, a0: [CKShare.AccessRequester]) -> Void in x.blockRequesters(a0) }
        _ = { (x: CKShare, a0: [CKShare.BlockedIdentity]) -> Void in x.unblockIdentities(a0) }
    }

    private static func usesCKShareSystemFieldKey() {
        _ = CKShare.SystemFieldKey.self
        _ = { () -> CKRecord.FieldKey in CKShare.SystemFieldKey.title }
        _ = { () -> CKRecord.FieldKey in CKShare.SystemFieldKey.thumbnailImageData }
        _ = { () -> CKRecord.FieldKey in CKShare.SystemFieldKey.shareType }
    }

    private static func usesCKShareParticipantRole() {
        _ = CKShare.ParticipantRole.self
        _ = { () -> CKShare.ParticipantRole in .unknown }
        _ = { () -> CKShare.ParticipantRole in .owner }
        _ = { () -> CKShare.ParticipantRole in .administrator }
        _ = { () -> CKShare.ParticipantRole in .privateUser }
        _ = { () -> CKShare.ParticipantRole in .publicUser }
    }

    private static func usesCKShareParticipantPermission() {
        _ = CKShare.ParticipantPermission.self
        _ = { () -> CKShare.ParticipantPermission in .unknown }
        _ = { () -> CKShare.ParticipantPermission in .none }
        _ = { () -> CKShare.ParticipantPermission in .readOnly }
        _ = { () -> CKShare.ParticipantPermission in .readWrite }
    }

    private static func usesCKShareParticipantAcceptanceStatus() {
        _ = CKShare.ParticipantAcceptanceStatus.self
        _ = { () -> CKShare.ParticipantAcceptanceStatus in .unknown }
        _ = { () -> CKShare.ParticipantAcceptanceStatus in .pending }
        _ = { () -> CKShare.ParticipantAcceptanceStatus in .accepted }
        _ = { () -> CKShare.ParticipantAcceptanceStatus in .removed }
    }

    private static func usesCKShareParticipant() {
        _ = { (x: CKShare.Participant) -> NSObject in x }
        _ = { (x: CKShare.Participant) -> any NSSecureCoding in x }
        _ = { (x: CKShare.Participant) -> any NSCopying in x }
        _ = { (x: [CKShare.Participant.ID]) -> [String] in x }
        _ = { (x: [CKShare.Participant.Role]) -> [CKShare.ParticipantRole] in x }
        _ = { (x: [CKShare.Participant.Permission]) -> [CKShare.ParticipantPermission] in x }
        _ = { (x: [CKShare.Participant.AcceptanceStatus]) -> [CKShare.ParticipantAcceptanceStatus] in x }
        _ = { () -> CKShare.Participant in CKShare.Participant.oneTimeURLParticipant() }
        _ = { (a0: NSCoder) -> CKShare.Participant? in CKShare.Participant(coder: a0) }
        let _: KeyPath<CKShare.Participant, CKUserIdentity> = \.userIdentity
        let _: ReferenceWritableKeyPath<CKShare.Participant, CKShare.ParticipantRole> = \.role
        let _: ReferenceWritableKeyPath<CKShare.Participant, CKShare.ParticipantPermission> = \.permission
        let _: KeyPath<CKShare.Participant, CKShare.ParticipantAcceptanceStatus> = \.acceptanceStatus
        let _: KeyPath<CKShare.Participant, CKShare.Participant.ID> = \.participantID
        let _: KeyPath<CKShare.Participant, Bool> = \.isApprovedRequester
        let _: KeyPath<CKShare.Participant, Date?> = \.dateAddedToShare
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKShareParticipant() {
        let _: ReferenceWritableKeyPath<CKShare.Participant, CKShare.ParticipantType> = \.type
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKShareExtension() {
        _ = { (x: [CKShare.ParticipantType]) -> [CKShare.ParticipantRole] in x }
    }

    private static func usesCKShareMetadata() {
        _ = { (x: CKShare.Metadata) -> NSObject in x }
        _ = { (x: CKShare.Metadata) -> any NSSecureCoding in x }
        _ = { (x: CKShare.Metadata) -> any NSCopying in x }
        _ = { (a0: NSCoder) -> CKShare.Metadata? in CKShare.Metadata(coder: a0) }
        let _: KeyPath<CKShare.Metadata, String> = \.containerIdentifier
        let _: KeyPath<CKShare.Metadata, CKShare> = \.share
        let _: KeyPath<CKShare.Metadata, CKRecord.ID?> = \.hierarchicalRootRecordID
        let _: KeyPath<CKShare.Metadata, CKRecord?> = \.rootRecord
        let _: KeyPath<CKShare.Metadata, CKUserIdentity> = \.ownerIdentity
        let _: KeyPath<CKShare.Metadata, CKShare.ParticipantRole> = \.participantRole
        let _: KeyPath<CKShare.Metadata, CKShare.ParticipantAcceptanceStatus> = \.participantStatus
        let _: KeyPath<CKShare.Metadata, CKShare.ParticipantPermission> = \.participantPermission
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKShareMetadata() {
        let _: KeyPath<CKShare.Metadata, CKRecord.ID> = \.rootRecordID
        let _: KeyPath<CKShare.Metadata, CKShare.ParticipantType> = \.participantType
    }

    private static func usesCKShareAccessRequester() {
        _ = { (x: CKShare.AccessRequester) -> NSObject in x }
        let _: KeyPath<CKShare.AccessRequester, CKUserIdentity> = \.userIdentity
        let _: KeyPath<CKShare.AccessRequester, CKUserIdentity.LookupInfo> = \.participantLookupInfo
    }

    private static func usesCKShareBlockedIdentity() {
        _ = { (x: CKShare.BlockedIdentity) -> NSObject in x }
        let _: KeyPath<CKShare.BlockedIdentity, CKUserIdentity> = \.userIdentity
    }

    private static func usesCKUserIdentity() {
        _ = { (x: CKUserIdentity) -> NSObject in x }
        _ = { (x: CKUserIdentity) -> any NSSecureCoding in x }
        _ = { (x: CKUserIdentity) -> any NSCopying in x }
        _ = { (x: CKUserIdentity) -> any Sendable in x }
        let _: KeyPath<CKUserIdentity, CKRecord.ID?> = \.userRecordID
        let _: KeyPath<CKUserIdentity, CKUserIdentity.LookupInfo?> = \.lookupInfo
        let _: KeyPath<CKUserIdentity, PersonNameComponents?> = \.nameComponents
        let _: KeyPath<CKUserIdentity, Bool> = \.hasiCloudAccount
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKUserIdentity() {
        let _: KeyPath<CKUserIdentity, [String]> = \.contactIdentifiers
    }

    private static func usesCKUserIdentityLookupInfo() {
        _ = { (x: CKUserIdentity.LookupInfo) -> NSObject in x }
        _ = { (x: CKUserIdentity.LookupInfo) -> any NSSecureCoding in x }
        _ = { (x: CKUserIdentity.LookupInfo) -> any NSCopying in x }
        _ = { (x: CKUserIdentity.LookupInfo) -> any Sendable in x }
        _ = { (a0: String) -> CKUserIdentity.LookupInfo in CKUserIdentity.LookupInfo(emailAddress: a0) }
        _ = { (a0: String) -> CKUserIdentity.LookupInfo in CKUserIdentity.LookupInfo(phoneNumber: a0) }
        _ = { (a0: CKRecord.ID) -> CKUserIdentity.LookupInfo in CKUserIdentity.LookupInfo(userRecordID: a0) }
        _ = { (a0: [String]) -> [CKUserIdentity.LookupInfo] in CKUserIdentity.LookupInfo.lookupInfos(withEmails: a0) }
        _ = { (a0: [String]) -> [CKUserIdentity.LookupInfo] in CKUserIdentity.LookupInfo.lookupInfos(withPhoneNumbers: a0) }
        _ = { (a0: [CKRecord.ID]) -> [CKUserIdentity.LookupInfo] in CKUserIdentity.LookupInfo.lookupInfos(with: a0) }
        let _: KeyPath<CKUserIdentity.LookupInfo, String?> = \.emailAddress
        let _: KeyPath<CKUserIdentity.LookupInfo, String?> = \.phoneNumber
        let _: KeyPath<CKUserIdentity.LookupInfo, CKRecord.ID?> = \.userRecordID
    }

    private static func usesCKFetchShareMetadataOperation() {
        _ = { (x: CKFetchShareMetadataOperation) -> CKOperation in x }
        _ = { () -> CKFetchShareMetadataOperation in CKFetchShareMetadataOperation() }
        _ = { (a0: [URL]) -> CKFetchShareMetadataOperation in CKFetchShareMetadataOperation(shareURLs: a0) }
        let _: ReferenceWritableKeyPath<CKFetchShareMetadataOperation, [URL]?> = \.shareURLs
        let _: ReferenceWritableKeyPath<CKFetchShareMetadataOperation, Bool> = \.shouldFetchRootRecord
        let _: ReferenceWritableKeyPath<CKFetchShareMetadataOperation, [CKRecord.FieldKey]?> = \.rootRecordDesiredKeys
        _ = { (x: CKFetchShareMetadataOperation) in x.perShareMetadataResultBlock = { (_: URL, _: Result<CKShare.Metadata, any Error>) -> Void in } }
        _ = { (x: CKFetchShareMetadataOperation) in x.perShareMetadataResultBlock = nil }
        _ = { (x: CKFetchShareMetadataOperation) in x.fetchShareMetadataResultBlock = { (_: Result<Void, any Error>) -> Void in } }
        _ = { (x: CKFetchShareMetadataOperation) in x.fetchShareMetadataResultBlock = nil }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKFetchShareMetadataOperation() {
        _ = { (x: CKFetchShareMetadataOperation) in x.perShareMetadataBlock = { (_: URL, _: CKShare.Metadata?, _: (any Error)?) -> Void in } }
        _ = { (x: CKFetchShareMetadataOperation) in x.perShareMetadataBlock = nil }
        _ = { (x: CKFetchShareMetadataOperation) in x.fetchShareMetadataCompletionBlock = { (_: (any Error)?) -> Void in } }
        _ = { (x: CKFetchShareMetadataOperation) in x.fetchShareMetadataCompletionBlock = nil }
    }

    private static func usesCKAcceptSharesOperation() {
        _ = { (x: CKAcceptSharesOperation) -> CKOperation in x }
        _ = { () -> CKAcceptSharesOperation in CKAcceptSharesOperation() }
        _ = { (a0: [CKShare.Metadata]) -> CKAcceptSharesOperation in CKAcceptSharesOperation(shareMetadatas: a0) }
        let _: ReferenceWritableKeyPath<CKAcceptSharesOperation, [CKShare.Metadata]?> = \.shareMetadatas
        _ = { (x: CKAcceptSharesOperation) in x.perShareResultBlock = { (_: CKShare.Metadata, _: Result<CKShare, any Error>) -> Void in } }
        _ = { (x: CKAcceptSharesOperation) in x.perShareResultBlock = nil }
        _ = { (x: CKAcceptSharesOperation) in x.acceptSharesResultBlock = { (_: Result<Void, any Error>) -> Void in } }
        _ = { (x: CKAcceptSharesOperation) in x.acceptSharesResultBlock = nil }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKAcceptSharesOperation() {
        _ = { (x: CKAcceptSharesOperation) in x.perShareCompletionBlock = { (_: CKShare.Metadata, _: CKShare?, _: (any Error)?) -> Void in } }
        _ = { (x: CKAcceptSharesOperation) in x.perShareCompletionBlock = nil }
        _ = { (x: CKAcceptSharesOperation) in x.acceptSharesCompletionBlock = { (_: (any Error)?) -> Void in } }
        _ = { (x: CKAcceptSharesOperation) in x.acceptSharesCompletionBlock = nil }
    }

    private static func usesCKFetchShareParticipantsOperation() {
        _ = { (x: CKFetchShareParticipantsOperation) -> CKOperation in x }
        _ = { () -> CKFetchShareParticipantsOperation in CKFetchShareParticipantsOperation() }
        _ = { (a0: [CKUserIdentity.LookupInfo]) -> CKFetchShareParticipantsOperation in CKFetchShareParticipantsOperation(userIdentityLookupInfos: a0) }
        let _: ReferenceWritableKeyPath<CKFetchShareParticipantsOperation, [CKUserIdentity.LookupInfo]?> = \.userIdentityLookupInfos
        _ = { (x: CKFetchShareParticipantsOperation) in x.perShareParticipantResultBlock = { (_: CKUserIdentity.LookupInfo, _: Result<CKShare.Participant, any Error>) -> Void in } }
        _ = { (x: CKFetchShareParticipantsOperation) in x.perShareParticipantResultBlock = nil }
        _ = { (x: CKFetchShareParticipantsOperation) in x.fetchShareParticipantsResultBlock = { (_: Result<Void, any Error>) -> Void in } }
        _ = { (x: CKFetchShareParticipantsOperation) in x.fetchShareParticipantsResultBlock = nil }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKFetchShareParticipantsOperation() {
        _ = { (x: CKFetchShareParticipantsOperation) in x.shareParticipantFetchedBlock = { (_: CKShare.Participant) -> Void in } }
        _ = { (x: CKFetchShareParticipantsOperation) in x.shareParticipantFetchedBlock = nil }
        _ = { (x: CKFetchShareParticipantsOperation) in x.fetchShareParticipantsCompletionBlock = { (_: (any Error)?) -> Void in } }
        _ = { (x: CKFetchShareParticipantsOperation) in x.fetchShareParticipantsCompletionBlock = nil }
    }

    @available(*, deprecated)
    private static func usesCKDiscoverUserIdentitiesOperation() {
        _ = { (x: CKDiscoverUserIdentitiesOperation) -> CKOperation in x }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKDiscoverUserIdentitiesOperation() {
        _ = { () -> CKDiscoverUserIdentitiesOperation in CKDiscoverUserIdentitiesOperation() }
        _ = { (a0: [CKUserIdentity.LookupInfo]) -> CKDiscoverUserIdentitiesOperation in CKDiscoverUserIdentitiesOperation(userIdentityLookupInfos: a0) }
        let _: ReferenceWritableKeyPath<CKDiscoverUserIdentitiesOperation, [CKUserIdentity.LookupInfo]> = \.userIdentityLookupInfos
        _ = { (x: CKDiscoverUserIdentitiesOperation) in x.userIdentityDiscoveredBlock = { (_: CKUserIdentity, _: CKUserIdentity.LookupInfo) -> Void in } }
        _ = { (x: CKDiscoverUserIdentitiesOperation) in x.userIdentityDiscoveredBlock = nil }
        _ = { (x: CKDiscoverUserIdentitiesOperation) in x.discoverUserIdentitiesResultBlock = { (_: Result<Void, any Error>) -> Void in } }
        _ = { (x: CKDiscoverUserIdentitiesOperation) in x.discoverUserIdentitiesResultBlock = nil }
        _ = { (x: CKDiscoverUserIdentitiesOperation) in x.discoverUserIdentitiesCompletionBlock = { (_: (any Error)?) -> Void in } }
        _ = { (x: CKDiscoverUserIdentitiesOperation) in x.discoverUserIdentitiesCompletionBlock = nil }
    }

    @available(*, deprecated)
    private static func usesCKDiscoverAllUserIdentitiesOperation() {
        _ = { (x: CKDiscoverAllUserIdentitiesOperation) -> CKOperation in x }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKDiscoverAllUserIdentitiesOperation() {
        _ = { () -> CKDiscoverAllUserIdentitiesOperation in CKDiscoverAllUserIdentitiesOperation() }
        _ = { (x: CKDiscoverAllUserIdentitiesOperation) in x.userIdentityDiscoveredBlock = { (_: CKUserIdentity) -> Void in } }
        _ = { (x: CKDiscoverAllUserIdentitiesOperation) in x.userIdentityDiscoveredBlock = nil }
        _ = { (x: CKDiscoverAllUserIdentitiesOperation) in x.discoverAllUserIdentitiesResultBlock = { (_: Result<Void, any Error>) -> Void in } }
        _ = { (x: CKDiscoverAllUserIdentitiesOperation) in x.discoverAllUserIdentitiesResultBlock = nil }
        _ = { (x: CKDiscoverAllUserIdentitiesOperation) in x.discoverAllUserIdentitiesCompletionBlock = { (_: (any Error)?) -> Void in } }
        _ = { (x: CKDiscoverAllUserIdentitiesOperation) in x.discoverAllUserIdentitiesCompletionBlock = nil }
    }

    private static func usesCKShareRequestAccessOperation() {
        _ = { (x: CKShareRequestAccessOperation) -> CKOperation in x }
        _ = { (a0: [URL]) -> CKShareRequestAccessOperation in CKShareRequestAccessOperation(shareURLs: a0) }
    }

    private static func usesCKAllowedSharingOptions() {
        _ = { (x: CKAllowedSharingOptions) -> NSObject in x }
        _ = { (x: CKAllowedSharingOptions) -> any NSSecureCoding in x }
        _ = { (x: CKAllowedSharingOptions) -> any NSCopying in x }
        _ = { (a0: CKSharingParticipantPermissionOption, a1: CKSharingParticipantAccessOption) -> CKAllowedSharingOptions in CKAllowedSharingOptions(allowedParticipantPermissionOptions: a0, allowedParticipantAccessOptions: a1) }
        let _: ReferenceWritableKeyPath<CKAllowedSharingOptions, CKSharingParticipantPermissionOption> = \.allowedParticipantPermissionOptions
        let _: ReferenceWritableKeyPath<CKAllowedSharingOptions, CKSharingParticipantAccessOption> = \.allowedParticipantAccessOptions
        _ = { () -> CKAllowedSharingOptions in CKAllowedSharingOptions.standard }
    }

    private static func usesCKSharingParticipantAccessOption() {
        _ = { (x: CKSharingParticipantAccessOption) -> any OptionSet in x }
        _ = { () -> CKSharingParticipantAccessOption in CKSharingParticipantAccessOption.anyoneWithLink }
        _ = { () -> CKSharingParticipantAccessOption in CKSharingParticipantAccessOption.specifiedRecipientsOnly }
        _ = { () -> CKSharingParticipantAccessOption in CKSharingParticipantAccessOption.any }
    }

    private static func usesCKSharingParticipantPermissionOption() {
        _ = { (x: CKSharingParticipantPermissionOption) -> any OptionSet in x }
        _ = { () -> CKSharingParticipantPermissionOption in CKSharingParticipantPermissionOption.readOnly }
        _ = { () -> CKSharingParticipantPermissionOption in CKSharingParticipantPermissionOption.readWrite }
        _ = { () -> CKSharingParticipantPermissionOption in CKSharingParticipantPermissionOption.any }
    }

    private static func usesGlobals() {
        _ = { () -> String in CKShareTitleKey }
        _ = { () -> String in CKShareThumbnailImageDataKey }
        _ = { () -> String in CKShareTypeKey }
    }

    static var propertiesOfCKShare: [(name: String, path: PartialKeyPath<CKShare>)] {
        [
            ("url", \.url),
            ("owner", \.owner),
            ("currentUserParticipant", \.currentUserParticipant),
            ("participants", \.participants),
            ("publicPermission", \.publicPermission),
            ("allowsAccessRequests", \.allowsAccessRequests),
            ("requesters", \.requesters),
            ("blockedIdentities", \.blockedIdentities),
        ]
    }

    static var propertiesOfCKShareParticipant: [(name: String, path: PartialKeyPath<CKShare.Participant>)] {
        [
            ("userIdentity", \.userIdentity),
            ("role", \.role),
            ("permission", \.permission),
            ("acceptanceStatus", \.acceptanceStatus),
            ("participantID", \.participantID),
            ("isApprovedRequester", \.isApprovedRequester),
            ("dateAddedToShare", \.dateAddedToShare),
        ]
    }

    static var propertiesOfCKShareMetadata: [(name: String, path: PartialKeyPath<CKShare.Metadata>)] {
        [
            ("containerIdentifier", \.containerIdentifier),
            ("share", \.share),
            ("hierarchicalRootRecordID", \.hierarchicalRootRecordID),
            ("rootRecord", \.rootRecord),
            ("ownerIdentity", \.ownerIdentity),
            ("participantRole", \.participantRole),
            ("participantStatus", \.participantStatus),
            ("participantPermission", \.participantPermission),
        ]
    }

    static var propertiesOfCKShareAccessRequester: [(name: String, path: PartialKeyPath<CKShare.AccessRequester>)] {
        [
            ("userIdentity", \.userIdentity),
            ("participantLookupInfo", \.participantLookupInfo),
        ]
    }

    static var propertiesOfCKShareBlockedIdentity: [(name: String, path: PartialKeyPath<CKShare.BlockedIdentity>)] {
        [
            ("userIdentity", \.userIdentity),
        ]
    }

    static var propertiesOfCKUserIdentity: [(name: String, path: PartialKeyPath<CKUserIdentity>)] {
        [
            ("userRecordID", \.userRecordID),
            ("lookupInfo", \.lookupInfo),
            ("nameComponents", \.nameComponents),
            ("hasiCloudAccount", \.hasiCloudAccount),
        ]
    }

    static var propertiesOfCKUserIdentityLookupInfo: [(name: String, path: PartialKeyPath<CKUserIdentity.LookupInfo>)] {
        [
            ("emailAddress", \.emailAddress),
            ("phoneNumber", \.phoneNumber),
            ("userRecordID", \.userRecordID),
        ]
    }

    static var propertiesOfCKFetchShareMetadataOperation: [(name: String, path: PartialKeyPath<CKFetchShareMetadataOperation>)] {
        [
            ("shareURLs", \.shareURLs),
            ("shouldFetchRootRecord", \.shouldFetchRootRecord),
            ("rootRecordDesiredKeys", \.rootRecordDesiredKeys),
        ]
    }

    static var propertiesOfCKAcceptSharesOperation: [(name: String, path: PartialKeyPath<CKAcceptSharesOperation>)] {
        [
            ("shareMetadatas", \.shareMetadatas),
        ]
    }

    static var propertiesOfCKFetchShareParticipantsOperation: [(name: String, path: PartialKeyPath<CKFetchShareParticipantsOperation>)] {
        [
            ("userIdentityLookupInfos", \.userIdentityLookupInfos),
        ]
    }

    static var propertiesOfCKAllowedSharingOptions: [(name: String, path: PartialKeyPath<CKAllowedSharingOptions>)] {
        [
            ("allowedParticipantPermissionOptions", \.allowedParticipantPermissionOptions),
            ("allowedParticipantAccessOptions", \.allowedParticipantAccessOptions),
        ]
    }
}
