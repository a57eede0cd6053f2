// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore
import SQLiteStore

/// Quarantined values: the server has them, or names their assets, and the rows have their values from before.
struct UnreadableValues: FileTransactions {
    let file: MirrorFile

    struct Unreadable: Hashable, Sendable {
        /// nil for an object that is withheld, since it requires the value.
        var key: RowKey?
        var entity: String
        var recordName: String
        var attribute: String
        var reason: UnreadableReason
        var zone: ZoneID
    }

    /// Records of a zone to be fetched again.
    struct Records: Sendable {
        var row: ZoneTable.Row
        var names: [String]
    }

    func all() throws -> [Unreadable] {
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
        return unreadable(state.fieldStates, of: state.recordName, state.key, entity, in: zone)
    }

    private func unreadable(
        _ values: FieldStates, of recordName: String, _ key: RowKey?, _ entity: EntityMapping, in zone: ZoneID
    ) -> [Unreadable] {
        values.quarantined.map { field, reason in
            let attribute = entity.properties.first { $0.fieldName == field }?.modelName ?? field
            return Unreadable(
                key: key, entity: entity.entity.name, recordName: recordName, attribute: attribute, reason: reason, zone: zone)
        }
    }

    /// Returns the quarantined values of a zone, those of withheld objects included.
    func unreadable(in zone: MirrorZone, _ reader: StoreReader) throws -> Set<Unreadable> {
        let metadata = self.reader(reader, zone: zone.number)
        let withheld = try withheldUnreadable(metadata).flatMap { record in
            mapping.entity(of: record).map { unreadable(record.fieldStates, of: record.recordName, nil, $0, in: zone.id) } ?? []
        }
        return Set(try metadata.unreadable().flatMap { unreadable($0, in: zone.id) } + withheld)
    }

    /// Returns the withheld records of a zone with quarantined values.
    private func withheldUnreadable(_ metadata: SyncMetadataReader) throws -> [Record] {
        guard mapping.keepsIncomplete, try metadata.hasIncomplete() else { return [] }
        return try metadata.incomplete(with: MirrorNames.fieldStates).map(\.record).filter(\.fieldStates.hasQuarantined)
    }

    func count() throws -> Int { try store.read { try reader($0).unreadableCount() } }

    /// Returns the records with quarantined values to be fetched again.
    ///
    /// - Parameters:
    ///   - isDue: Whether all of them are retried.
    ///   - hasKey: Whether a key is on this device.
    func recordsToRetry(isDue: Bool, hasKey: (String) throws -> Bool) throws -> [Records] {
        try store.read { reader in
            var retried: [Records] = []
            for row in try ZoneTable.all(reader) where row.token != nil {
                let metadata = self.reader(reader, zone: row.zone.number)
                let shown = try metadata.unreadable().map { (name: $0.recordName, values: $0.fieldStates) }
                let withheld = try withheldUnreadable(metadata).map { (name: $0.recordName, values: $0.fieldStates) }
                let retriable = try (shown + withheld).filter { try isDue || $0.values.missingKeys.contains(where: hasKey) }
                let names = retriable.map { $0.name }.sorted()
                if !names.isEmpty { retried.append(Records(row: row, names: names)) }
            }
            return retried
        }
    }

    /// Decides about the quarantined values of objects.
    ///
    /// - Parameter isReplacing: Whether this device's values replace those of the server; else older values of the server are accepted.
    /// - Returns: The records to be fetched again.
    func resolve(_ keys: [RowKey], isReplacing: Bool) throws -> Committed<[Records]> {
        try write { writer, related in
            try SyncMetadataSchema.open(writer, home: homeZone)
            try file.history.scan(writer, &related)
            var names: [Int64: [String]] = [:]
            for key in keys {
                guard let number = try reader(writer).zone(of: key), var state = try reader(writer).record(of: key),
                    state.fieldStates.hasQuarantined
                else { continue }
                let fieldNames = Set(mapping.entities[key.entityIndex]?.properties.map(\.fieldName) ?? [])
                for (field, reason) in state.fieldStates.quarantined {
                    if isReplacing, !fieldNames.contains(field) {
                        // This device has no value of an attribute that only a later version of the model has.
                        state.fieldStates[field] = nil
                    } else if isReplacing {
                        state.fieldStates[field]?.isReplacing = true
                    } else if reason == .stale {
                        state.fieldStates[field] = FieldStates.Entry(version: 0, problem: .stale)
                    }
                }
                if isReplacing, state.fieldStates.isReplacingAny { state.sendReplacements() }
                try self.writer(writer, zone: number).write(state)
                names[number, default: []].append(state.recordName)
            }
            if isReplacing { return [] }
            return try ZoneTable.all(writer).compactMap { row in
                names[row.zone.number].map { Records(row: row, names: $0) }
            }
        }
    }

    /// Marks encrypted values that the server has, or that are in flight, to be sent again with the present key.
    ///
    /// - Parameter zone: nil for all zones.
    func encryptAgain(in zone: ZoneID? = nil) throws -> Committed<Void> {
        try write { writer, related in
            try SyncMetadataSchema.open(writer, home: homeZone)
            try file.history.scan(writer, &related)
            for row in try ZoneTable.all(writer) where row.zone.number >= firstZone && (zone.map { normal($0) == row.zone.id } ?? true) {
                let metadata = self.writer(writer, zone: row.zone.number)
                for key in try metadata.reader.keys() where mapping.entities[key.entityIndex]?.hasEncryptedFields == true {
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
    init?(quarantining values: Set<UnreadableValues.Unreadable>) {
        guard let first = values.min(by: { ($0.recordName, $0.attribute) < ($1.recordName, $1.attribute) }) else { return nil }
        let cause =
            switch first.reason {
            case .missingKey:
                "its key is not on this device; add the keys of the user's device with addEncryptionKeys(_:to:), or those of another user's share with addEncryptionKeys(_:for:in:)"
            case .damaged: "it is damaged or forged"
            case .stale: "it is older than the value of this device"
            case .missingAsset:
                "the server does not have its asset; it is fetched again at each launch, once a day, and when the record changes"
            }
        let others = values.count > 1 ? ", and \(values.count - 1) more" : ""
        self.init(
            .partialFailure,
            "the server's value of \(first.entity).\(first.attribute) in record \(first.recordName) was not imported: \(cause)\(others)")
    }
}
