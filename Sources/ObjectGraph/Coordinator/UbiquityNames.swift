// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

// Names of iCloud Core Data, which Apple deprecated in 2016 and switched off since. They are declared so that code that
// still mentions them compiles. As options they have no effect, and the notification is never posted.
// Source: developer.apple.com/documentation/coredata/nspersistentstorecoordinator, "Deprecated"

@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public enum NSPersistentStoreUbiquitousTransitionType: UInt, Sendable {
    case accountAdded = 1
    case accountRemoved = 2
    case contentRemoved = 3
    case initialImportCompleted = 4
}

@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public let NSPersistentStoreUbiquitousTransitionTypeKey = "NSPersistentStoreUbiquitousTransitionTypeKey"
@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public let NSPersistentStoreUbiquitousContentNameKey = "NSPersistentStoreUbiquitousContentNameKey"
@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public let NSPersistentStoreUbiquitousContentURLKey = "NSPersistentStoreUbiquitousContentURLKey"
@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public let NSPersistentStoreUbiquitousPeerTokenOption = "NSPersistentStoreUbiquitousPeerTokenOption"
@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public let NSPersistentStoreUbiquitousContainerIdentifierKey = "NSPersistentStoreUbiquitousContainerIdentifierKey"
@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public let NSPersistentStoreRemoveUbiquitousMetadataOption = "NSPersistentStoreRemoveUbiquitousMetadataOption"
@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public let NSPersistentStoreRebuildFromUbiquitousContentOption = "NSPersistentStoreRebuildFromUbiquitousContentOption"

extension Notification.Name {
    @available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
    public static let NSPersistentStoreDidImportUbiquitousContentChanges = Notification.Name(
        "NSPersistentStoreDidImportUbiquitousContentChangesNotification")
}
