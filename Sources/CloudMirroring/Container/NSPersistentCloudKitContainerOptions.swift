// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
public import Foundation
import MirroringCore
public import ObjectGraph

/// Says that a store is mirrored, and where.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontaineroptions
open class NSPersistentCloudKitContainerOptions: NSObject, @unchecked Sendable {
    // Unchecked: configured by its owner before the stores are loaded, read afterwards.
    private let identifier: String
    open var containerIdentifier: String { identifier }
    /// Which database: the user's own, the one that everybody reads, or what others share with the user.
    ///
    /// To share, an app has two stores with the same configuration and container, one private and one shared. What the user
    /// shares stays in the private store; what others share comes into the shared one.
    ///
    /// The public database is read without an account and written with one. It tells nobody of changes and of deletions:
    /// it is asked at launch and every ``publicPollInterval``, and what one user deletes stays with others until they
    /// change it. Set a flag instead of deleting, and leave flagged objects out by a predicate.
    open var databaseScope: CKDatabase.Scope = .private

    /// How often the public database is asked for changes while the app runs.
    ///
    /// Source: the talk *Sync a Core Data store with the CloudKit public database* (2020): about every thirty minutes.
    open var publicPollInterval = Duration.seconds(1800)

    /// With which keys attributes are sealed that allow cloud encryption.
    open var encryptionKeys = EncryptionKeys.file

    /// What happens to a store when another user than the one it was synced with is signed in.
    ///
    /// Differs: Apple's container removes the rows, and unsent changes with them.
    public enum AccountChangePolicy: Sendable {
        /// The file is copied beside the store, as `NAME-archive-DATE.sqlite`; then the store is emptied and filled with the other user's
        /// data. See ``NSPersistentCloudKitContainer/storeArchives(of:)``.
        case archive
        /// Nothing is touched, and nothing is synced until the user is back or the app calls
        /// ``NSPersistentCloudKitContainer/resolveAccountChange(_:in:)``. The previous user's objects stay readable.
        case keep

        /// The same as ``archive``: a store is never emptied without an archive.
        @available(*, deprecated, renamed: "archive")
        public static var remove: AccountChangePolicy { .archive }
    }

    /// While nobody is signed in, the objects of the last user stay readable; an app that does not want that removes the store from the
    /// coordinator when `CKAccountChanged` says that the user signed out.
    open var accountChangePolicy = AccountChangePolicy.archive

    /// What happens to a store whose server never had what the store synced: its data folder was made anew, or the app connects to
    /// another one. A server that was restored from a backup is the same server. Servers without the capability `server-identity` are
    /// not told apart; then ``accountChangePolicy`` decides, since user names of another server differ.
    public enum ServerReplacedPolicy: Sendable {
        /// As for another account: the store is archived and emptied. An app connects to whatever server its configuration names, and
        /// another server's operator should not get the data unasked.
        case archive
        /// The objects stay, and all of them are sent to the account that is signed in now. For apps whose server is always the same
        /// person's or team's. What others shared, and public data, are not the user's to send: such stores are archived.
        case upload
        /// As ``AccountChangePolicy/keep``.
        case keep
    }

    open var serverReplacedPolicy = ServerReplacedPolicy.archive

    /// Decides on attributes that two devices changed at the same time; nil leaves it to each attribute's `syncPolicy` in the
    /// model's user info: `latest`, `earliest`, `max`, `min`, `counter` (both changes are added), `set-union` (lines of a text).
    ///
    ///     options.resolveMergeConflict = { conflict in conflict.attributeName == "title" ? .keepHere : .byPolicy }
    ///
    /// It is called on any thread while the store is written, and must not touch the store. Every value that loses is in the
    /// conflict log, two if the decision is a third one. All devices should decide alike.
    open var resolveMergeConflict: (@Sendable (MergeConflict) -> MergeDecision)?

    /// What of the model may go beyond Apple's rules. Nothing by default: such models are refused when the store is loaded, as
    /// Apple's container refuses them.
    ///
    ///     options.modelExtensions = [.orderedRelationships]
    ///
    /// It takes a server with the capability `model-extensions`. With another one the store works locally: nothing is sent,
    /// ``NSPersistentCloudKitContainer/syncStatus`` says why, and syncing begins when the server offers it. All versions of the
    /// app that sync the same data should allow the same.
    open var modelExtensions: ModelExtensions = []

    /// The container itself, where it is not the one that the process has for the identifier.
    let container: CKContainer?

    public init(containerIdentifier: String) {
        identifier = containerIdentifier
        container = nil
    }

    /// Syncs with this container, whatever the process has for its identifier: a test has several devices, each with a
    /// container of its own.
    ///
    ///     description.cloudKitContainerOptions = NSPersistentCloudKitContainerOptions(container: phone.container)
    ///
    /// Differs: Apple's options know identifiers only.
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

    /// nil for a store that is not mirrored.
    public var cloudKitContainerOptions: NSPersistentCloudKitContainerOptions? {
        get { attachments[Self.cloudOptions] as? NSPersistentCloudKitContainerOptions }
        set { attachments[Self.cloudOptions] = newValue }
    }
}
