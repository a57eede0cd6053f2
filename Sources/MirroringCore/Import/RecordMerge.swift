// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import Foundation
import ManagedModel

/// Merges a record from the server into a row, field by field, against the merge base.
///
///     changed there   changed here   the row gets        and
///     no              –              nothing             the local change is sent by the next export
///     yes             no             the remote value
///     yes             yes, equally   nothing
///     yes             yes            nothing             the remote value goes to the conflict log
///
/// An attribute with another ``MergePolicy`` than the latest, or a resolver of the app's, may turn the last line around, or
/// give a value made of both. The local value of a field that both sides changed wins because it was not sent yet: it reaches the server
/// after the other one and so is the later by the server's clock, on every device. A relocated object may have forwarded edits from its
/// source zone: those do not win against edits in this zone.
///
/// A one-to-many relationship is merged as the to-one relationship of its members; many-to-many: ``LinkPass``.
///
/// Source: the talk *Using Core Data With CloudKit* (2019) promises that the last writer wins; Differs: by field
/// instead of by record, and the loser is kept.
struct RecordMerge {
    struct Outcome {
        /// Properties of which the row gets the remote content.
        var adopted: [(property: PropertyMapping, content: RemoteContent)] = []
        var lost: [(property: PropertyMapping, value: FieldValue?)] = []
        /// Local values that lost.
        var lostHere: [(property: PropertyMapping, value: FieldValue?)] = []
        /// Values made of both.
        var merged: [(property: PropertyMapping, value: StoredValue)] = []
        /// Superseded records, if both sides changed the list.
        var mergedNames: MergedNames?
        /// Whether the merged row differs from the record.
        var isLocalAhead = false
        /// Digests for the new ancestor.
        var digests: [String: ContentDigest] = [:]
    }

    let entity: EntityMapping
    /// The merge base and the record, as this version of the model reads them.
    let ancestor: Ancestor
    let remote: [String: Field]
    let assets: [AssetValue: Data]
    /// The merge base of the record in the object's source zone; nil without one.
    let former: Ancestor?
    /// Whether local changes give way, because the server rejected them.
    var isReverting = false
    /// Whether the writer of the record may not have read the version that is the merge base: replaced values are lost ones.
    var isBaseUnseen = false
    /// Encrypted inline fields with a remote value that may be older than this device's: it never replaces that one, cleared or not.
    var unordered: Set<String> = []

    init(entity: EntityMapping, ancestor: Ancestor, remote: [String: Field], assets: [AssetValue: Data], former: Ancestor? = nil) {
        self.entity = entity
        self.ancestor = entity.upgraded(ancestor)
        self.remote = entity.upgraded(remote)
        self.assets = assets
        self.former = former.map { entity.upgraded($0) }
    }

    /// Assets to load before the merge: those that differ from the merge base.
    var assetsNeeded: [PropertyMapping] {
        entity.properties.compactMap { property in
            guard case .asset(let asset) = property.content(in: remote),
                isReverting || property.content(in: ancestor.fields) != .asset(asset) || digest(of: property) == nil
            else { return nil }
            return property
        }
    }

    /// - Parameter resolve: Decides on an attribute that both sides changed.
    func merge(into local: LocalRecord, resolve: (AttributeConflict) -> MergeResolution = { _ in .here }) -> Outcome {
        var outcome = Outcome()
        for property in entity.properties {
            let before = property.content(in: ancestor.fields)
            let there = property.content(in: remote)
            let here = local.content(of: property)
            let digestBefore = digest(of: property) ?? (there == before ? newDigest(of: there) : nil)
            let digestThere = there == before ? digestBefore : newDigest(of: there)
            if let field = property.assetFieldName, let digestThere { outcome.digests[field] = digestThere }

            let isLocallyChanged = unordered.contains(property.fieldName) || !property.isSame(here, as: before, digest: digestBefore)
            if isReverting, case .asset(let asset) = there, assets[asset] == nil {
                // A quarantined value: the content of the merge base can't be restored, so the row keeps its own.
                if isLocallyChanged { outcome.isLocalAhead = true }
                continue
            }
            if entity.isEarlierForm(property) {
                if isReverting ? !property.isSame(here, as: there, digest: digestThere) : there != before {
                    outcome.adopted.append((property, there))
                } else if isLocallyChanged {
                    outcome.isLocalAhead = true
                }
                continue
            }
            if isReverting {
                if property.isSame(here, as: there, digest: digestThere) { continue }
                outcome.adopted.append((property, there))
                if isLocallyChanged, !property.isOwn { outcome.lostHere.append((property, here.value)) }
                continue
            }
            if let side = sideOfList(of: property, local) {
                if property.isSame(here, as: there, digest: nil) { continue }
                if side == .there { outcome.adopted.append((property, there)) } else { outcome.isLocalAhead = true }
            } else if there == before {
                if isLocallyChanged { outcome.isLocalAhead = true }
            } else if property.isSame(here, as: there, digest: digestThere) {
                continue
            } else if isLocallyChanged {
                settle(property, before: before, there: there, here: here, local, resolve, &outcome)
            } else if there == .absent, !property.isToOne, entity.required.contains(property) {
                // Another client cleared a required value.
                outcome.isLocalAhead = true
            } else {
                outcome.adopted.append((property, there))
                if isBaseUnseen, !property.isOwn { outcome.lostHere.append((property, here.value)) }
            }
        }
        return outcome
    }

    private enum Side { case here, there }

    /// Returns the side that moved an object into its present list: a position in another list has no meaning in this one.
    ///
    /// - Returns: nil for a property that isn't a position, and for an object in the same list on both sides.
    private func sideOfList(of rank: PropertyMapping, _ local: LocalRecord) -> Side? {
        guard case .rank(let relationship) = rank.form, let list = entity.properties.first(where: { $0.isToOne && $0.name == relationship })
        else { return nil }
        let before = list.content(in: ancestor.fields), there = list.content(in: remote), here = local.content(of: list)
        if list.isSame(here, as: there, digest: nil) { return nil }
        if list.isSame(here, as: before, digest: nil) { return .there }
        return there != before && isFormer(list, here) ? .there : .here
    }

    /// Whether this device's value is a forwarded edit from the object's source zone.
    private func isFormer(_ property: PropertyMapping, _ here: LocalContent) -> Bool {
        guard let former else { return false }
        return property.isSame(
            here, as: property.content(in: former.fields), digest: property.assetFieldName.flatMap { former.digests[$0] })
    }

    private func settle(
        _ property: PropertyMapping, before: RemoteContent, there: RemoteContent, here: LocalContent, _ local: LocalRecord,
        _ resolve: (AttributeConflict) -> MergeResolution, _ outcome: inout Outcome
    ) {
        if property.isRank {
            // Of two moves the later one wins. Of two first positions the earlier one wins.
            if before == .absent { outcome.adopted.append((property, there)) } else { outcome.isLocalAhead = true }
            return
        }
        if case .merged = property.form {
            let names = local.merged.merged(with: PropertyMapping.mergedNames(there), since: PropertyMapping.mergedNames(before))
            outcome.mergedNames = names
            if names != PropertyMapping.mergedNames(there) { outcome.isLocalAhead = true }
            return
        }
        let isFormer = isFormer(property, here)
        var resolution = isFormer ? MergeResolution.elsewhere : .here
        if case .attribute(let attribute) = property.kind, let ancestor = storedAncestor(before, property) {
            var conflict = AttributeConflict(
                entity: entity.entity.name, attribute: attribute, ancestor: ancestor, here: local.row.values[property.slot],
                elsewhere: stored(there, for: property))
            conflict.isHereEarlier = isFormer
            resolution = resolve(conflict)
        }
        switch resolution {
        case .here:
            outcome.isLocalAhead = true
            outcome.lost.append((property, value(of: there)))
        case .elsewhere:
            outcome.adopted.append((property, there))
            outcome.lostHere.append((property, here.value))
        case .merged(let value, let keepsAll):
            outcome.merged.append((property, value))
            outcome.isLocalAhead = true
            if keepsAll { return }
            outcome.lost.append((property, self.value(of: there)))
            outcome.lostHere.append((property, here.value))
        }
    }

    /// nil if it is unknown: without an earlier exchange, or for an asset that is not loaded.
    private func storedAncestor(_ content: RemoteContent, _ property: PropertyMapping) -> StoredValue? {
        if ancestor.fields.isEmpty { return nil }
        if case .asset(let asset) = content, assets[asset] == nil { return nil }
        return stored(content, for: property)
    }

    /// Returns the stored value of an attribute with this content.
    func stored(_ content: RemoteContent, for property: PropertyMapping) -> StoredValue {
        switch content {
        case .absent: property.absentValue
        case .inline(let value): property.stored(value)
        case .asset(let asset):
            if let bytes = assets[asset] {
                property.stored(contentsOfAsset: bytes)
            } else {
                preconditionFailure("assets are downloaded before their page is planned")
            }
        }
    }

    /// Fields that changed on the server since the merge base.
    var remoteChanges: [(property: PropertyMapping, value: FieldValue?)] {
        entity.properties.compactMap { property in
            let there = property.content(in: remote)
            let isLogged = !property.isOwn && !entity.isEarlierForm(property)
            return !isLogged || there == property.content(in: ancestor.fields) ? nil : (property, value(of: there))
        }
    }

    /// Properties that the row changed since the merge base, with their unsent contents.
    static func localChanges(of local: LocalRecord, entity: EntityMapping) -> [(property: PropertyMapping, content: LocalContent)] {
        entity.properties.compactMap { property in
            if property.isOwn || entity.isEarlierForm(property) { return nil }
            let here = local.content(of: property)
            let digest = property.assetFieldName.flatMap { local.base.digests[$0] }
            return property.isSame(here, as: property.content(in: local.base.fields), digest: digest) ? nil : (property, here)
        }
    }

    private func digest(of property: PropertyMapping) -> ContentDigest? {
        property.assetFieldName.flatMap { ancestor.digests[$0] }
    }

    func newDigest(of content: RemoteContent) -> ContentDigest? {
        guard case .asset(let asset) = content else { return nil }
        return assets[asset].map { ContentDigest($0) }
    }

    private func value(of content: RemoteContent) -> FieldValue? {
        switch content {
        case .absent: nil
        case .inline(let value): value
        case .asset(let asset): assets[asset].map { .bytes([UInt8]($0)) } ?? .asset(asset)
        }
    }
}

extension EntityMapping {
    /// Changes of properties that only a later version of the model has, with their fields.
    func unknownChanges(in record: Record, since base: Ancestor) -> [(property: String, value: FieldValue?, field: String)] {
        ancestor(of: record.fields).unapplied.sorted { $0.key < $1.key }.compactMap { field, content in
            guard base.unapplied[field] != content, let property = MirrorNames.property(ofField: field) else { return nil }
            return (property, record.fields[field]?.value, field)
        }
    }

    /// Returns the values of a record that is deleted before it was applied.
    ///
    /// - Parameters:
    ///   - base: The merge base of the deleting device; empty without one.
    ///   - assets: Contents of the record's assets, which the log keeps after the server deleted them.
    package func losing(_ record: Record, since base: Ancestor, assets: [(AssetValue, Data)]) -> [ConflictEntry] {
        let contents = Dictionary(assets.map { ($0.canonical, $1) }, uniquingKeysWith: { first, _ in first })
        return RecordMerge(entity: self, ancestor: base, remote: record.fields, assets: contents).remoteChanges.compactMap {
            property, value in
            guard let value else { return nil }
            return ConflictEntry(
                entity: name, recordName: record.recordName, property: property.name, losing: value, winner: .localDeletion,
                losingStamp: record.modified, winningStamp: nil)
        }
    }
}
