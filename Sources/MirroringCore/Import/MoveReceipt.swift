// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import ManagedModel

/// What a record that came from another zone says about where it was, and of what its maker knew there.
///
/// A receipt is a record with a name and a zone, as it travels. Others may have written into the old record before it was
/// deleted, without its maker having heard: then the new record holds older values than they show, until its maker passes
/// on what they wrote.
package struct MoveReceipt: Hashable, Sendable {
    package var name: String
    package var zone: ZoneID
    /// When the old record was saved last, by the server's clock, as far as its maker knew; nil if that is not said.
    package var seen: Int64?
    /// Properties that its maker had changed since.
    package var edited: Set<String> = []
    /// What the new record said at first, by property, as short digests: who gets to know it once others have changed it sees what
    /// they did not change. Of what the server must not see, and of assets, there is none.
    package var made: [String: String] = [:]

    private static let seenField = "seen"
    private static let editedField = "edited"
    private static let madeField = "made"

    package init(name: String, zone: ZoneID) {
        self.name = name
        self.zone = zone
    }

    /// nil for what another library wrote in its place.
    package init?(_ record: Record) {
        guard case .bytes(let bytes)? = record.fields[MirrorNames.moveReceipt]?.value, let receipt = try? Record(json: bytes),
            let zone = receipt.zoneID
        else { return nil }
        self.init(name: receipt.recordName, zone: zone)
        guard case .int64(let seen)? = receipt.fields[Self.seenField]?.value else { return }
        self.seen = seen
        guard case .list(let names, _)? = receipt.fields[Self.editedField]?.value else { return }
        for case .string(let name) in names { edited.insert(name) }
        guard case .list(let digests, _)? = receipt.fields[Self.madeField]?.value else { return }
        for case .string(let text) in digests {
            let parts = text.split(separator: " ", omittingEmptySubsequences: false)
            if parts.count == 2 { made[String(parts[0])] = String(parts[1]) }
        }
    }

    package func encoded() -> [UInt8] {
        var receipt = Record(recordName: name, zoneID: zone)
        if let seen {
            receipt.fields[Self.seenField] = Field(.int64(seen))
            receipt.fields[Self.editedField] = Field(.list(edited.sorted().map { .string($0) }, of: .string))
            let digests = made.sorted { $0.key < $1.key }.map { FieldValue.string("\($0.key) \($0.value)") }
            if !digests.isEmpty { receipt.fields[Self.madeField] = Field(.list(digests, of: .string)) }
        }
        return receipt.encoded()
    }

    /// Notes what the first record says.
    ///
    /// - Parameter uploads: Fields of what goes into assets.
    mutating func note(_ fields: [String: Field], uploads: Set<String>, of entity: EntityMapping) {
        if seen == nil { return }
        for property in entity.properties where !property.isOwn && !property.isEncrypted && !edited.contains(property.name) {
            if let field = property.assetFieldName, uploads.contains(field) { continue }
            made[property.name] = Self.digest(of: property.content(in: fields))
        }
    }

    /// Whether a property is still as the record said at first.
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

extension EntityMapping {
    /// What the maker of a record that moves knows of the old one.
    ///
    /// - Parameter names: Record names of what the row refers to.
    package func note(_ old: RecordState, _ row: Row, names: [RowKey: String], parked: [ParkedRelationship], in receipt: inout MoveReceipt) {
        guard let modified = old.modified else { return }
        receipt.seen = modified.timestamp
        let waiting = Dictionary(parked.map { ($0.key.relationship, $0.destination) }, uniquingKeysWith: { first, _ in first })
        let local = LocalRecord(row: row, names: names, parked: waiting, state: old)
        receipt.edited = Set(RecordMerge.localChanges(of: local, since: old.ancestor, entity: self).map(\.property.name))
    }

    /// A record as its maker would have made it with the knowledge of this device, if that is the greater one: what neither they nor
    /// anybody since has changed is as the old record had it last. They see to it that the server gets to know it.
    ///
    /// - Parameter known: What this device knows of the old record.
    package func completed(_ record: Record, with known: RecordState, _ receipt: MoveReceipt) -> Record {
        guard let seen = receipt.seen, let modified = known.modified, modified.timestamp > seen else { return record }
        return completed(record, with: known.ancestor, receipt) { !$0.isOwn && !receipt.edited.contains($0.name) }
    }

    /// A record that changed before its maker has passed on what this device shows of it already.
    ///
    /// - Parameter known: What this device knows of the record itself.
    package func completedAgain(_ record: Record, with known: RecordState, _ receipt: MoveReceipt) -> Record {
        guard case .list(let names, _)? = known.ancestor.unapplied[MirrorNames.awaited]?.value else { return record }
        return completed(record, with: known.ancestor, receipt) { names.contains(.string($0.name)) }
    }

    private func completed(
        _ record: Record, with known: Ancestor, _ receipt: MoveReceipt, where isWanted: (PropertyMapping) -> Bool
    ) -> Record {
        var completed = record
        var awaited: [FieldValue] = []
        for property in properties where isWanted(property) && receipt.isAsMade(property, in: record) {
            if property.content(in: record.fields) == property.content(in: known.fields) { continue }
            for field in [property.fieldName, property.assetFieldName].compactMap(\.self) { completed.fields[field] = known.fields[field] }
            awaited.append(.string(property.name))
        }
        if !awaited.isEmpty { completed.fields[MirrorNames.awaited] = Field(.list(awaited, of: .string)) }
        return completed
    }
}
