// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension CKSyncEngine {
    /// The database, the state and the delegate of a sync engine.
    public struct Configuration: Sendable {
        /// The private or the shared database.
        public var database: CKDatabase
        /// The state of the last `stateUpdate` event. `nil` at the first launch.
        public var stateSerialization: State.Serialization?
        private weak var weakDelegate: (any CKSyncEngineDelegate)?
        /// The delegate. The engine holds it weakly.
        public var delegate: (any CKSyncEngineDelegate)? {
            get { weakDelegate }
            set { weakDelegate = newValue }
        }
        /// Whether the engine fetches and sends without being called.
        public var automaticallySync = true
        /// The database subscription to use. `nil` lets the engine find or create one.
        public var subscriptionID: CKSubscription.ID?

        /// Creates a configuration.
        public init(
            database: CKDatabase, stateSerialization: State.Serialization?, delegate: any CKSyncEngineDelegate
        ) {
            self.database = database
            self.stateSerialization = stateSerialization
            weakDelegate = delegate
        }
    }

    /// Why a fetch or send runs.
    public enum SyncReason: Hashable, Sendable {
        /// The engine started it.
        case scheduled
        /// The app started it.
        case manual
    }

    /// The extent of a fetch.
    public struct FetchChangesOptions: Sendable {
        /// The zones that a fetch includes.
        public enum Scope: Hashable, Sendable {
            /// All.
            case all
            /// All except those of some zones.
            case allExcluding([CKRecordZone.ID])
            /// Those of some zones.
            case zoneIDs([CKRecordZone.ID])

            /// Returns whether the scope includes a zone.
            public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let ids): !ids.contains(zoneID)
                case .zoneIDs(let ids): ids.contains(zoneID)
                }
            }
        }

        /// The zones to fetch.
        public var scope: Scope
        /// The zones to fetch first, in this order.
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []
        /// The group of the engine's operations.
        public var operationGroup: CKOperationGroup?

        /// Creates options.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup
        }
    }

    /// The extent of a send.
    public struct SendChangesOptions: Sendable {
        /// The changes that a send includes.
        public enum Scope: Hashable, Sendable {
            /// All.
            case all
            /// All except those of some zones.
            case allExcluding([CKRecordZone.ID])
            /// Those of some zones.
            case zoneIDs([CKRecordZone.ID])
            /// Those of some records.
            case recordIDs([CKRecord.ID])

            /// Returns whether the scope includes a change.
            public func contains(_ pendingRecordZoneChange: PendingRecordZoneChange) -> Bool {
                contains(pendingRecordZoneChange.recordID)
            }

            /// Returns whether the scope includes a record.
            public func contains(_ recordID: CKRecord.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let ids): !ids.contains(recordID.zoneID)
                case .zoneIDs(let ids): ids.contains(recordID.zoneID)
                case .recordIDs(let ids): ids.contains(recordID)
                }
            }

            /// Returns whether the scope includes a zone.
            public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let ids): !ids.contains(zoneID)
                case .zoneIDs(let ids): ids.contains(zoneID)
                case .recordIDs: false
                }
            }
        }

        /// The changes to send.
        public var scope: Scope
        /// The group of the engine's operations.
        public var operationGroup: CKOperationGroup?

        /// Creates options.
        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup
        }
    }

    /// The reason and the options of a fetch.
    public struct FetchChangesContext: Sendable {
        /// The reason.
        public let reason: SyncReason
        /// The options.
        public let options: FetchChangesOptions
    }

    /// The reason and the options of a send.
    public struct SendChangesContext: Sendable {
        /// The reason.
        public let reason: SyncReason
        /// The options.
        public let options: SendChangesOptions
    }

    /// The records to send in one request.
    public struct RecordZoneChangeBatch: Sendable {
        /// The records to save.
        public var recordsToSave: [CKRecord]
        /// The records to delete.
        public var recordIDsToDelete: [CKRecord.ID]
        /// Whether the records of a zone succeed or fail together.
        public var atomicByZone: Bool

        /// Creates a batch.
        public init(
            recordsToSave: [CKRecord] = [], recordIDsToDelete: [CKRecord.ID] = [], atomicByZone: Bool = false
        ) {
            self.recordsToSave = recordsToSave
            self.recordIDsToDelete = recordIDsToDelete
            self.atomicByZone = atomicByZone
        }

        /// Creates a batch with as many of the changes as one request can have.
        ///
        /// - Parameters:
        ///   - pendingChanges: The changes to send, in order.
        ///   - recordProvider: Returns the record to save. `nil` omits the change.
        /// - Returns: `nil` if there is nothing to send.
        public init?(
            pendingChanges: [PendingRecordZoneChange], recordProvider: @Sendable (CKRecord.ID) async -> CKRecord?
        ) async {
            self.init()
            var bytes = 0
            for change in pendingChanges {
                guard recordsToSave.count + recordIDsToDelete.count < Limit.changes, bytes < Limit.bytes else { break }
                switch change {
                case .deleteRecord(let id): recordIDsToDelete.append(id)
                case .saveRecord(let id):
                    guard let record = await recordProvider(id) else { continue }
                    bytes += record.approximateBytes
                    recordsToSave.append(record)
                }
            }
            if recordsToSave.isEmpty, recordIDsToDelete.isEmpty { return nil }
        }

        private enum Limit {
            /// Of the service with the lowest limit: the database of a batch is not known here.
            static let changes = Limits.documentedWebServices.operationsPerRequest
            /// The last record may be large; a request can have two megabytes.
            static let bytes = 900_000
        }
    }
}

extension CKRecord {
    /// The approximate size of the encoded fields, without assets.
    fileprivate var approximateBytes: Int {
        stored.value.values.reduce(100) { sum, entry in
            if case .wire(let value) = entry.value { sum + entry.key.utf8.count + Self.bytes(of: value) } else { sum + 200 }
        }
    }

    private static func bytes(of value: FieldValue) -> Int {
        switch value {
        case .string(let text): text.utf8.count + 30
        case .bytes(let bytes): bytes.count * 4 / 3 + 30
        case .list(let members, _): members.reduce(30) { $0 + bytes(of: $1) }
        case .int64, .double, .timestamp: 40
        case .reference, .location, .asset: 250
        }
    }
}
