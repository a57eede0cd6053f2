// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Stores a share with other participants or requesters, outside of a batch of records.
struct ShareWriter {
    private let zone: StoredZone
    private let unit: any PartitionWriter
    private let call: Call

    init(_ zone: StoredZone, _ unit: any PartitionWriter, _ call: Call) {
        self.zone = zone
        self.unit = unit
        self.call = call
    }

    /// Writes one changed share record with all that follows from it.
    func store(_ share: Record, over old: Record) throws -> (Record, [ShareNews], [PushNotification]) {
        let membersBefore = try unit.members(inZone: zone.key)
        let number = try unit.raiseCounter(by: 1)
        var record = share
        record.recordChangeTag = String(number, radix: 36)
        record.modified = RecordStamp(
            timestamp: call.now, userRecordName: call.caller.userRecordName, deviceID: call.caller.deviceID)
        let stored = StoredRecord(record: record, change: number)
        try unit.save([stored], in: zone.key, at: call.now)
        let previous = old.recordChangeTag.flatMap { Int64($0, radix: 36) }
        try ChangeLog().append([ChangeLogEntry.Change(number: number, previous: previous, from: old, to: record)], in: unit, call)
        var effects = SharingEffects(zone: zone.key, unit: unit, number: number, now: call.now)
        if let details = record.sharing.details {
            try effects.save(details, of: record.recordName, before: old.sharing.details)
        }
        try effects.place(stored)
        let news = try effects.news(zoneName: zone.name, membersBefore: membersBefore, call)
        var zone = zone
        zone.change = effects.number
        // Participants count, and the share's size is subtracted when it is deleted.
        let growth = StoredBytes(records: Int64(RecordSize.bytes(of: record) - RecordSize.bytes(of: old)))
        if growth.records != 0 {
            zone.usage += growth
            try unit.addUsage(growth)
        }
        try unit.save(zone, at: call.now)
        return (record, news, try ZoneNotifications(unit, call).ofChanges(in: [zone.name]))
    }
}
