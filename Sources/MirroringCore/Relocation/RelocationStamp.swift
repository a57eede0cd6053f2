// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import ManagedModel

/// The field of a relocated record that names its source record, with the state in which the relocating device had it.
///
/// The stamp is encoded as a record with a name and a zone. Other devices may have edited the source record before it was deleted, without
/// the relocating device having received the edit: until that device forwards it, the new record has older values than those devices show.
package struct RelocationStamp: Hashable, Sendable {
    package var name: String
    package var zone: ZoneID
    /// The modification date of the source record's version that the relocating device has sent to the destination zone, in milliseconds by
    /// the server's clock; nil if it is unknown. Each forwarded edit raises it.
    package var seen: Int64?
    /// Properties that the relocating device had changed since.
    package var edited: Set<String> = []
    /// Short digests of the new record's first values, by property. A device that receives the record after edits of other devices finds
    /// the properties that they did not change. Encrypted values and assets have no digest.
    package var made: [String: String] = [:]

    private static let seenField = "seen"
    private static let editedField = "edited"
    private static let madeField = "made"

    package init(name: String, zone: ZoneID) {
        self.name = name
        self.zone = zone
    }

    /// - Returns: nil for a record without a stamp, or with a stamp of another library.
    package init?(_ record: Record) {
        guard case .bytes(let bytes)? = record.fields[MirrorNames.moveReceipt]?.value, let stamp = try? Record(json: bytes),
            let zone = stamp.zoneID
        else { return nil }
        self.init(name: stamp.recordName, zone: zone)
        guard case .int64(let seen)? = stamp.fields[Self.seenField]?.value else { return }
        self.seen = seen
        guard case .list(let names, _)? = stamp.fields[Self.editedField]?.value else { return }
        for case .string(let name) in names { edited.insert(name) }
        guard case .list(let digests, _)? = stamp.fields[Self.madeField]?.value else { return }
        for case .string(let text) in digests {
            let parts = Self.parts(of: text)
            if parts.count == 2 { made[String(parts[0])] = String(parts[1]) }
        }
    }

    /// Splits the text of a digest. To break a text into characters takes longer than all else that a stamp needs.
    private static func parts(of text: String) -> [Substring] {
        if text.utf8.allSatisfy({ $0 < 0x80 }) {
            return text.utf8.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false).map { Substring($0) }
        }
        return text.split(separator: " ", omittingEmptySubsequences: false)
    }

    package func encoded() -> [UInt8] {
        var stamp = Record(recordName: name, zoneID: zone)
        if let seen {
            stamp.fields[Self.seenField] = Field(.int64(seen))
            stamp.fields[Self.editedField] = Field(.list(edited.sorted().map { .string($0) }, of: .string))
            let digests = made.sorted { $0.key < $1.key }.map { FieldValue.string("\($0.key) \($0.value)") }
            if !digests.isEmpty { stamp.fields[Self.madeField] = Field(.list(digests, of: .string)) }
        }
        return stamp.encoded()
    }

    /// Adds the digests of the new record.
    ///
    /// - Parameter uploads: Fields that are uploaded as assets.
    mutating func addDigests(of fields: [String: Field], uploads: Set<String>, _ entity: EntityMapping) {
        if seen == nil { return }
        for property in entity.properties where !property.isOwn && !property.isEncrypted && !edited.contains(property.name) {
            if let field = property.assetFieldName, uploads.contains(field) { continue }
            made[property.name] = Self.digest(of: property.content(in: fields))
        }
    }

    /// Returns `true` if a property has the first value of the new record.
    fileprivate func isAsMade(_ property: PropertyMapping, in record: Record) -> Bool {
        if record.created == record.modified { return true }
        guard let made = made[property.name] else { return false }
        return made == Self.digest(of: property.content(in: record.fields))
    }

    private static func digest(of content: RemoteContent) -> String? {
        switch content {
        case .absent: ""
        case .inline(let value): String(ContentDigest(Record(recordName: "", fields: ["": Field(value)]).encoded()).text.suffix(8))
        case .asset: nil
        }
    }
}

extension RelocationStamp {
    /// Returns the stamp that the next update of a relocated record has: it says which version of the source record was forwarded. Values
    /// do not say it, since another device may have restored the first one.
    ///
    /// - Parameters:
    ///   - current: The record in the destination zone.
    ///   - source: The record in the source zone.
    /// - Returns: nil if the server's stamp says it already.
    package static func forwarding(_ source: RecordState, to current: RecordState) -> RelocationStamp? {
        guard let modified = source.modified,
            var stamp = RelocationStamp(Record(recordName: current.recordName, fields: current.ancestor.unapplied)),
            let seen = stamp.seen, seen < modified.timestamp
        else { return nil }
        stamp.seen = modified.timestamp
        return stamp
    }
}

extension RelocationStamp {
    /// Returns `true` if a stored record of the source zone is the one that the stamp names. Record names that follow from unique values may
    /// belong to another object by now, which was created after the source record was deleted.
    package func names(_ source: RecordState, mapping: RecordMapping) -> Bool {
        if source.recordName != name { return false }
        guard mapping.isUnique(source.key.entityIndex) else { return true }
        guard let seen, source.changeTag != nil else { return false }
        return source.system.created.map { $0 <= seen } ?? true
    }
}

extension RecordState {
    /// Returns `true` if a record of the home zone is the source record of this object, which is in another zone.
    package func isRelocation(of record: Record, mapping: RecordMapping) -> Bool {
        guard mapping.isUnique(key.entityIndex) else { return true }
        guard let stamp = RelocationStamp(Record(recordName: recordName, fields: ancestor.unapplied)), stamp.name == record.recordName,
            let seen = stamp.seen
        else { return false }
        return record.created.map { $0.timestamp <= seen } ?? true
    }

    /// Returns `true` if the relocation stamp of this record names a record of the home zone.
    func isRelocation(ofRecordNamed name: String) -> Bool {
        RelocationStamp.ofHomeZone(Record(recordName: recordName, fields: ancestor.unapplied))?.name == name
    }
}

extension EntityMapping {
    /// Adds the state of the source record to a stamp.
    ///
    /// - Parameter names: Record names of the row's to-one targets.
    package func addSource(
        _ old: RecordState, _ row: Row, names: [RowKey: String], parked: [ParkedRelationship], to stamp: inout RelocationStamp
    ) {
        guard let modified = old.modified else { return }
        stamp.seen = modified.timestamp
        let waiting = Dictionary(parked.map { ($0.key.relationship, $0.destination) }, uniquingKeysWith: { first, _ in first })
        let local = LocalRecord(row: row, of: self, names: names, parked: waiting, state: old)
        stamp.edited = Set(RecordMerge.localChanges(of: local, entity: self).map(\.property.name))
        // The earlier form of an edited value is that of the edit: the source record's would seem to be an edit by an earlier version.
        stamp.edited.formUnion(earlierNames(following: stamp.edited))
    }

    /// Returns a record with later edits of its source record, if this device has received edits that the relocating device had not.
    /// Properties that no device has changed in the destination zone get the values of the source record. The relocating device forwards
    /// them to the server.
    ///
    /// - Parameter stored: The source record on this device.
    package func completed(_ record: Record, with stored: RecordState, _ stamp: RelocationStamp) -> Record {
        guard let seen = stamp.seen, let modified = stored.modified, modified.timestamp > seen else { return record }
        return completed(record, with: stored.ancestor, stamp, awaiting: modified.timestamp) {
            !$0.isOwn && !stamp.edited.contains($0.name)
        }
    }

    /// Returns a record that was edited in the destination zone before the edits of its source record were forwarded, with those edits.
    ///
    /// - Parameter base: The former version on this device, shown or withheld.
    func completedAgain(_ record: Record, with base: Ancestor, _ stamp: RelocationStamp) -> Record {
        guard case .list(let names, _)? = base.unapplied[MirrorNames.awaited]?.value else { return record }
        var version = Int64.max
        if case .int64(let stored)? = base.unapplied[MirrorNames.awaitedVersion]?.value { version = stored }
        // The edits were forwarded, and may have been replaced since, by the first values as well.
        if let seen = stamp.seen, seen >= version { return record }
        var completed = completed(record, with: base, stamp, awaiting: version) { names.contains(.string($0.name)) }
        if completed.fields[MirrorNames.awaited] != nil {
            completed.fields[MirrorNames.unforwarded] = base.unapplied[MirrorNames.unforwarded]
        }
        return completed
    }

    /// - Parameter version: The modification date of the source record with the edits.
    private func completed(
        _ record: Record, with base: Ancestor, _ stamp: RelocationStamp, awaiting version: Int64, where isWanted: (PropertyMapping) -> Bool
    ) -> Record {
        var completed = record
        var awaited: [FieldValue] = []
        var replaced = Record(recordName: record.recordName)
        for property in properties where isWanted(property) && stamp.isAsMade(property, in: record) {
            if property.content(in: record.fields) == property.content(in: base.fields) { continue }
            for field in [property.fieldName, property.assetFieldName].compactMap(\.self) {
                replaced.fields[field] = record.fields[field]
                completed.fields[field] = base.fields[field]
            }
            awaited.append(.string(property.name))
        }
        // A name whose first part is the relocating device's, and whose last part is the source record's.
        for lens in lenses { lens.alignEarlier(in: &completed.fields, since: record.fields) }
        if !awaited.isEmpty {
            completed.fields[MirrorNames.awaited] = Field(.list(awaited, of: .string))
            completed.fields[MirrorNames.awaitedVersion] = Field(.int64(version))
            completed.fields[MirrorNames.awaitedBase] = Field(.bytes(replaced.encoded()))
        }
        return completed
    }
}
