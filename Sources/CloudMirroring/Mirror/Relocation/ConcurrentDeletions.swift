// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

/// Deletions of objects that another device relocates.
///
/// One device relocates an object while another one deletes it, or unlinks it: the deletion is sent to the source zone, and the object
/// arrives in the destination zone. The device that deleted it knows that it was not relocated by itself, and deletes it again.
struct ConcurrentDeletions: FileTransactions {
    let file: MirrorFile

    /// Stores the names of records that the user deleted in a batch.
    func remember(
        of sent: ExportBatch, _ changes: BookkeepingChanges, _ records: [String: RecordState], _ writer: StoreWriter
    ) throws {
        if scope == .public { return }
        let metadata = reader(writer)
        let names = try DeletedNames.decide(
            changes, records, isHome: sent.zone.isHome,
            hasSharedRecord: { name in try metadata.recordAnywhere(named: name).map { $0.stage != .needsDelete } ?? false },
            hasSharedLink: { try metadata.hasSharedLink(named: $0) })
        try DeletedNameTable.add(names, writer)
    }

    /// Stores edits of removed source records with the current records if they are not sent yet.
    func storeForwarded(from removed: [RecordState], _ writer: StoreWriter) throws {
        for source in removed where source.isRelocated {
            guard let zone = try reader(writer).zone(of: source.key), let current = try reader(writer, zone: zone).record(of: source.key)
            else { continue }
            if let state = current.forwarding(source) { try self.writer(writer, zone: zone).write(state) }
        }
    }

    /// Takes records out of a page of a share's zone that this device deleted before their relocation, and marks them for deletion.
    ///
    /// - Returns: How many there were.
    func deleteAgain(
        in page: inout ImportPage, _ zone: MirrorZone, _ writer: StoreWriter,
        content contentOfAsset: (ImportNeeds.AssetNeed) throws -> Data?
    ) throws -> Int {
        let metadata = reader(writer, zone: zone.number), home = reader(writer)
        var repeated = RepeatedDeletions(mapping: mapping, mark: try writer.latestTransaction(), generation: page.generation)
        for record in page.records {
            let name = record.recordName
            if let pair = mapping.pair(of: record) {
                // The name is looked up first: almost none is stored.
                guard try DeletedNameTable.contains(name, writer),
                    try RepeatedDeletions.isRepeated(
                        wasDeleted: true, isKnown: metadata.link(named: name) != nil, isInHome: home.link(named: name) != nil)
                else { continue }
                repeated.add(record, pair)
                continue
            }
            guard scope == .private, let stamp = RelocationStamp.ofHomeZone(record), let entity = mapping.entity(of: record) else {
                continue
            }
            let source = try home.record(named: stamp.name)
            guard
                try RepeatedDeletions.isRepeated(
                    source: source, isUnique: mapping.isUnique(entity.entity.index),
                    wasDeleted: DeletedNameTable.contains(stamp.name, writer),
                    isKnown: metadata.record(named: name) != nil || metadata.isWithheld(name)),
                let key = try writer.allocateKeys(for: entity.entity.index, count: 1).first
            else { continue }
            let assets = try record.fields.compactMap { field, content -> (AssetValue, Data)? in
                guard case .asset(let asset)? = content.value else { return nil }
                let need = ImportNeeds.AssetNeed(
                    asset: asset, recordName: name, field: field,
                    isEncrypted: entity.properties.contains { $0.assetFieldName == field && $0.isEncrypted })
                return try contentOfAsset(need).map { (asset, $0) }
            }
            repeated.add(record, entity, key: key, source: source, assets: assets)
        }
        if repeated.names.isEmpty { return 0 }
        page.records.removeAll { repeated.names.contains($0.recordName) }
        try self.writer(writer, zone: zone.number).write(repeated.changes, now: now)
        return repeated.names.count
    }
}
