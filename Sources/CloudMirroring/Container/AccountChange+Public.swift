// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
import Foundation
import MirroringCore

extension NSPersistentCloudKitContainer {
    /// A change of a store's account or server, or the loss of its data on the server, with its outcome.
    public struct AccountChange: Hashable, Sendable {
        /// The cause of the change.
        public enum Kind: Hashable, Sendable {
            /// Another user than the owner of the store's data is signed in.
            case anotherAccount
            /// The server never had the store's data; see ``NSPersistentCloudKitContainerOptions/serverReplacedPolicy``.
            case serverReplaced
            /// The user deleted the app's data on another device.
            case dataDeleted
            /// The server lost a share that the user had accepted, or records of it, without a deletion: it was restored from an older backup,
            /// or the share's owner reset their keys. The archive is a store that `NSPersistentContainer` opens read-only. The owner has the
            /// objects, and can share them again.
            case shareLost
        }

        /// How the store was changed.
        public enum Outcome: Hashable, Sendable {
            /// The store was archived if it had objects, and emptied; with ``Kind/shareLost``, the objects of the share are removed.
            case emptied
            /// The objects stayed, and are sent to the present account.
            case uploaded
            /// The store is unchanged and does not sync before ``resolveAccountChange(_:in:)``.
            case unresolved
        }

        /// The cause of the change.
        public let kind: Kind
        /// How the store was changed.
        public let outcome: Outcome
        /// The time of the change, by this device's clock.
        public let date: Date
        /// The previous owner of the store's data; nil if the server never identified one.
        public let previousAccount: CKRecord.ID?
        /// The user who is signed in now; nil if the server never identified one.
        public let account: CKRecord.ID?
        /// The identity of the previous server's data: 32 hexadecimal digits; nil for a server without the capability `server-identity`.
        public let previousServerIdentity: String?
        /// The identity of the present server's data: 32 hexadecimal digits; nil for a server without the capability `server-identity`.
        public let serverIdentity: String?
        /// The file name of the archive, in the store's folder; nil if the store had no objects, or kept them.
        public let archiveName: String?

        init(_ change: MirroringCore.AccountChange) {
            kind =
                switch change.kind {
                case .anotherAccount: .anotherAccount
                case .serverReplaced: .serverReplaced
                case .dataDeleted: .dataDeleted
                case .shareLost: .shareLost
                }
            outcome =
                switch change.outcome {
                case .emptied: .emptied
                case .uploaded: .uploaded
                case .unresolved: .unresolved
                }
            date = Date(timeIntervalSinceReferenceDate: change.date)
            previousAccount = change.previous.user.map { CKRecord.ID(recordName: $0) }
            account = change.present.user.map { CKRecord.ID(recordName: $0) }
            previousServerIdentity = change.previous.server
            serverIdentity = change.present.server
            archiveName = change.archive
        }
    }

    /// The app's decision on an ``AccountChange/Outcome/unresolved`` change.
    public enum AccountChangeResolution: Hashable, Sendable {
        /// Archives the store, empties it, and fills it with the present account's data.
        case archive
        /// Keeps the objects and sends all of them to the present account, once the person confirmed to be the same.
        case upload
    }
}
