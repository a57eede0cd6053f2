// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
public import Foundation
import MirroringCore
public import ObjectGraph

/// The database that a store is mirrored with, and the policies of its sync.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontaineroptions
open class NSPersistentCloudKitContainerOptions: NSObject, @unchecked Sendable {
    // Unchecked: configured by its owner before the stores are loaded, read afterwards.
    private let identifier: String
    /// The identifier of the CloudKit container.
    open var containerIdentifier: String { identifier }
    /// The scope of the database: the user's private one, the public one, or the zones that other users share.
    ///
    /// To share, an app has two stores with the same configuration and container, one private and one shared. Objects that the user shares
    /// stay in the private store; objects that other users share are imported into the shared one.
    ///
    /// The public database is read without an account and written with one. On a server without a change feed it has no notifications and
    /// no deletions: it is polled at launch and every ``publicPollInterval``, and a deleted object remains on other devices. Set a flag
    /// instead of deleting, and exclude flagged objects by a predicate.
    open var databaseScope: CKDatabase.Scope = .private

    /// The interval at which the public database is polled while the app runs.
    ///
    /// Source: the talk *Sync a Core Data store with the CloudKit public database* (2020): about every thirty minutes.
    open var publicPollInterval = Duration.seconds(1800)

    /// The keys that encrypt attributes with `allowsCloudEncryption`.
    open var encryptionKeys = EncryptionKeys.file

    /// What happens to a store when another user than the one it was synced with is signed in.
    ///
    /// Differs: Apple's container removes the rows, and unsent changes with them.
    public enum AccountChangePolicy: Sendable {
        /// The file is copied to `NAME-archive-DATE.sqlite` in the store's folder; then the store is emptied and filled with the other
        /// user's data. See ``NSPersistentCloudKitContainer/storeArchives(of:)``.
        case archive
        /// The store is unchanged and does not sync until the user signs in again or the app calls
        /// ``NSPersistentCloudKitContainer/resolveAccountChange(_:in:)``. The previous user's objects stay readable.
        case keep

        /// The same as ``archive``: a store is never emptied without an archive.
        @available(*, deprecated, renamed: "archive")
        public static var remove: AccountChangePolicy { .archive }
    }

    /// What happens to a store when another user signs in. While the user is signed out, the objects stay readable: an app that does not
    /// want that removes the store from the coordinator when `CKAccountChanged` is posted.
    open var accountChangePolicy = AccountChangePolicy.archive

    /// What happens to a store when the server never had its data: the server has a new data folder, or the app connects to another server.
    /// A server that was restored from a backup is the same server. Without the capability `server-identity`, servers are not
    /// distinguished: then ``accountChangePolicy`` decides, since user names of another server differ.
    public enum ServerReplacedPolicy: Sendable {
        /// The store is archived and emptied, as for another account. The operator of another server does not receive the data without the
        /// user's consent.
        case archive
        /// The objects stay, and all of them are sent to the present account. For apps with servers of one person or team. Stores of the
        /// shared and the public database are archived, since their objects belong to other users.
        case upload
        /// As ``AccountChangePolicy/keep``.
        case keep
    }

    /// What happens to a store when the server never had its data.
    open var serverReplacedPolicy = ServerReplacedPolicy.archive

    /// Resolves attributes that two devices changed concurrently; nil leaves them to each attribute's `syncPolicy` in the model's user
    /// info: `latest`, `earliest`, `max`, `min`, `counter` (both changes are added), `set-union` (lines of a text).
    ///
    ///     options.resolveMergeConflict = { conflict in conflict.attributeName == "title" ? .keepHere : .byPolicy }
    ///
    /// It is called on any thread inside a write transaction, and must not use the store. Every losing value goes to the conflict log, two
    /// if the decision is a third value. All devices have to decide alike.
    open var resolveMergeConflict: (@Sendable (MergeConflict) -> MergeDecision)?

    /// Features of the model beyond Apple's rules. Empty by default: such models are rejected when the store is loaded, as by Apple's
    /// container.
    ///
    ///     options.modelExtensions = [.orderedRelationships]
    ///
    /// They need a server with the capability `model-extensions`. Without it the store works locally:
    /// ``NSPersistentCloudKitContainer/syncStatus`` has the reason, and syncing begins once the server offers the capability. All versions
    /// of the app that sync the same data have to allow the same features.
    open var modelExtensions: ModelExtensions = []

    /// Attributes that replaced those of earlier versions of the model, with translations in code. Empty by default.
    open var attributeLenses: [AttributeLens] = []

    /// The container itself; nil for the process's container of the identifier.
    let container: CKContainer?

    /// Mirrors a store with a container of this process, into its private database.
    public init(containerIdentifier: String) {
        identifier = containerIdentifier
        container = nil
    }

    /// Mirrors a store with a given container: a test has several devices, each with its own container.
    ///
    ///     description.cloudKitContainerOptions = NSPersistentCloudKitContainerOptions(container: phone.container)
    ///
    /// Differs: Apple's options have identifiers only.
    public init(container: CKContainer) {
        identifier = container.containerIdentifier ?? ""
        self.container = container
    }
}

extension NSPersistentCloudKitContainerOptions {
    var accountRules: AccountRules {
        let account: AccountRules.Choice =
            switch accountChangePolicy {
            case .archive: .archive
            case .keep: .keep
            }
        let server: AccountRules.Choice =
            switch serverReplacedPolicy {
            case .archive: .archive
            case .upload: .upload
            case .keep: .keep
            }
        return AccountRules(
            anotherAccount: account, serverReplaced: server, isPublic: databaseScope == .public, mayUpload: databaseScope == .private)
    }
}

extension NSPersistentStoreDescription {
    private static let cloudOptions = "CloudKitContainerOptions"

    /// The options that mirror the store; nil for a store that does not sync.
    public var cloudKitContainerOptions: NSPersistentCloudKitContainerOptions? {
        get { attachments[Self.cloudOptions] as? NSPersistentCloudKitContainerOptions }
        set { attachments[Self.cloudOptions] = newValue }
    }
}
