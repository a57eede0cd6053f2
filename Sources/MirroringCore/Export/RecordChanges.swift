// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel

/// The fields of a row that differ from the server's record.
///
/// Only changed keys are sent. A value above ``inlineBytesMax``, or the longest ones of a record that would
/// exceed the limit, go to an asset field and the inline field is cleared; a value that is short again comes
/// back and the asset is cleared. A value that did not change stays where it is while the record fits.
///
/// Source: the talk *Using Core Data With CloudKit* (2019), "asset externalization": about 750 kilobytes a
/// value, one megabyte a record; the exact constant is private.
struct RecordChanges {
    static let inlineBytesMax = 750_000

    var fields: [String: Field] = [:]
    /// By asset field name.
    var uploads: [(field: String, content: LongValue, isEncrypted: Bool)] = []

    var isEmpty: Bool { fields.isEmpty && uploads.isEmpty }

    private struct Placed {
        let property: PropertyMapping
        let content: LocalContent
        let before: RemoteContent
        let isChanged: Bool
        var isAsset: Bool
        /// Whether the server's record names an asset that is missing, and that the merge base does not have.
        let isAssetMissing: Bool

        var inlineBytes: Int { isAsset ? 0 : content.byteCount }
    }

    /// - Parameters:
    ///   - isNew: Whether the server has no such record yet: all keys are sent.
    ///   - fieldStates: Quarantined values are not sent, unless they changed here or the record is new. One that waits for its key isn't
    ///     sent either.
    init(
        of local: LocalRecord, entity: EntityMapping, ancestor: Ancestor, fieldStates: FieldStates = FieldStates(), isNew: Bool,
        limits: Limits
    ) {
        let base = isNew ? [:] : entity.fieldsToCompare(with: local.row, since: ancestor, shown: local.base)
        var placed = entity.properties.compactMap { property -> Placed? in
            let content = local.content(of: property)
            // Its target gets a name from the next scan of history, which marks this record again.
            if case .unnamed = content { return nil }
            let before = property.content(in: base)
            let digest = property.assetFieldName.flatMap { ancestor.digests[$0] }
            let isChanged = isNew || fieldStates.isReplacing(property.fieldName) || !property.isSame(content, as: before, digest: digest)
            if !isNew, let entry = fieldStates[property.fieldName], entry.problem != nil,
                !isChanged || !fieldStates.maySend(property.fieldName)
            {
                return nil
            }
            var isAsset = false
            if property.assetFieldName != nil {
                if isChanged {
                    isAsset = content.byteCount > Self.inlineBytesMax
                } else if case .asset = before {
                    isAsset = true
                }
            }
            return Placed(
                property: property, content: content, before: before, isChanged: isChanged, isAsset: isAsset,
                isAssetMissing: !isNew && fieldStates[property.fieldName]?.problem == .missingAsset)
        }
        Self.makeRoom(&placed, others: Self.bytes(ofOthersIn: ancestor, entity), limits: limits)

        if isNew {
            fields = [String: Field](minimumCapacity: placed.count + 1)
            fields[MirrorNames.entityNameField] = Field(.string(entity.name))
        }
        for item in placed { put(item, isNew: isNew) }
    }

    private mutating func put(_ item: Placed, isNew: Bool) {
        let property = item.property
        let wasInline = if case .inline = item.before { true } else { false }
        let wasAsset = if case .asset = item.before { true } else { false }
        guard item.isChanged || (item.isAsset && !wasAsset) else { return }
        if item.isAsset, let field = property.assetFieldName, let content = item.content.long {
            uploads.append((field, content, property.isEncrypted))
            if wasInline { fields[property.fieldName] = Field(nil, isEncrypted: property.isEncrypted) }
            return
        }
        if let value = item.content.value {
            fields[property.fieldName] = Field(value, isEncrypted: property.isEncrypted)
        } else if wasInline || (!isNew && !wasAsset) {
            fields[property.fieldName] = Field(nil, isEncrypted: property.isEncrypted)
        }
        if wasAsset || item.isAssetMissing, let field = property.assetFieldName { fields[field] = Field(nil) }
    }

    /// Moves the longest values to assets until the record fits.
    private static func makeRoom(_ placed: inout [Placed], others: Int, limits: Limits) {
        var total = others + placed.reduce(0) { $0 + $1.property.fieldName.utf8.count + $1.inlineBytes }
        while total > limits.recordBytes {
            let candidates = placed.indices.filter { placed[$0].property.assetFieldName != nil && placed[$0].inlineBytes > 0 }
            // Slots are in order of names, so that equal lengths are decided alike on every device.
            guard let longest = candidates.max(by: { (placed[$0].inlineBytes, -$0) < (placed[$1].inlineBytes, -$1) }) else { return }
            total -= placed[longest].inlineBytes
            placed[longest].isAsset = true
        }
    }

    private static func bytes(ofOthersIn ancestor: Ancestor, _ entity: EntityMapping) -> Int {
        MirrorNames.entityNameField.utf8.count + entity.name.utf8.count
            + ancestor.unapplied.reduce(0) { $0 + $1.key.utf8.count + ($1.value.value?.approximateBytes ?? 0) }
    }
}
