// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import ManagedModel

/// The rows and sync metadata that planning a page needs, in two steps: the second depends on the result of the first.
///
///     let first = ImportNeeds(page, mapping: mapping)
///     var loaded = load(first)
///     let second = first.details(loaded)
///     load(second, into: &loaded)                  // assets are downloaded before the transaction that writes
///     let plan = ImportPlan.make(page, loaded: loaded, mapping: mapping)
package struct ImportNeeds: Sendable {
    package struct Details: Hashable, Sendable {
        /// Rows to load, with the record names of all their to-one targets.
        package var keys: [RowKey] = []
        /// Keys of which only has to be known whether they have a row.
        package var targets: [RowKey] = []
        /// Pairs to load with all their links. Links come with the metadata of the objects at both ends: a pair
        /// can be taken apart by a deletion that names the link alone.
        package var pairs: [LinkPair] = []
        /// Record names to load with all their links, likewise.
        package var linkEnds: [String] = []
        /// Rows that are about to be deleted: all rows that refer to them by a to-one relationship are loaded, with
        /// their metadata.
        package var referred: [RowKey] = []
        /// Content to download.
        package var assets: [AssetNeed] = []

        package init() {}
    }

    /// An asset with its address, record and field.
    package struct AssetNeed: Hashable, Sendable {
        package let asset: AssetValue
        package let recordName: String
        package let field: String
        package let isEncrypted: Bool

        package init(asset: AssetValue, recordName: String, field: String, isEncrypted: Bool) {
            self.asset = asset
            self.recordName = recordName
            self.field = field
            self.isEncrypted = isEncrypted
        }

        /// The key of the content. A decrypted content has another key than that of any other field: its authentication is valid for one field of
        /// one record, and a malicious server can name the asset in another field, encrypted or not.
        ///
        /// The checksum is a text of the server. The parts before it are not, and end where it begins.
        package var contentKey: AssetValue {
            let purpose = isEncrypted ? "decrypted \(recordName.utf8.count) \(recordName) \(field)" : "plain"
            return AssetValue(fileChecksum: "\(purpose) \(asset.fileChecksum)", size: asset.size)
        }
    }

    /// Record names to load the metadata of, as objects or as links.
    package private(set) var names: [String] = []
    /// Names to load deferred references of, as source or as target, with the metadata of the sources.
    package private(set) var parked: [String] = []
    /// Records with their inverse objects in one-to-one relationships: either end may have another inverse object here.
    private var partners: [(record: String, partner: String)] = []
    /// The page's records, in their order.
    private var contents: [Content] = []
    private let page: ImportPage
    private let mapping: RecordMapping

    /// A record as the model reads it.
    private enum Content {
        case link(LinkPair)
        case object(EntityMapping)
        case unknown
    }

    package init(_ page: ImportPage, mapping: RecordMapping) {
        self.page = page
        self.mapping = mapping
        var wanted = DistinctValues<String>()
        wanted.reserveCapacity(page.records.count + page.deletions.count)
        func want(_ name: String) { wanted.insert(name) }
        contents.reserveCapacity(page.records.count)
        for record in page.records {
            if let pair = mapping.pair(of: record) {
                contents.append(.link(pair))
                want(record.recordName)
                want(pair.first)
                want(pair.second)
            } else if let entity = mapping.entity(of: record) {
                contents.append(.object(entity))
                want(record.recordName)
                parked.append(record.recordName)
                let merged = mapping.isUnique(entity.entity.index) ? mapping.mergedNames(of: record).names : []
                for name in merged.isEmpty ? [] : merged.sorted() {
                    want(name)
                    parked.append(name)
                }
                for property in entity.properties {
                    if case .toOne(let relationship) = property.kind,
                        case .inline(.string(let target)) = property.content(in: record.fields)
                    {
                        want(target)
                        if relationship.shape == .oneToOne { partners.append((record.recordName, target)) }
                    }
                }
            } else {
                contents.append(.unknown)
            }
        }
        for name in page.deletions {
            want(name)
            parked.append(name)
        }
        names = wanted.values
    }

    /// - Parameter loaded: The metadata of ``names`` and ``parked``. Its rows are ignored.
    package func details(_ loaded: ImportPlan.Loaded) -> Details {
        var details = Details()
        for case .link(let pair) in contents { details.pairs.append(pair) }
        if !loaded.links.isEmpty {
            let named = Set(page.deletions + page.records.map(\.recordName))
            for link in loaded.links where named.contains(link.recordName) { details.pairs.append(link.pair) }
        }
        var keys = DistinctValues<RowKey>(), targets = DistinctValues<RowKey>()
        func wantRow(_ key: RowKey) { keys.insert(key) }
        for name in names { if let key = loaded.records[name]?.key { targets.insert(key) } }
        for (record, content) in zip(page.records, contents) {
            guard case .object(let entity) = content else { continue }
            guard let state = loaded.records[record.recordName] else {
                details.linkEnds.append(record.recordName)
                details.assets += assets(of: record, entity: entity, ancestor: Ancestor())
                continue
            }
            // It may be another object than the known one, or no longer a duplicate.
            let isReverted = page.reverted[record.recordName] != nil
            if state.changeTag == nil || state.ancestor.unapplied[MirrorNames.mergedFor] != nil || isReverted {
                details.linkEnds.append(record.recordName)
            }
            if isReverted {
                wantRow(state.key)
                // A restored object needs all of them, as does a reverted one.
                details.assets += assets(of: record, entity: mapping.entities[state.key.entityIndex] ?? entity, ancestor: Ancestor())
            } else if state.changeTag != record.recordChangeTag || state.changeTag == nil || page.generation != nil
                || state.fieldStates.hasQuarantined
            {
                wantRow(state.key)
                let known = mapping.entities[state.key.entityIndex] ?? entity
                details.assets += assets(of: record, entity: known, ancestor: state.ancestor)
                if state.stage == .needsDelete { details.assets += unknownAssets(of: record, entity: known, ancestor: state.ancestor) }
            } else if !page.deletions.isEmpty, mapping.isUnique(entity.entity.index),
                !mapping.mergedNames(of: record).names.isDisjoint(with: page.deletions)
            {
                // A deleted object is merged into it, though its own record is known.
                wantRow(state.key)
            }
        }
        for (record, name) in partners {
            guard let partner = loaded.records[name] else { continue }
            if partner.stage == .needsUpload || loaded.records[record] != nil { wantRow(partner.key) }
        }
        for name in page.deletions {
            guard let state = loaded.records[name] else {
                if loaded.deletedWithheld.contains(name) { details.linkEnds.append(name) }
                continue
            }
            wantRow(state.key)
            details.referred.append(state.key)
            // The object may live on under the record of one that was merged into it.
            details.linkEnds.append(name)
            details.linkEnds += state.merged.names.sorted()
        }
        for name in Set(loaded.successors.values).sorted() { if let state = loaded.records[name] { wantRow(state.key) } }
        for parked in loaded.parked { if let source = loaded.records[parked.key.source] { wantRow(source.key) } }
        details.keys = keys.values
        details.targets = targets.values
        return details
    }

    private func assets(of record: Record, entity: EntityMapping, ancestor: Ancestor) -> [AssetNeed] {
        guard record.hasAssets else { return [] }
        return RecordMerge(entity: entity, ancestor: ancestor, remote: record.fields, assets: [:]).assetsNeeded.compactMap { property in
            // With its address, which the canonical form leaves out.
            guard let field = property.assetFieldName, case .asset(let asset)? = record.fields[field]?.value else { return nil }
            return AssetNeed(asset: asset, recordName: record.recordName, field: field, isEncrypted: property.isEncrypted)
        }
    }

    /// Assets for the conflict log, of properties that only a later version of the model has. It is unknown whether they are encrypted.
    private func unknownAssets(of record: Record, entity: EntityMapping, ancestor: Ancestor) -> [AssetNeed] {
        guard record.hasAssets else { return [] }
        return entity.unknownChanges(in: record, since: ancestor).compactMap { _, value, field in
            guard case .asset(let asset)? = value else { return nil }
            return AssetNeed(asset: asset, recordName: record.recordName, field: field, isEncrypted: false)
        }
    }
}

extension Record {
    package var hasAssets: Bool { fields.values.contains { if case .asset = $0.value { true } else { false } } }
}
