// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

extension CKSyncEngine {
    /// A record to save or delete on the server.
    public enum PendingRecordZoneChange: Hashable, Sendable {
        /// The record is to be saved.
        case saveRecord(CKRecord.ID)
        /// The record is to be deleted.
        case deleteRecord(CKRecord.ID)

        var recordID: CKRecord.ID {
            switch self {
            case .saveRecord(let id), .deleteRecord(let id): id
            }
        }

        var isSave: Bool { if case .saveRecord = self { true } else { false } }
    }

    /// A zone to save or delete on the server.
    public enum PendingDatabaseChange: Hashable, Sendable {
        /// The zone is to be saved.
        case saveZone(CKRecordZone)
        /// The zone is to be deleted.
        case deleteZone(CKRecordZone.ID)

        var zoneID: CKRecordZone.ID {
            switch self {
            case .saveZone(let zone): zone.zoneID
            case .deleteZone(let id): id
            }
        }

        /// Returns whether two changes are of the same zone.
        public static func == (a: Self, b: Self) -> Bool {
            switch (a, b) {
            case (.saveZone, .saveZone), (.deleteZone, .deleteZone): a.zoneID == b.zoneID
            case (.saveZone, .deleteZone), (.deleteZone, .saveZone): false
            }
        }

        /// Hashes the identifier of the zone.
        public func hash(into hasher: inout Hasher) { hasher.combine(zoneID) }
    }

    /// The engine's state: change tokens, and pending changes.
    public final class State: Sendable {
        let stored: Locked<Content>
        /// Called after a change was added or removed.
        private let changed = Locked<(@Sendable () -> Void)?>(nil)

        init(_ serialization: Serialization?) { stored = Locked(serialization?.content ?? Content()) }

        func onChange(_ action: @escaping @Sendable () -> Void) { changed.update { $0 = action } }

        /// The pending changes of records, in the order in which they were added.
        public var pendingRecordZoneChanges: [PendingRecordZoneChange] { stored.value.records }
        /// The pending changes of zones, in the order in which they were added.
        public var pendingDatabaseChanges: [PendingDatabaseChange] { stored.value.zones }
        /// The zones with changes on the server that are not fetched yet.
        public var zoneIDsWithUnfetchedServerChanges: [CKRecordZone.ID] { stored.value.unfetched }

        /// Whether the app tracks changes itself. Then the engine asks the delegate for batches.
        public var hasPendingUntrackedChanges: Bool {
            get { stored.value.hasUntracked }
            set { change { $0.hasUntracked = newValue } }
        }

        /// Adds changes of records. A change replaces an earlier one of the same record.
        public func add(pendingRecordZoneChanges changes: [PendingRecordZoneChange]) {
            change { content in
                let ids = Set(changes.map(\.recordID))
                content.records.removeAll { ids.contains($0.recordID) && !changes.contains($0) }
                content.savesAddedSinceBatch?.formUnion(changes.filter(\.isSave))
                let pending = Set(content.records)
                var added: Set<PendingRecordZoneChange> = []
                content.records += changes.filter { !pending.contains($0) && added.insert($0).inserted }
            }
        }

        /// Removes changes of records.
        public func remove(pendingRecordZoneChanges changes: [PendingRecordZoneChange]) {
            let removed = Set(changes)
            change { content in
                content.records.removeAll { removed.contains($0) }
                content.unreportedRecords.removeAll { removed.contains($0) }
            }
        }

        /// Adds changes of zones. A change replaces an earlier one of the same zone.
        public func add(pendingDatabaseChanges changes: [PendingDatabaseChange]) {
            change { content in
                let ids = Set(changes.map(\.zoneID))
                content.zones.removeAll { ids.contains($0.zoneID) && !changes.contains($0) }
                for change in changes where !content.zones.contains(change) { content.zones.append(change) }
            }
        }

        /// Removes changes of zones.
        public func remove(pendingDatabaseChanges changes: [PendingDatabaseChange]) {
            change { content in
                content.zones.removeAll { changes.contains($0) }
                content.unreportedZones.removeAll { changes.contains($0) }
            }
        }

        private func change(_ body: (inout Content) -> Void) {
            stored.update(body)
            changed.value?()
        }

        var serialization: Serialization { Serialization(stored.value) }
    }
}

extension CKSyncEngine.State {
    struct Content: Hashable, Sendable {
        var records: [CKSyncEngine.PendingRecordZoneChange] = []
        var zones: [CKSyncEngine.PendingDatabaseChange] = []
        var unfetched: [CKRecordZone.ID] = []
        var hasUntracked = false
        var databaseToken: CKServerChangeToken?
        var zoneTokens: [CKRecordZone.ID: CKServerChangeToken] = [:]
        var userRecordName: String?
        /// The saves that were added since the delegate was asked for the present batch, which may have earlier versions of the
        /// records: they stay pending. `nil` while no batch is being sent. Not stored.
        var savesAddedSinceBatch: Set<CKSyncEngine.PendingRecordZoneChange>?
        /// Changes that were sent, or failed, and whose event the delegate has not handled. They are no longer pending, as the event expects,
        /// but stored as pending ones: if the process ends before the event, they are sent again, and the app gets it.
        var unreportedRecords: [CKSyncEngine.PendingRecordZoneChange] = []
        /// The same for changes of zones.
        var unreportedZones: [CKSyncEngine.PendingDatabaseChange] = []

        /// Takes changes off the pending ones until their event was handled.
        mutating func beginReport(records done: Set<CKSyncEngine.PendingRecordZoneChange>) {
            unreportedRecords = records.filter { done.contains($0) }
            records.removeAll { done.contains($0) }
        }

        /// Takes changes off the pending ones until their event was handled.
        mutating func beginReport(zones done: [CKSyncEngine.PendingDatabaseChange]) {
            unreportedZones = zones.filter { done.contains($0) }
            zones.removeAll { done.contains($0) }
        }

        /// The delegate has handled the event.
        mutating func endReport() { (unreportedRecords, unreportedZones) = ([], []) }

        /// The content as it is stored. A newer pending change of the same record or zone supersedes an unreported one.
        var stored: Self {
            var stored = self
            stored.savesAddedSinceBatch = nil
            let (pendingRecords, pendingZones) = (Set(records.map(\.recordID)), Set(zones.map(\.zoneID)))
            stored.records = unreportedRecords.filter { !pendingRecords.contains($0.recordID) } + records
            stored.zones = unreportedZones.filter { !pendingZones.contains($0.zoneID) } + zones
            stored.endReport()
            return stored
        }
    }

    /// The state in a form that can be stored.
    public struct Serialization: Codable, Sendable {
        let content: Content

        init(_ content: Content) { self.content = content.stored }

        private struct Zone: Codable {
            var name: String
            var owner: String

            init(_ id: CKRecordZone.ID) { (name, owner) = (id.zoneName, id.ownerName) }
            var id: CKRecordZone.ID { CKRecordZone.ID(zoneName: name, ownerName: owner) }
        }

        private struct Change: Codable {
            var zone: Zone
            /// `nil` for a change of the zone itself.
            var record: String?
            var isDeletion: Bool
        }

        private struct Token: Codable {
            var zone: Zone?
            var text: String
        }

        private enum CodingKeys: String, CodingKey { case version, changes, unfetched, hasUntracked, tokens, user }

        /// Decodes a stored state.
        ///
        /// - Throws: `DecodingError` if it is damaged, or written by a newer version.
        public init(from decoder: any Decoder) throws {
            let container = try decoder.container(keyedBy: CodingKeys.self)
            guard try container.decode(Int.self, forKey: .version) == 1 else {
                throw DecodingError.dataCorruptedError(
                    forKey: .version, in: container, debugDescription: "the state was written by a newer version")
            }
            var content = Content()
            for change in try container.decode([Change].self, forKey: .changes) {
                let zoneID = change.zone.id
                if let record = change.record {
                    let id = CKRecord.ID(recordName: record, zoneID: zoneID)
                    content.records.append(change.isDeletion ? .deleteRecord(id) : .saveRecord(id))
                } else {
                    content.zones.append(change.isDeletion ? .deleteZone(zoneID) : .saveZone(CKRecordZone(zoneID: zoneID)))
                }
            }
            content.unfetched = try container.decode([Zone].self, forKey: .unfetched).map(\.id)
            content.hasUntracked = try container.decode(Bool.self, forKey: .hasUntracked)
            for token in try container.decode([Token].self, forKey: .tokens) {
                if let zone = token.zone {
                    content.zoneTokens[zone.id] = CKServerChangeToken(token.text)
                } else {
                    content.databaseToken = CKServerChangeToken(token.text)
                }
            }
            content.userRecordName = try container.decodeIfPresent(String.self, forKey: .user)
            self.content = content
        }

        /// Encodes the state.
        ///
        /// - Throws: The error of the encoder.
        public func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: CodingKeys.self)
            try container.encode(1, forKey: .version)
            let records = content.records.map { change in
                Change(zone: Zone(change.recordID.zoneID), record: change.recordID.recordName, isDeletion: !change.isSave)
            }
            let zones = content.zones.map { change in
                let isDeletion = if case .deleteZone = change { true } else { false }
                return Change(zone: Zone(change.zoneID), record: nil, isDeletion: isDeletion)
            }
            try container.encode(records + zones, forKey: .changes)
            try container.encode(content.unfetched.map { Zone($0) }, forKey: .unfetched)
            try container.encode(content.hasUntracked, forKey: .hasUntracked)
            var tokens = content.zoneTokens.map { Token(zone: Zone($0.key), text: $0.value.text) }
            tokens.sort { ($0.zone?.name ?? "") < ($1.zone?.name ?? "") }
            if let token = content.databaseToken { tokens.append(Token(zone: nil, text: token.text)) }
            try container.encode(tokens, forKey: .tokens)
            try container.encodeIfPresent(content.userRecordName, forKey: .user)
        }
    }
}
