// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import ObjectGraph
import SQLiteStore

// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainer, "Accessing records"

extension NSPersistentCloudKitContainer {
    func storedRecord(for managedObjectID: NSManagedObjectID) -> CKRecord? {
        guard let (state, mirror, zoneID) = state(of: managedObjectID), state.changeTag != nil,
            let entity = mirror.file.mapping.entities[state.key.entityIndex]
        else { return nil }
        var record = Record(
            recordName: state.recordName, recordType: entity.recordType, recordChangeTag: state.changeTag,
            fields: state.ancestor.fields.merging(state.ancestor.unapplied) { known, _ in known })
        record.modified = state.modified
        state.system.write(to: &record)
        return CKRecord(record, in: zoneID, scope: mirror.file.scope)
    }

    func storedRecordID(for managedObjectID: NSManagedObjectID) -> CKRecord.ID? {
        guard let (state, _, zoneID) = state(of: managedObjectID), state.changeTag != nil else { return nil }
        return CKRecord.ID(recordName: state.recordName, zoneID: zoneID)
    }

    private func state(of id: NSManagedObjectID) -> (RecordState, StoreSync, CKRecordZone.ID)? {
        guard !id.isTemporaryID, let mirror = mirror(of: id.persistentStore) else { return nil }
        // If the sync metadata cannot be read there is no record; sync reports the error.
        let found = try? mirror.file.store.read { reader -> (RecordState, ZoneID)? in
            let bookkeeping = mirror.file.reader(reader)
            guard var state = try bookkeeping.record(of: id.key), let number = try bookkeeping.zone(of: id.key),
                let row = try ZoneTable.row(number, reader)
            else { return nil }
            state.system.share = try mirror.file.reader(reader, zone: number).share(of: state)
            return (state, row.zone.id)
        }
        return found.flatMap(\.self).map { ($0, mirror, CKRecordZone.ID($1, scope: mirror.file.scope)) }
    }
}
