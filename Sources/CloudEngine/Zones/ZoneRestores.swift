// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The changes by a zone's restore to an earlier state.
package struct ZoneRestoration: Hashable, Sendable {
    package var saved: Int
    package var deleted: Int
}

/// Restores zones to earlier states.
package struct ZoneRestores: Sendable {
    let rules: RecordRules

    /// Restores the records of a custom zone to their versions at a time, by ordinary changes: devices follow by their
    /// tokens, and merge their unsent changes as they would with an edit of another device.
    ///
    /// Shares and participants do not change. A deleted zone is created again; one that was made again under
    /// its name cannot be brought back to before that.
    ///
    /// - Throws: `WireError` with `.badRequest` for a time from which nothing is kept, `.zoneNotFound`; with the first reason
    ///   for which a record cannot be restored, and then nothing changes.
    package func restore(
        _ zoneID: ZoneID, to time: Int64, in unit: any PartitionWriter, _ call: Call
    ) throws -> Outcome<ZoneRestoration> {
        guard let start = try unit.historyStart(now: call.now) else {
            throw WireError(.badRequest, "the server keeps no history: set the limit historyDays")
        }
        guard time >= start, time <= call.now else {
            throw WireError(.badRequest, "the time is outside the history that the server keeps")
        }
        guard zoneID.zoneName != ZoneID.defaultZoneName, var zone = try unit.zone(named: zoneID.zoneName) else {
            throw WireError(.zoneNotFound, "zone not found")
        }
        if try zone.isDeleted && unit.hasRecords(inZone: zone.key) { throw ZoneRequests.zoneIsBeingDeleted }
        let past = try unit.records(ofZone: zone.key, at: time)
        let present = try zone.isDeleted ? [:] : unit.records(ofZone: zone.key, at: .max)
        if zone.isDeleted {
            let number = try unit.raiseCounter(by: 1)
            zone = StoredZone(key: number, name: zone.name, change: number)
            try unit.save(zone, at: call.now)
        }
        var operations: [RecordOperation] = []
        for (name, record) in past.sorted(by: { $0.key < $1.key }) where record.recordType != ShareDetails.recordType {
            if let now = present[name], now.fields == record.fields, now.sharing.parent == record.sharing.parent { continue }
            operations.append(RecordOperation(.forceReplace, try restored(record, in: unit, call)))
        }
        let gone = present.filter { past[$0.key] == nil && $0.value.recordType != ShareDetails.recordType }.keys.sorted()
        operations += gone.map { RecordOperation(.forceDelete, Record(recordName: $0)) }
        var batch = try RecordBatch(operations, zone: zone, rules, unit, call, for: .restoration)
        try batch.decideAll()
        if let refusal = batch.refusal { throw refusal }
        let changes = try batch.write()
        return Outcome(
            ZoneRestoration(saved: operations.count - gone.count, deleted: gone.count),
            notifications: try ZoneNotifications(unit, call).ofChanges(in: changes > 0 ? [zone.name] : []), news: batch.news)
    }

    /// The record as a client would save it: its assets have receipts, since the record may not have them now.
    private func restored(_ record: Record, in unit: any PartitionWriter, _ call: Call) throws -> Record {
        var incoming = Record(recordName: record.recordName, recordType: record.recordType, fields: record.fields)
        incoming.sharing.parent = record.sharing.parent ?? ""
        var uploads: [StoredUpload] = []
        func receipt(_ asset: AssetValue, _ field: String) -> AssetValue {
            let upload = StoredUpload(
                id: call.makeIdentifier(), recordName: record.recordName, fieldName: field,
                asset: StoredAsset(checksum: asset.fileChecksum, size: asset.size), created: call.now)
            uploads.append(upload)
            return AssetValue(fileChecksum: asset.fileChecksum, size: asset.size, receipt: upload.id)
        }
        for (name, field) in record.fields {
            switch field.value {
            case .asset(let asset): incoming.fields[name]?.value = .asset(receipt(asset, name))
            case .list(let elements, of: .asset):
                incoming.fields[name]?.value = .list(
                    elements.map { if case .asset(let asset) = $0 { .asset(receipt(asset, name)) } else { $0 } }, of: .asset)
            default: break
            }
        }
        if !uploads.isEmpty { try unit.save(uploads) }
        return incoming
    }
}
