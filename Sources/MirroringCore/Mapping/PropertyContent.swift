// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import Foundation
import ManagedModel

/// The content of one property in a record's fields.
enum RemoteContent: Hashable {
    case absent
    case inline(FieldValue)
    case asset(AssetValue)
}

/// The content of one property in a row, as it is sent.
enum LocalContent: Hashable {
    case absent
    case value(FieldValue)
    /// More than fits a field.
    case long(LongValue)
    /// A to-one target that has no record name yet.
    case unnamed(RowKey)

    /// A copy of a long value.
    var value: FieldValue? {
        switch self {
        case .value(let value): value
        case .long(let long): long.fieldValue
        case .absent, .unnamed: nil
        }
    }

    /// The content of an asset instead of the field; nil for a value that never becomes an asset.
    var long: LongValue? {
        switch self {
        case .long(let long): long
        case .value(let value): LongValue(value)
        case .absent, .unnamed: nil
        }
    }

    /// Bytes that the value takes in a record, as the server counts them.
    var byteCount: Int {
        switch self {
        case .value(let value): value.approximateBytes
        case .long(let long): long.byteCount
        case .absent, .unnamed: 0
        }
    }
}

/// A row with the record names of its to-one targets.
struct LocalRecord {
    let row: Row
    let names: [RowKey: String]
    /// Names of missing targets, by relationship.
    let parked: [String: String]
    /// Places in others' lists, by relationship.
    let ranks: [String: String]
    let merged: MergedNames
    /// The merge base, as this version of the model reads it.
    let base: Ancestor

    /// - Parameter entity: The mapping of the row's entity. Attributes of earlier versions have the values that are sent.
    init(row: Row, of entity: EntityMapping, names: [RowKey: String], parked: [String: String], state: RecordState) {
        base = entity.upgraded(state.ancestor)
        self.row = entity.downgraded(row, since: state.ancestor, shown: base)
        self.names = names
        self.parked = parked
        ranks = state.ranks
        merged = state.merged
    }

    func content(of property: PropertyMapping) -> LocalContent {
        let value = row.values[property.slot]
        switch property.form {
        case .attribute: return property.localContent(of: value)
        case .toOne:
            if let key = value.reference { return names[key].map { .value(.string($0)) } ?? .unnamed(key) }
            return parked[property.name].map { .value(.string($0)) } ?? .absent
        case .rank(let relationship): return ranks[relationship].map { .value(.string($0)) } ?? .absent
        case .merged: return merged.text.map { .value(.string($0)) } ?? .absent
        }
    }
}

extension PropertyMapping {
    /// The content of an attribute's value, as it is sent.
    func localContent(of value: StoredValue) -> LocalContent {
        guard case .attribute(let type) = form else { return .absent }
        if let long = LongValue(value, as: type) { return .long(long) }
        // A missing required value counts as its default, as on other devices.
        let encoded = FieldCodec.encode(value, as: type) ?? FieldCodec.encode(absentValue, as: type)
        return encoded.map { .value($0) } ?? .absent
    }

    /// Reads the inline field first, then the asset.
    func content(in fields: [String: Field]) -> RemoteContent {
        let inline = fields[fieldName]?.value
        if let inline, assetFieldName == nil || inline.approximateBytes > 0 { return .inline(inline) }
        if let assetFieldName, case .asset(let asset)? = fields[assetFieldName]?.value { return .asset(asset.canonical) }
        return inline.map { .inline($0) } ?? .absent
    }

    /// The row's value for an attribute's inline field; the absent value if the field is of a foreign kind.
    func stored(_ value: FieldValue) -> StoredValue {
        guard case .attribute(let type) = form else { return .null }
        return FieldCodec.decode(value, as: type) ?? absentValue
    }

    func stored(contentsOfAsset bytes: Data) -> StoredValue {
        guard case .attribute(let type) = form else { return .null }
        return FieldCodec.decode(contentsOfAsset: bytes, as: type) ?? absentValue
    }

    /// The content of a row that equals the record: a difference is a local change.
    ///
    /// Never the remote content itself, since a value may not survive the way into a row unchanged.
    func mirrored(_ content: RemoteContent) -> LocalContent {
        switch (form, content) {
        case (.attribute(let type), .inline(let value)):
            FieldCodec.encode(stored(value), as: type).map { .value($0) } ?? .absent
        case (.attribute(let type), .absent):
            FieldCodec.encode(absentValue, as: type).map { .value($0) } ?? .absent
        case (.toOne, .inline(.string(let name))): name.isEmpty ? .absent : .value(.string(name))
        case (.rank, .inline(.string(let rank))): Rank(rank).map { .value(.string($0.text)) } ?? .absent
        case (.merged, .inline): Self.mergedNames(content).text.map { .value(.string($0)) } ?? .absent
        case (.toOne, _), (.rank, _), (.merged, _), (.attribute, .asset): .absent
        }
    }

    /// The record that a to-one relationship names.
    func target(_ content: RemoteContent) -> String? {
        if case .value(.string(let name)) = mirrored(content) { name } else { nil }
    }

    /// Whether a row's content equals the record's.
    ///
    /// - Parameter digest: Of the asset's content, if the record holds an asset.
    func isSame(_ local: LocalContent, as content: RemoteContent, digest: ContentDigest?) -> Bool {
        switch (content, local) {
        case (.asset, _):
            guard let digest, let long = local.long, digest.fits(long.byteCount) else { return false }
            return digest == long.digest
        case (.inline(let value), .long(let long)): return long.isSame(as: value)
        case (.inline(let value), .value(let same)) where value == same: return true
        case (.absent, .long(let long)): return mirrored(content).value.map { long.isSame(as: $0) } ?? false
        case (.inline, _), (.absent, _): return local == mirrored(content)
        }
    }
}

extension AssetValue {
    /// Without what differs from answer to answer.
    var canonical: AssetValue { AssetValue(fileChecksum: fileChecksum, size: size) }
}

extension EntityMapping {
    /// Splits a record's fields into an ancestor: understood fields and others, without empty and passing parts.
    package func ancestor(of fields: [String: Field]) -> Ancestor {
        // Most records have nothing else.
        if isUnderstood(fields) { return Ancestor(fields: fields) }
        var ancestor = Ancestor()
        for (name, field) in fields where name != MirrorNames.fieldStates {
            guard let value = field.value else { continue }
            let canonical: Field =
                if case .asset(let asset) = value { Field(.asset(asset.canonical), isEncrypted: field.isEncrypted) } else { field }
            if knownFields.contains(name) {
                ancestor.fields[name] = canonical
            } else {
                ancestor.unapplied[name] = canonical
            }
        }
        return ancestor
    }

    private func isUnderstood(_ fields: [String: Field]) -> Bool {
        for (name, field) in fields {
            switch field.value {
            case .asset, nil: return false
            default: if !knownFields.contains(name) { return false }
            }
        }
        return true
    }
}
