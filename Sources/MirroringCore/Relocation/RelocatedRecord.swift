// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import ManagedModel

/// The records of an object that is relocated to another zone. A record cannot leave its zone: it is created in the destination zone under
/// its name (or another one, if an object of the destination zone has that), and deleted in the source zone after that.
package struct RelocatedRecord: Hashable, Sendable {
    /// The object's current record from now on. It is sent as a new one.
    package let destination: RecordState
    /// The record to be deleted in the source zone; nil if the server has no source zone.
    package let source: RecordState?

    /// - Parameters:
    ///   - state: The current record in the source zone.
    ///   - name: The record name in the destination zone; nil for the same one.
    ///   - mark: The number of the last history transaction.
    ///   - keepsSource: Whether the server has the source zone.
    package init(_ state: RecordState, as name: String? = nil, mark: Int64, keepsSource: Bool) {
        var destination = state
        if let name { destination.recordName = name }
        destination.changeTag = nil
        // Fields of newer versions of the app are sent unchanged; everything else is sent from the row.
        destination.ancestor.fields = [:]
        destination.ancestor.digests = [:]
        destination.fieldStates = FieldStates()
        destination.modified = nil
        destination.failure = nil
        destination.generation = 0
        destination.system = RecordSystemFields(creator: state.system.creator)
        destination.stage = .needsUpload
        destination.mark = mark
        self.destination = destination
        guard keepsSource else {
            source = nil
            return
        }
        var source = state
        source.role = .source(isObjectDeleted: false)
        source.stage = .needsDelete
        source.mark = mark
        source.failure = nil
        source.system = RecordSystemFields(creator: state.system.creator, created: state.system.created)
        source.isNew = true
        self.source = source
    }

    /// Returns the source record of an object that was relocated before, if a restored server has it again. It is deleted again once the
    /// current record has arrived: a device that fetches the home zone for the first time would show the object even after its deletion in
    /// the destination zone.
    ///
    /// - Parameters:
    ///   - record: A record of the home zone, from a full fetch after the server lost its history.
    ///   - current: The record of that name in another zone.
    ///   - owner: Record name of the owner of the home zone. A record that a participant created is not of the owner's object; nil if the
    ///     server never identified a user.
    ///   - generation: The number of the full fetch that returned the record.
    ///   - key: A key of no row, for a deleted object, and if the server has the current record: another device may have relocated the object,
    ///     and its deletion of the source record must not be taken for that of the object.
    /// - Returns: nil for a record of another object.
    package static func restoredSource(
        _ record: Record, of current: RecordState, owner: String?, generation: Int64, mark: Int64, mapping: RecordMapping,
        key: () throws -> RowKey
    ) rethrows -> RecordState? {
        guard !current.isRelocated,
            mapping.entity(of: record)?.entity.root == mapping.model.entities[current.key.entityIndex].root,
            current.isRelocation(of: record, mapping: mapping)
        else { return nil }
        if let owner, let creator = current.system.creator, creator != owner { return nil }
        let key = current.changeTag == nil && current.stage != .needsDelete ? current.key : try key()
        var source = RecordState(recordName: record.recordName, key: key, stage: .needsDelete, mark: mark)
        source.role = .source(isObjectDeleted: false)
        source.changeTag = record.recordChangeTag
        source.modified = record.modified
        source.generation = generation
        source.system = RecordSystemFields(creator: record.created?.userRecordName, created: record.created?.timestamp)
        return source
    }

    /// Returns `false` for an object that is being deleted, here or by another device.
    ///
    /// An object with a value that waits for its key, or for its asset, stays, too: the destination record could not have the value.
    package static func isRelocatable(_ state: RecordState) -> Bool {
        state.stage != .needsDelete && state.stage != .missing && !state.fieldStates.awaitsValues
    }
}

/// The records of an object after its relocation is undone: another device deleted the source record, so the object is deleted as any
/// object of its source zone.
package struct UndoneRelocation: Hashable, Sendable {
    /// The record of the source zone, which is the object's current record again.
    package let source: RecordState
    /// The record to be deleted in the destination zone; nil if the server never had it.
    package let destination: RecordState?

    /// Returns `true` if the deletion of a record in the source zone undoes the relocation of this object. A record name that follows from
    /// unique values may be another object's: the server never had a record without a change tag.
    package static func isDecided(byDeletionOf source: RecordState, mapping: RecordMapping) -> Bool {
        source.isRelocated && (source.changeTag != nil || !mapping.isUnique(source.key.entityIndex))
    }

    /// - Parameter mark: The number of the last history transaction.
    package init(source: RecordState, current: RecordState, mark: Int64) {
        var source = source
        source.role = .current
        source.stage = .uploaded
        self.source = source
        guard current.changeTag != nil else {
            destination = nil
            return
        }
        var destination = current
        destination.role = .source(isObjectDeleted: false)
        destination.stage = .needsDelete
        destination.mark = mark
        self.destination = destination
    }
}

extension RecordState {
    /// Returns the source record as the object's current record: the destination zone was deleted before the relocation arrived there. An
    /// object that was deleted in the destination zone is deleted in the source zone.
    ///
    /// A version that the server lacks is no merge base: values that differ go to the conflict log.
    ///
    /// - Parameter isLost: Whether a restored server lost the destination zone. Other devices may have received the object there, and send it to
    ///   the source zone: a record of that name is not the echo of this device's request.
    package func takenBack(isLost: Bool) -> RecordState {
        var state = self
        if changeTag == nil {
            state.ancestor.fields = [:]
            state.ancestor.digests = [:]
        }
        if isLost, system.created == nil { state.system.created = RecordStamp.unknownTime }
        state.stage = isDeletedAtDestination ? .needsDelete : .needsUpload
        state.role = .current
        return state
    }

    /// Returns the record in the zone and under the name where another device has created it.
    ///
    /// An empty change tag is older than any of the server, and is a tag: the next page merges the record and logs what differs. Each zone
    /// counts its own full fetches.
    package func adopted(as name: String) -> RecordState {
        var state = self
        state.recordName = name
        state.changeTag = ""
        state.failure = nil
        state.generation = 0
        // Versions count in one zone.
        state.fieldStates = FieldStates()
        return state
    }

    /// Returns `true` if the relocating device never had a version of the source record from the server, which this device has: it deletes
    /// values of other devices unread.
    ///
    /// - Parameter record: The record in the destination zone, of which this is the adopted or reconciled one.
    func isBaseUnseen(by record: Record) -> Bool {
        guard changeTag == "", let stamp = RelocationStamp.ofHomeZone(record) else { return false }
        return stamp.seen == nil
    }

    /// Returns the current record of an object that this device and another one have relocated. What both made of it is measured against
    /// the merge base of the source record.
    package func reconciled(with source: RecordState) -> RecordState {
        var state = self
        state.ancestor.fields = source.ancestor.fields
        state.ancestor.digests = source.ancestor.digests
        state.modified = source.modified
        state.changeTag = ""
        return state
    }

    /// Returns the record without merge bases of references, so that the next merge takes their values from the server again.
    package func withoutMergeBase(of fields: [String]) -> RecordState {
        var state = self
        for field in fields { state.ancestor.fields[field] = nil }
        return state
    }
}
