// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
public import ObjectGraph
import SQLiteStore

// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontainer, "Accessing records"

extension NSPersistentCloudKitContainer {
    /// The server's record of an object as it was last seen. Nothing is fetched; it may be older than the object.
    ///
    /// - Returns: nil until the object was exported or imported.
    public func record(for managedObjectID: NSManagedObjectID) -> CKRecord? {
        guard let (state, mirror, zoneID) = state(of: managedObjectID), state.changeTag != nil,
            let entity = mirror.file.mapping.entities[state.key.entityIndex]
        else { return nil }
        var record = Record(
            recordName: state.recordName, recordType: entity.recordType, recordChangeTag: state.changeTag,
            fields: state.ancestor.fields.merging(state.ancestor.unapplied) { known, _ in known })
        record.modified = state.modified
        return CKRecord(record, in: zoneID, scope: mirror.file.scope)
    }

    public func records(for managedObjectIDs: [NSManagedObjectID]) -> [NSManagedObjectID: CKRecord] {
        var records: [NSManagedObjectID: CKRecord] = [:]
        for id in managedObjectIDs { records[id] = record(for: id) }
        return records
    }

    /// - Returns: nil until the object was exported or imported.
    public func recordID(for managedObjectID: NSManagedObjectID) -> CKRecord.ID? {
        guard let (state, _, zoneID) = state(of: managedObjectID), state.changeTag != nil else { return nil }
        return CKRecord.ID(recordName: state.recordName, zoneID: zoneID)
    }

    public func recordIDs(for managedObjectIDs: [NSManagedObjectID]) -> [NSManagedObjectID: CKRecord.ID] {
        var ids: [NSManagedObjectID: CKRecord.ID] = [:]
        for id in managedObjectIDs { ids[id] = recordID(for: id) }
        return ids
    }

    private func state(of id: NSManagedObjectID) -> (RecordState, Mirror, CKRecordZone.ID)? {
        guard !id.isTemporaryID, let mirror = mirror(of: id.persistentStore) else { return nil }
        // A store whose bookkeeping cannot be read has no record to show; syncing reports what is wrong.
        let found = try? mirror.file.store.read { reader -> (RecordState, ZoneID)? in
            let bookkeeping = mirror.file.reader(reader)
            guard let state = try bookkeeping.record(of: id.key), let number = try bookkeeping.zone(of: id.key),
                let row = try ZoneTable.row(number, reader)
            else { return nil }
            return (state, row.zone.id)
        }
        return found.flatMap(\.self).map { ($0, mirror, CKRecordZone.ID($1, scope: mirror.file.scope)) }
    }
}
