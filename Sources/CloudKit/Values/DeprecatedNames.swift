// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Earlier names of nested types, and those of the Objective-C headers.
// Source: developer.apple.com/documentation/cloudkit, "Deprecated"

/// An earlier name of `CKContainer.ApplicationPermissions`.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
public typealias CKContainer_Application_Permissions = CKContainer.ApplicationPermissions
/// An earlier name of `CKContainer.ApplicationPermissionStatus`.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
public typealias CKContainer_Application_PermissionStatus = CKContainer.ApplicationPermissionStatus
/// An earlier name of `CKContainer.ApplicationPermissionBlock`.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
public typealias CKContainer_Application_PermissionBlock = CKContainer.ApplicationPermissionBlock
/// An earlier name of `CKContainer.ApplicationPermissions`.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissions")
public typealias CKApplicationPermissions = CKContainer.ApplicationPermissions
/// An earlier name of `CKContainer.ApplicationPermissionStatus`.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionStatus")
public typealias CKApplicationPermissionStatus = CKContainer.ApplicationPermissionStatus
/// An earlier name of `CKContainer.ApplicationPermissionBlock`.
@available(*, deprecated, renamed: "CKContainer.ApplicationPermissionBlock")
public typealias CKApplicationPermissionBlock = CKContainer.ApplicationPermissionBlock
/// An earlier name of `CKRecord.ReferenceAction`.
@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKRecord_Reference_Action = CKRecord.ReferenceAction
/// An earlier name of `CKRecord.ReferenceAction`.
@available(*, deprecated, renamed: "CKRecord.ReferenceAction")
public typealias CKReferenceAction = CKRecord.ReferenceAction
/// An earlier name of `CKQueryNotification.Reason`.
@available(*, deprecated, renamed: "CKQueryNotification.Reason")
public typealias CKQueryNotificationReason = CKQueryNotification.Reason
/// An earlier name of `CKQuerySubscription.Options`.
@available(*, deprecated, renamed: "CKQuerySubscription.Options")
public typealias CKQuerySubscriptionOptions = CKQuerySubscription.Options
/// An earlier name of `CKSubscription.SubscriptionType`.
@available(*, deprecated, renamed: "CKSubscription.SubscriptionType")
public typealias CKSubscriptionType = CKSubscription.SubscriptionType
/// An earlier name of `CKNotification.NotificationType`.
@available(*, deprecated, renamed: "CKNotification.NotificationType")
public typealias CKNotificationType = CKNotification.NotificationType
/// An earlier name of `CKDatabase.Scope`.
@available(*, deprecated, renamed: "CKDatabase.Scope")
public typealias CKDatabaseScope = CKDatabase.Scope
/// An earlier name of `CKRecordZone.Capabilities`.
@available(*, deprecated, renamed: "CKRecordZone.Capabilities")
public typealias CKRecordZoneCapabilities = CKRecordZone.Capabilities
/// An earlier name of `CKModifyRecordsOperation.RecordSavePolicy`.
@available(*, deprecated, renamed: "CKModifyRecordsOperation.RecordSavePolicy")
public typealias CKRecordSavePolicy = CKModifyRecordsOperation.RecordSavePolicy
/// An earlier name of `CKFetchRecordZoneChangesOperation.ZoneConfiguration`.
@available(*, deprecated, renamed: "CKFetchRecordZoneChangesOperation.ZoneConfiguration")
public typealias CKFetchRecordZoneChangesOptions = CKFetchRecordZoneChangesOperation.ZoneConfiguration
/// An earlier name of `CKOperationGroup.TransferSize`.
@available(*, deprecated, renamed: "CKOperationGroup.TransferSize")
public typealias CKOperationGroupTransferSize = CKOperationGroup.TransferSize
/// An earlier name of `CKShare.ParticipantAcceptanceStatus`.
@available(*, deprecated, renamed: "CKShare.Participant.AcceptanceStatus")
public typealias CKShareParticipantAcceptanceStatus = CKShare.ParticipantAcceptanceStatus
/// An earlier name of `CKShare.ParticipantPermission`.
@available(*, deprecated, renamed: "CKShare.Participant.Permission")
public typealias CKShareParticipantPermission = CKShare.ParticipantPermission
/// An earlier name of `CKShare.ParticipantRole`.
@available(*, deprecated, renamed: "CKShare.Participant.Role")
public typealias CKShareParticipantRole = CKShare.ParticipantRole
/// An earlier name of `CKShare.ParticipantRole`.
@available(*, deprecated, renamed: "CKShare.Participant.Role")
public typealias CKShareParticipantType = CKShare.ParticipantRole
