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
        if case .int64(let version)? = ancestor.unapplied[MirrorNames.awaitedVersion]?.value {
            state.ancestor.storeForwarded(ancestor, version: version)
        }
        for property in entity.properties where names.contains(.string(property.name)) {
            for field in [property.fieldName, property.assetFieldName].compactMap(\.self) {
                state.ancestor.fields[field] = base.fields[field]
                state.ancestor.digests[field] = nil
            }
        }
        for field in [MirrorNames.awaited, MirrorNames.awaitedVersion, MirrorNames.awaitedBase, MirrorNames.unforwarded] {
            state.ancestor.unapplied[field] = nil
        }
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

// A withheld record has no row, and sends nothing. It gets a flag when its source record is deleted, since no later page names that deletion.
// The edits are sent once the object is shown.

extension IncompleteRecord {
    /// Returns the record with the flag that this device sends its awaited edits; nil without any, with the flag, or while the source record
    /// may still exist.
    ///
    /// - Parameter page: A page of the home zone. A full fetch does not name deletions.
    package func forwardingAwaited(after page: ImportPage) -> IncompleteRecord? {
        guard record.fields[MirrorNames.awaited] != nil, record.fields[MirrorNames.unforwarded] == nil,
            let stamp = RelocationStamp.ofHomeZone(record),
            page.generation != nil && !page.moreComing || page.deletions.contains(stamp.name)
        else { return nil }
        var flagged = self
        flagged.record.fields[MirrorNames.unforwarded] = Field(.int64(1))
        return flagged
    }
}

extension RecordState {
    /// Returns the record of an object that is shown again, with its awaited edits as unsent edits of this device; nil unless its source record
    /// was deleted while it was withheld.
    func forwardingWithheld(mapping: RecordMapping) -> RecordState? {
        guard ancestor.unapplied[MirrorNames.unforwarded] != nil, !isRelocated, stage == .uploaded || stage == .needsUpload,
            let entity = mapping.entities[key.entityIndex]
        else { return nil }
        return forwardingAwaited(entity)
    }
}

// The device that relocated an object may delete the source record before the edits that it forwards are saved in the destination zone: the
// deletion frees storage, the edits need some. It stores the edits with the current record then.

extension RecordState {
    /// Returns the current record with the edits of its source record, which is removed; nil if none are unsent.
    package func forwarding(_ source: RecordState) -> RecordState? {
        guard source.isRelocated, stage == .needsUpload, changeTag != nil, let version = source.modified?.timestamp,
            let stamp = RelocationStamp(Record(recordName: recordName, fields: ancestor.unapplied)), let seen = stamp.seen, seen < version
        else { return nil }
        var state = self
        state.ancestor.storeForwarded(source.ancestor, version: version)
        return state
    }

    /// The source record's merge base with forwarded edits that the server does not have in the destination zone; nil without any.
    var forwardedEdits: Ancestor? {
        guard case .int64(let version)? = ancestor.unapplied[MirrorNames.forwardedVersion]?.value,
            case .bytes(let bytes)? = ancestor.unapplied[MirrorNames.forwardedEdits]?.value,
            let seen = RelocationStamp(Record(recordName: recordName, fields: ancestor.unapplied))?.seen, seen < version,
            let stored = try? Record(json: bytes)
        else { return nil }
        var edits = Ancestor(fields: stored.fields)
        guard case .list(let digests, _)? = edits.fields.removeValue(forKey: Ancestor.digestsField)?.value else { return edits }
        for case .string(let text) in digests {
            guard let space = text.firstIndex(of: " ") else { continue }
            edits.digests[String(text[..<space])] = ContentDigest(text: String(text[text.index(after: space)...]))
        }
        return edits
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
    fileprivate static let digestsField = "digests"

    /// - Parameter version: The modification date of the source record with the edits.
    fileprivate mutating func storeForwarded(_ edits: Ancestor, version: Int64) {
        var record = Record(recordName: "")
        record.fields = edits.fields
        let digests = edits.digests.sorted { $0.key < $1.key }.map { FieldValue.string("\($0.key) \($0.value.text)") }
        if !digests.isEmpty { record.fields[Self.digestsField] = Field(.list(digests, of: .string)) }
        unapplied[MirrorNames.forwardedVersion] = Field(.int64(version))
        unapplied[MirrorNames.forwardedEdits] = Field(.bytes(record.encoded()))
    }

    /// Keeps fields that are only stored, when the merge base becomes a version of the server.
    ///
    /// - Parameter former: ``unapplied`` of the version before.
    mutating func keepStored(from former: [String: Field], with record: Record) {
        unapplied[MirrorNames.separatedFrom] = former[MirrorNames.separatedFrom]
        guard let forwarded = former[MirrorNames.forwardedVersion], case .int64(let version)? = forwarded.value,
            let seen = RelocationStamp(record)?.seen, seen < version
        else { return }
        unapplied[MirrorNames.forwardedVersion] = forwarded
        unapplied[MirrorNames.forwardedEdits] = former[MirrorNames.forwardedEdits]
    }
}
