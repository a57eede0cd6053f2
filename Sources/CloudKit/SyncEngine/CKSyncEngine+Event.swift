// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension CKSyncEngine {
    /// An event of the sync engine.
    public enum Event: Sendable {
        /// A new state to store.
        case stateUpdate(StateUpdate)
        /// The account changed.
        case accountChange(AccountChange)
        /// Zones changed on the server.
        case fetchedDatabaseChanges(FetchedDatabaseChanges)
        /// Records changed on the server.
        case fetchedRecordZoneChanges(FetchedRecordZoneChanges)
        /// Changes of zones were sent.
        case sentDatabaseChanges(SentDatabaseChanges)
        /// Changes of records were sent.
        case sentRecordZoneChanges(SentRecordZoneChanges)
        /// A fetch begins.
        case willFetchChanges(WillFetchChanges)
        /// The fetch of a zone begins.
        case willFetchRecordZoneChanges(WillFetchRecordZoneChanges)
        /// The fetch of a zone ended.
        case didFetchRecordZoneChanges(DidFetchRecordZoneChanges)
        /// A fetch ended.
        case didFetchChanges(DidFetchChanges)
        /// A send begins.
        case willSendChanges(WillSendChanges)
        /// A send ended.
        case didSendChanges(DidSendChanges)

        /// A new state. Store it immediately: it is all that a relaunch needs.
        public struct StateUpdate: Sendable {
            /// The state to store.
            public let stateSerialization: State.Serialization
        }

        /// The signed-in account changed.
        public struct AccountChange: Sendable {
            /// The kinds of account changes.
            public enum ChangeType: Hashable, Sendable {
                /// A user signed in.
                case signIn(currentUser: CKRecord.ID)
                /// The user signed out.
                case signOut(previousUser: CKRecord.ID)
                /// Another user signed in.
                case switchAccounts(previousUser: CKRecord.ID, currentUser: CKRecord.ID)
            }

            /// How the account changed.
            public let changeType: ChangeType
        }

        /// Zones changed on the server.
        public struct FetchedDatabaseChanges: Sendable {
            /// New zones, and zones with changed records.
            public let modifications: [CKDatabase.DatabaseChange.Modification]
            /// Deleted zones.
            public let deletions: [CKDatabase.DatabaseChange.Deletion]
        }

        /// Records changed on the server.
        public struct FetchedRecordZoneChanges: Sendable {
            /// New and changed records.
            public let modifications: [CKDatabase.RecordZoneChange.Modification]
            /// Deleted records.
            public let deletions: [CKDatabase.RecordZoneChange.Deletion]
        }

        /// Changes of zones were sent.
        public struct SentDatabaseChanges: Sendable {
            /// A zone that could not be saved.
            public struct FailedZoneSave: Sendable {
                /// The zone.
                public let zone: CKRecordZone
                /// The reason.
                public let error: CKError
            }

            /// The saved zones.
            public let savedZones: [CKRecordZone]
            /// The zones that could not be saved.
            public let failedZoneSaves: [FailedZoneSave]
            /// The deleted zones.
            public let deletedZoneIDs: [CKRecordZone.ID]
            /// The zones that could not be deleted, with the reasons.
            public let failedZoneDeletes: [CKRecordZone.ID: CKError]
        }

        /// Changes of records were sent.
        public struct SentRecordZoneChanges: Sendable {
            /// A record that could not be saved.
            public struct FailedRecordSave: Sendable {
                /// The record.
                public let record: CKRecord
                /// The reason.
                public let error: CKError
            }

            /// The saved records.
            public let savedRecords: [CKRecord]
            /// The records that could not be saved.
            public let failedRecordSaves: [FailedRecordSave]
            /// The deleted records.
            public let deletedRecordIDs: [CKRecord.ID]
            /// The records that could not be deleted, with the reasons.
            public let failedRecordDeletes: [CKRecord.ID: CKError]
        }

        /// A fetch begins.
        public struct WillFetchChanges: Sendable {
            /// The reason and the options of the fetch.
            public let context: FetchChangesContext
        }

        /// The fetch of a zone begins.
        public struct WillFetchRecordZoneChanges: Sendable {
            /// The zone.
            public let zoneID: CKRecordZone.ID
        }

        /// The fetch of a zone ended.
        public struct DidFetchRecordZoneChanges: Sendable {
            /// The zone.
            public let zoneID: CKRecordZone.ID
            /// The reason of a failure.
            public let error: CKError?
        }

        /// A fetch ended.
        public struct DidFetchChanges: Sendable {
            /// The reason and the options of the fetch.
            public let context: FetchChangesContext
        }

        /// A send begins.
        public struct WillSendChanges: Sendable {
            /// The reason and the options of the send.
            public let context: SendChangesContext
        }

        /// A send ended.
        public struct DidSendChanges: Sendable {
            /// The reason and the options of the send.
            public let context: SendChangesContext
        }
    }
}

extension CKSyncEngine.Event: CustomStringConvertible {
    /// The kind of the event with the number of its items, without user data.
    public var description: String {
        switch self {
        case .stateUpdate: "stateUpdate"
        case .accountChange: "accountChange"
        case .fetchedDatabaseChanges(let event):
            "fetchedDatabaseChanges \(event.modifications.count) modified, \(event.deletions.count) deleted"
        case .fetchedRecordZoneChanges(let event):
            "fetchedRecordZoneChanges \(event.modifications.count) modified, \(event.deletions.count) deleted"
        case .sentDatabaseChanges(let event):
            "sentDatabaseChanges \(event.savedZones.count) saved, \(event.deletedZoneIDs.count) deleted"
        case .sentRecordZoneChanges(let event):
            "sentRecordZoneChanges \(event.savedRecords.count) saved, \(event.failedRecordSaves.count) failed"
        case .willFetchChanges: "willFetchChanges"
        case .willFetchRecordZoneChanges: "willFetchRecordZoneChanges"
        case .didFetchRecordZoneChanges: "didFetchRecordZoneChanges"
        case .didFetchChanges: "didFetchChanges"
        case .willSendChanges: "willSendChanges"
        case .didSendChanges: "didSendChanges"
        }
    }
}
