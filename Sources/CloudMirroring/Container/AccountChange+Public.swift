// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
import Foundation
import MirroringCore

extension NSPersistentCloudKitContainer {
    /// What became of a store that met another account or another server, or whose data the user deleted elsewhere.
    public struct AccountChange: Hashable, Sendable {
        public enum Kind: Hashable, Sendable {
            /// Another user is signed in than the one whose data the store held.
            case anotherAccount
            /// The server never had what the store synced; see ``NSPersistentCloudKitContainerOptions/serverReplacedPolicy``.
            case serverReplaced
            /// The user deleted the app's data on another device.
            case dataDeleted
        }

        public enum Outcome: Hashable, Sendable {
            /// The store was archived if it had objects, and emptied.
            case emptied
            /// The objects stayed, and are sent to the present account.
            case uploaded
            /// Nothing was touched, and nothing is synced: ``resolveAccountChange(_:in:)``.
            case unresolved
        }

        public let kind: Kind
        public let outcome: Outcome
        public let date: Date
        /// The user whose data the store held; nil if the server never named one.
        public let previousAccount: CKRecord.ID?
        /// The user who is signed in since.
        public let account: CKRecord.ID?
        /// 32 hexadecimal digits that name a server's data; nil for a server that doesn't tell them.
        public let previousServerIdentity: String?
        public let serverIdentity: String?
        /// File name of the copy that was made before, in the store's folder; nil if the store had no objects, or kept them.
        public let archiveName: String?

        init(_ change: MirroringCore.AccountChange) {
            kind =
                switch change.kind {
                case .anotherAccount: .anotherAccount
                case .serverReplaced: .serverReplaced
                case .dataDeleted: .dataDeleted
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

    /// What an app decides about an ``AccountChange/Outcome/unresolved`` change.
    public enum AccountChangeResolution: Hashable, Sendable {
        /// Archives the store, empties it, and fills it with the present account's data.
        case archive
        /// Keeps the objects and sends all of them to the present account, once the person confirmed to be the same.
        case upload
    }
}
