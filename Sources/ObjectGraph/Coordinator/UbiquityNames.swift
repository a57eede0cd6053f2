// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

// Names of iCloud Core Data, which Apple deprecated in 2016 and has switched off since. They are declared so that code
// using them compiles. As options they have no effect, and the notification is never posted.
// Source: developer.apple.com/documentation/coredata/nspersistentstorecoordinator, "Deprecated"

/// A change of the iCloud account. Never reported here.
@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public enum NSPersistentStoreUbiquitousTransitionType: UInt, Sendable {
    /// An account was added.
    case accountAdded = 1
    /// The account was removed.
    case accountRemoved = 2
    /// The content was removed from the account.
    case contentRemoved = 3
    /// The first import has finished.
    case initialImportCompleted = 4
}

/// The user-info key of a transition's type. Never used here.
@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public let NSPersistentStoreUbiquitousTransitionTypeKey = "NSPersistentStoreUbiquitousTransitionTypeKey"
/// An option without effect here.
@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public let NSPersistentStoreUbiquitousContentNameKey = "NSPersistentStoreUbiquitousContentNameKey"
/// An option without effect here.
@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public let NSPersistentStoreUbiquitousContentURLKey = "NSPersistentStoreUbiquitousContentURLKey"
/// An option without effect here.
@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public let NSPersistentStoreUbiquitousPeerTokenOption = "NSPersistentStoreUbiquitousPeerTokenOption"
/// An option without effect here.
@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public let NSPersistentStoreUbiquitousContainerIdentifierKey = "NSPersistentStoreUbiquitousContainerIdentifierKey"
/// An option without effect here.
@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public let NSPersistentStoreRemoveUbiquitousMetadataOption = "NSPersistentStoreRemoveUbiquitousMetadataOption"
/// An option without effect here.
@available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
public let NSPersistentStoreRebuildFromUbiquitousContentOption = "NSPersistentStoreRebuildFromUbiquitousContentOption"

extension Notification.Name {
    /// Never posted here.
    @available(*, deprecated, message: "iCloud Core Data no longer exists; use NSPersistentCloudKitContainer")
    public static let NSPersistentStoreDidImportUbiquitousContentChanges = Notification.Name(
        "NSPersistentStoreDidImportUbiquitousContentChangesNotification")
}
