// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import SQLiteStore

/// Quarantined encrypted values: the server has them, and the rows have their values from before.
extension MirrorFile {
    struct Unreadable: Hashable, Sendable {
        var key: RowKey
        var entity: String
        var recordName: String
        var attribute: String
        var reason: UnreadableReason
        var zone: ZoneID
    }

    /// Records of a zone to be fetched again.
    struct UnreadableRecords: Sendable {
        var row: ZoneTable.Row
        var names: [String]
    }

    func unreadable() throws -> [Unreadable] {
        try store.write { writer in
            try SyncMetadataSchema.open(writer, home: homeZone)
            return try ZoneTable.all(writer).flatMap { row in
                try reader(writer, zone: row.zone.number).unreadable().filter { !$0.isRelocated && $0.stage != .needsDelete }
                    .flatMap { unreadable($0, in: row.zone.id) }
            }
        }
    }

    func unreadable(_ state: RecordState, in zone: ZoneID) -> [Unreadable] {
        guard let entity = mapping.entities[state.key.entityIndex] else { return [] }
        return state.encrypted.quarantined.map { field, reason in
            let attribute = entity.properties.first { $0.fieldName == field }?.modelName ?? field
            return Unreadable(
                key: state.key, entity: entity.entity.name, recordName: state.recordName, attribute: attribute, reason: reason, zone: zone)
        }
    }

    /// Returns the quarantined values of a zone.
    func unreadable(in zone: MirrorZone, _ reader: StoreReader) throws -> Set<Unreadable> {
        guard mapping.hasEncryptedFields else { return [] }
        return Set(try self.reader(reader, zone: zone.number).unreadable().flatMap { unreadable($0, in: zone.id) })
    }

    func unreadableCount() throws -> Int {
        guard mapping.hasEncryptedFields else { return 0 }
        return try store.read { try reader($0).unreadableCount() }
    }

    /// Returns the records with quarantined values that may open now.
    ///
    /// - Parameters:
    ///   - isFirst: Whether this is the first attempt of the launch: all of them are retried.
    ///   - hasKey: Whether a key is on this device.
    func unreadableRecordsToRetry(isFirst: Bool, hasKey: (String) throws -> Bool) throws -> [UnreadableRecords] {
        guard mapping.hasEncryptedFields else { return [] }
        return try store.read { reader in
            var retried: [UnreadableRecords] = []
            guard try self.reader(reader).unreadableCount() > 0 else { return [] }
            for row in try ZoneTable.all(reader) where row.token != nil {
                let names = try self.reader(reader, zone: row.zone.number).unreadable().filter { state in
                    try isFirst || state.encrypted.missingKeys.contains(where: hasKey)
                }.map(\.recordName).sorted()
                if !names.isEmpty { retried.append(UnreadableRecords(row: row, names: names)) }
            }
            return retried
        }
    }

    /// Decides about the quarantined values of objects.
    ///
    /// - Parameter isReplacing: Whether this device's values replace those of the server; else older values of the server are accepted.
    /// - Returns: The records to be fetched again.
    func resolveUnreadable(_ keys: [RowKey], isReplacing: Bool) throws -> Committed<[UnreadableRecords]> {
        try write { writer, related in
            try SyncMetadataSchema.open(writer, home: homeZone)
            try scan(writer, &related)
            var names: [Int64: [String]] = [:]
            for key in keys {
                guard let number = try reader(writer).zone(of: key), var state = try reader(writer).record(of: key),
                    state.encrypted.hasQuarantined
                else { continue }
                for (field, reason) in state.encrypted.quarantined {
                    if isReplacing {
                        state.encrypted[field]?.isReplacing = true
                    } else if reason == .stale {
                        state.encrypted[field] = EncryptedFields.Entry(version: 0, problem: .stale)
                    }
                }
                if isReplacing, state.stage == .uploaded { state.stage = .needsUpload }
                try self.writer(writer, zone: number).write(state)
                names[number, default: []].append(state.recordName)
            }
            if isReplacing { return [] }
            return try ZoneTable.all(writer).compactMap { row in
                names[row.zone.number].map { UnreadableRecords(row: row, names: $0) }
            }
        }
    }
}

extension MirrorFile {
    /// Marks encrypted values that the server has to be sent again, with the present key.
    ///
    /// - Parameter zone: nil for all zones.
    func encryptAgain(in zone: ZoneID? = nil) throws -> Committed<Void> {
        try write { writer, related in
            try SyncMetadataSchema.open(writer, home: homeZone)
            try scan(writer, &related)
            for row in try ZoneTable.all(writer) where row.zone.number >= firstZone && (zone.map { normal($0) == row.zone.id } ?? true) {
                let metadata = self.writer(writer, zone: row.zone.number)
                for key in try metadata.reader.keysOnServer() where mapping.entities[key.entityIndex]?.hasEncryptedFields == true {
                    guard var state = try metadata.reader.record(of: key), let entity = mapping.entities[key.entityIndex],
                        state.encryptAgain(entity)
                    else { continue }
                    try metadata.write(state)
                }
            }
        }
    }
}

extension CloudFailure {
    /// The failure of an import event that quarantined values; nil without any.
    ///
    /// It names attributes and records: never a value.
    init?(quarantining values: Set<MirrorFile.Unreadable>) {
        guard let first = values.min(by: { ($0.recordName, $0.attribute) < ($1.recordName, $1.attribute) }) else { return nil }
        let cause =
            switch first.reason {
            case .missingKey: "its key is not on this device; add that device's keys with addEncryptionKeys(_:to:)"
            case .damaged: "it is damaged or forged"
            case .stale: "it is older than the value of this device"
            }
        let others = values.count > 1 ? ", and \(values.count - 1) more" : ""
        self.init(
            .partialFailure,
            "the server's value of \(first.entity).\(first.attribute) in record \(first.recordName) was not imported: \(cause)\(others)")
    }
}
