// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
public import Foundation
public import ObjectGraph

/// Says that a store is mirrored, and where.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontaineroptions
open class NSPersistentCloudKitContainerOptions: NSObject, @unchecked Sendable {
    // Unchecked: configured by its owner before the stores are loaded, read afterwards.
    public let containerIdentifier: String
    /// Only the private database is mirrored yet: loading a store with another scope says so.
    open var databaseScope: CKDatabase.Scope = .private

    public init(containerIdentifier: String) { self.containerIdentifier = containerIdentifier }
}

extension NSPersistentStoreDescription {
    private static let cloudOptions = "CloudKitContainerOptions"

    /// nil for a store that is not mirrored.
    public var cloudKitContainerOptions: NSPersistentCloudKitContainerOptions? {
        get { attachments[Self.cloudOptions] as? NSPersistentCloudKitContainerOptions }
        set { attachments[Self.cloudOptions] = newValue }
    }
}
