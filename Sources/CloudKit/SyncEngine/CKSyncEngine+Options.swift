// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

extension CKSyncEngine {
    public struct Configuration: Sendable {
        /// The private or the shared database.
        public var database: CKDatabase
        /// What the last `stateUpdate` event brought; nil at the first start.
        public var stateSerialization: State.Serialization?
        private weak var weakDelegate: (any CKSyncEngineDelegate)?
        public var delegate: (any CKSyncEngineDelegate)? {
            get { weakDelegate }
            set { weakDelegate = newValue }
        }
        /// Whether the engine fetches and sends by itself.
        public var automaticallySync = true
        /// The database subscription to use; nil lets the engine find or make one.
        public var subscriptionID: CKSubscription.ID?

        public init(
            database: CKDatabase, stateSerialization: State.Serialization?, delegate: any CKSyncEngineDelegate
        ) {
            self.database = database
            self.stateSerialization = stateSerialization
            weakDelegate = delegate
        }
    }

    public enum SyncReason: Hashable, Sendable {
        case scheduled
        case manual
    }

    public struct FetchChangesOptions: Sendable {
        public enum Scope: Hashable, Sendable {
            case all
            case allExcluding([CKRecordZone.ID])
            case zoneIDs([CKRecordZone.ID])

            public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let ids): !ids.contains(zoneID)
                case .zoneIDs(let ids): ids.contains(zoneID)
                }
            }
        }

        public var scope: Scope
        /// Fetched first, in this order.
        public var prioritizedZoneIDs: [CKRecordZone.ID] = []
        public var operationGroup: CKOperationGroup?

        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup
        }
    }

    public struct SendChangesOptions: Sendable {
        public enum Scope: Hashable, Sendable {
            case all
            case allExcluding([CKRecordZone.ID])
            case zoneIDs([CKRecordZone.ID])
            case recordIDs([CKRecord.ID])

            public func contains(_ pendingRecordZoneChange: PendingRecordZoneChange) -> Bool {
                contains(pendingRecordZoneChange.recordID)
            }

            public func contains(_ recordID: CKRecord.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let ids): !ids.contains(recordID.zoneID)
                case .zoneIDs(let ids): ids.contains(recordID.zoneID)
                case .recordIDs(let ids): ids.contains(recordID)
                }
            }

            public func contains(_ zoneID: CKRecordZone.ID) -> Bool {
                switch self {
                case .all: true
                case .allExcluding(let ids): !ids.contains(zoneID)
                case .zoneIDs(let ids): ids.contains(zoneID)
                case .recordIDs: false
                }
            }
        }

        public var scope: Scope
        public var operationGroup: CKOperationGroup?

        public init(scope: Scope = .all, operationGroup: CKOperationGroup? = nil) {
            self.scope = scope
            self.operationGroup = operationGroup
        }
    }

    public struct FetchChangesContext: Sendable {
        public let reason: SyncReason
        public let options: FetchChangesOptions
    }

    public struct SendChangesContext: Sendable {
        public let reason: SyncReason
        public let options: SendChangesOptions
    }

    /// Records to send in one request.
    public struct RecordZoneChangeBatch: Sendable {
        public var recordsToSave: [CKRecord]
        public var recordIDsToDelete: [CKRecord.ID]
        /// Whether the records of a zone succeed or fail together.
        public var atomicByZone: Bool

        public init(
            recordsToSave: [CKRecord] = [], recordIDsToDelete: [CKRecord.ID] = [], atomicByZone: Bool = false
        ) {
            self.recordsToSave = recordsToSave
            self.recordIDsToDelete = recordIDsToDelete
            self.atomicByZone = atomicByZone
        }

        /// As many of the changes as one request takes.
        ///
        /// - Parameter recordProvider: Gives the record to save; nil leaves the change out.
        /// - Returns: Nil if there is nothing to send.
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
            static let changes = 250
            /// The last record may be large; a request takes two megabytes.
            static let bytes = 900_000
        }
    }
}

extension CKRecord {
    /// About how many bytes the fields take as they travel, without assets.
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
