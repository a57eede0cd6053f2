// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

// Edits of the source zone that a device shows with a relocated record, and awaits: the relocating device forwards them to the destination
// zone. It cannot if it withholds the object when it receives them, and it deletes the source record nevertheless, since the destination
// record has arrived. A device that awaits edits of a deleted source record sends them itself. If several devices do, they send the same
// values.

extension RecordState {
    /// Returns the record with the awaited edits of its source record as unsent edits of this device; nil without any.
    package func forwardingAwaited(_ entity: EntityMapping) -> RecordState? {
        guard case .list(let names, _)? = ancestor.unapplied[MirrorNames.awaited]?.value else { return nil }
        var server = Record(recordName: recordName)
        if case .bytes(let bytes)? = ancestor.unapplied[MirrorNames.awaitedBase]?.value, let stored = try? Record(json: bytes) {
            server = stored
        }
        let base = entity.ancestor(of: server.fields)
        var state = self
        for property in entity.properties where names.contains(.string(property.name)) {
            for field in [property.fieldName, property.assetFieldName].compactMap(\.self) {
                state.ancestor.fields[field] = base.fields[field]
                state.ancestor.digests[field] = nil
            }
        }
        state.ancestor.unapplied[MirrorNames.forwardedVersion] = ancestor.unapplied[MirrorNames.awaitedVersion]
        for field in [MirrorNames.awaited, MirrorNames.awaitedVersion, MirrorNames.awaitedBase] { state.ancestor.unapplied[field] = nil }
        state.stage = .needsUpload
        return state
    }

    /// Returns the record as ``forwardingAwaited(_:)`` does if its source record is deleted; nil if this device is not to send the edits.
    ///
    /// - Parameter name: The name of a record that was deleted in the home zone; nil if a full fetch of the home zone ended, which does not
    ///   name deletions.
    package func forwardingAwaited(ofDeleted name: String?, mapping: RecordMapping) -> RecordState? {
        guard ancestor.unapplied[MirrorNames.awaited] != nil, !isRelocated, stage == .uploaded || stage == .needsUpload,
            let stamp = RelocationStamp.ofHomeZone(Record(recordName: recordName, fields: ancestor.unapplied)),
            name.map({ $0 == stamp.name }) ?? true, let entity = mapping.entities[key.entityIndex]
        else { return nil }
        return forwardingAwaited(entity)
    }
}

extension RelocationStamp {
    /// Returns the stamp that an update has with edits that this device sends in place of the relocating one.
    ///
    /// - Parameter current: The record in the destination zone.
    /// - Returns: nil if there are none, or if the server's stamp says it already.
    package static func forwardingAwaited(to current: RecordState) -> RelocationStamp? {
        guard current.changeTag != nil, case .int64(let version)? = current.ancestor.unapplied[MirrorNames.forwardedVersion]?.value,
            var stamp = RelocationStamp(Record(recordName: current.recordName, fields: current.ancestor.unapplied)),
            let seen = stamp.seen, seen < version
        else { return nil }
        stamp.seen = version
        return stamp
    }
}

extension Ancestor {
    /// Keeps fields that are only stored, when the merge base becomes a version of the server.
    ///
    /// - Parameter former: ``unapplied`` of the version before.
    mutating func keepStored(from former: [String: Field], with record: Record) {
        unapplied[MirrorNames.separatedFrom] = former[MirrorNames.separatedFrom]
        guard let forwarded = former[MirrorNames.forwardedVersion], case .int64(let version)? = forwarded.value,
            let seen = RelocationStamp(record)?.seen, seen < version
        else { return }
        unapplied[MirrorNames.forwardedVersion] = forwarded
    }
}
