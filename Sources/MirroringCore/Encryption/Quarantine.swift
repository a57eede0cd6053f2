// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
import Foundation

// A quarantined value leaves the rest of its record alone: the merge sees the merge base in its place, so that the row keeps its value and
// no export sends the field.
//
//     server's value        version against the accepted one    the row gets     state
//     opens                 greater, or the same value          the value        accepted
//     opens                 smaller, or another value of it     nothing          quarantined, stale
//     absent                any was accepted                    nothing          quarantined, stale
//     does not open         –                                   nothing          quarantined
//     asset is missing      –                                   nothing          quarantined
//
// Values that are not encrypted have no versions: the last line alone applies to them.
//
// A record that is sent again after the server was restored has no merge base: other devices that send it again number its values
// independently. The merge sees such a value and puts it in the conflict log, the row keeps its own, and the next export sends that.

extension Record {
    /// What the border found out about the record's encrypted values and missing assets, in a field that never is on the server: it travels
    /// with the record through staged pages and withheld records.
    package var fieldStates: FieldStates {
        get {
            guard case .string(let text)? = fields[MirrorNames.fieldStates]?.value else { return FieldStates() }
            return FieldStates(text: text)
        }
        set { fields[MirrorNames.fieldStates] = newValue.text.map { Field(.string($0)) } }
    }

    /// The record without a field that never is on an honest server.
    package var withoutFieldStates: Record {
        guard fields[MirrorNames.fieldStates] != nil else { return self }
        var record = self
        record.fieldStates = FieldStates()
        return record
    }

    /// Takes a value out of the record, and notes the reason.
    ///
    /// - Parameter field: The inline field, or that of the asset.
    package mutating func quarantine(_ field: String, _ reason: UnreadableReason) {
        let suffix = MirrorNames.assetSuffix
        let inline = field.hasSuffix(suffix) ? String(field.dropLast(suffix.count)) : field
        fields[inline] = nil
        fields[inline + suffix] = nil
        var found = fieldStates
        found[inline] = FieldStates.Entry(version: found[inline]?.version ?? 0, problem: reason)
        fieldStates = found
    }

    /// Replaces values that are unreadable, or older than the accepted ones, by those of the merge base.
    ///
    /// - Parameter state: The stored metadata of the record; nil for a new one.
    /// - Returns: The versions and quarantined values from now on, and the inline fields of ``RecordMerge/unordered``.
    mutating func withholdQuarantined(
        _ entity: EntityMapping, since state: RecordState?
    ) -> (versions: FieldStates, unordered: Set<String>) {
        let found = fieldStates
        fieldStates = FieldStates()
        let known = state?.fieldStates ?? FieldStates()
        let base = state?.ancestor ?? Ancestor()
        let isSentAgain = state?.changeTag == nil && base.fields.isEmpty
        var settled = FieldStates()
        var unordered: Set<String> = []
        for property in entity.properties where property.isEncrypted || found[property.fieldName] != nil {
            let field = property.fieldName
            let accepted = known[field]
            var problem = found[field]?.problem
            if problem == nil, let accepted, accepted.version > 0, !isFresh(found[field], property, since: accepted, base) {
                if isSentAgain {
                    var entry = FieldStates.Entry(version: max(accepted.version, found[field]?.version ?? 0), tag: accepted.tag)
                    entry.isReplacing = true
                    settled[field] = entry
                    unordered.insert(field)
                    continue
                }
                problem = .stale
            }
            guard let problem else {
                if var entry = found[field] {
                    entry.isReplacing = accepted?.isReplacing ?? false
                    settled[field] = entry
                }
                continue
            }
            fields[field] = base.fields[field]
            if let asset = property.assetFieldName { fields[asset] = base.fields[asset] }
            var entry = FieldStates.Entry(version: accepted?.version ?? 0, tag: accepted?.tag, problem: problem)
            entry.isReplacing = accepted?.isReplacing ?? false
            entry.setQuarantinedVersion(found[field])
            settled[field] = entry
        }
        // Fields of later versions of the model.
        for (field, entry) in found.entries where settled[field] == nil {
            guard case .missingKey(let key)? = entry.problem else { continue }
            settled[field] = FieldStates.Entry(version: 0, problem: .missingKey(key))
        }
        return (settled, unordered)
    }

    /// Takes out the assets that ``withholdQuarantined(_:since:)`` put in: a new row has no value from before.
    mutating func removeAssets(without contents: [AssetValue: Data], of entity: EntityMapping) {
        for property in entity.properties {
            guard let field = property.assetFieldName, case .asset(let asset)? = fields[field]?.value, contents[asset.canonical] == nil
            else { continue }
            fields[field] = nil
        }
    }

    private func isFresh(
        _ found: FieldStates.Entry?, _ property: PropertyMapping, since accepted: FieldStates.Entry, _ base: Ancestor
    ) -> Bool {
        guard let found, found.version >= accepted.version else { return false }
        if found.version > accepted.version { return true }
        if let tag = accepted.tag { return tag == found.tag }
        // A value of this device. Without a merge base it is unknown which one.
        return base.fields.isEmpty || Self.isSame(property.content(in: fields), property.content(in: base.fields))
    }

    private static func isSame(_ one: RemoteContent, _ other: RemoteContent) -> Bool {
        if case .inline(.double(let one)) = one, case .inline(.double(let other)) = other { return one.bitPattern == other.bitPattern }
        return one == other
    }
}

extension FieldStates.Entry {
    /// The greatest difference to the number of an accepted value that a number without authentication may have. A malicious server could use
    /// up the numbers otherwise.
    private static let differenceMax: UInt64 = 1 << 32

    /// - Parameter found: The number and the problem of the quarantined value.
    fileprivate mutating func setQuarantinedVersion(_ found: Self?) {
        guard let found else { return }
        let number = max(found.version, found.quarantinedVersion)
        if number > version, number - version <= Self.differenceMax { quarantinedVersion = number }
    }
}

extension ImportPage {
    /// Quarantines values of which the contents did not open, or are missing.
    package mutating func quarantine(_ assets: [UnreadableAsset]) {
        if assets.isEmpty { return }
        let byRecord = Dictionary(grouping: assets, by: \.recordName)
        for (index, record) in records.enumerated() {
            guard let unreadable = byRecord[record.recordName] else { continue }
            var record = record
            for asset in unreadable { record.quarantine(asset.field, asset.reason) }
            replace(at: index, with: record)
        }
    }
}

extension ImportNeeds.Details {
    /// Uses of assets that one field has encrypted, and that another field has as well. The contents of a page are found by their assets, so that
    /// the other field would get the decrypted content, and may send it unencrypted.
    ///
    /// An honest server has no such assets: the bytes of each encrypted value are different.
    package var reusedAssets: [UnreadableAsset] {
        guard assets.contains(where: \.isEncrypted) else { return [] }
        let uses = Dictionary(grouping: assets) { $0.asset.canonical }.values.filter { Set($0.map(\.contentKey)).count > 1 }
        return uses.joined().map { need in
            UnreadableAsset(recordName: need.recordName, field: need.field, reason: need.isEncrypted ? .damaged : .missingAsset)
        }
    }
}

/// An asset that did not open, or that the server lacks.
package struct UnreadableAsset: Hashable, Sendable {
    package let recordName: String
    package let field: String
    package let reason: UnreadableReason

    package init(recordName: String, field: String, reason: UnreadableReason) {
        self.recordName = recordName
        self.field = field
        self.reason = reason
    }
}

extension RecordState {
    /// Marks the encrypted values that the server has, and that this device accepted, to be sent again.
    ///
    /// A pending record may be in flight, with values that were encrypted earlier and that the merge base does not have yet. All its
    /// encrypted values are marked, and the response to that request leaves the record pending.
    ///
    /// - Returns: Whether there are any.
    package mutating func encryptAgain(_ entity: EntityMapping) -> Bool {
        var isAny = false
        let properties =
            stage == .needsUpload ? entity.properties.filter(\.isEncrypted) : entity.encryptedProperties(in: ancestor.fields, uploads: [])
        for property in properties where fieldStates[property.fieldName]?.problem == nil {
            fieldStates[property.fieldName, default: FieldStates.Entry(version: 0)].isReplacing = true
            isAny = true
        }
        if isAny { sendReplacements() }
        return isAny
    }

    /// Has the values that ``FieldStates/Entry/isReplacing`` marks sent, also if an earlier item of the record is in flight.
    package mutating func sendReplacements() {
        mark = ChangeMark.next(after: mark)
        if stage == .uploaded { stage = .needsUpload }
    }
}
