// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

// An object that one device of the user moves to a share's zone, while another one deletes it, or takes a link apart: the
// deletion is sent to the old zone, and what was deleted comes back in the new one. Whoever deleted it knows that it was
// no part of a move, and deletes it again where it is now. A link may also be taken apart in the new zone before another
// device knows that its objects are there, and brings it along.

extension MirrorFile {
    /// Remembers what of a batch was deleted by the user's wish. What moved away from the home zone was not. Of links those of
    /// other zones are remembered, too: whoever hears late that their objects moved may bring them there once more.
    func rememberDeletions(
        of sent: ExportBatch, _ changes: BookkeepingChanges, _ records: [String: RecordState], _ writer: StoreWriter
    ) throws {
        if scope == .public { return }
        var names = changes.removedLinks
        if sent.zone.isHome {
            names = try changes.removedLinks.filter { name in
                var isMoved = false
                try writer.query(
                    "SELECT 1 FROM TARN_LINK WHERE zone IN (SELECT number FROM TARN_ZONE WHERE number > \(MirrorZone.home)) AND name = ? LIMIT 1",
                    [.text(name)]
                ) { _ in isMoved = true }
                return !isMoved
            }
            names += changes.removedRecords.filter { name in records[name].map { !$0.isMovedOut || $0.isGone } ?? true }
        }
        try DeletionTable.add(names, writer)
    }

    /// Takes out of a page of a share's zone what this device deleted before it came there, and marks it for deletion.
    ///
    /// - Returns: How much it was; it has to be sent.
    func deleteAgain(
        in page: inout ImportPage, _ zone: MirrorZone, _ writer: StoreWriter, content: (AssetValue) throws -> Data?
    ) throws -> Int {
        let bookkeeping = reader(writer, zone: zone.number), home = reader(writer)
        var changes = BookkeepingChanges()
        var gone: Set<String> = []
        let mark = try writer.latestTransaction()
        for record in page.records {
            if let pair = mapping.pair(of: record) {
                guard try DeletionTable.contains(record.recordName, writer), try bookkeeping.link(named: record.recordName) == nil,
                    try home.link(named: record.recordName) == nil
                else { continue }
                var link = LinkState(recordName: record.recordName, pair: pair, stage: .needsDelete, mark: mark)
                link.changeTag = record.recordChangeTag
                link.generation = page.generation ?? 0
                changes.links.append(link)
            } else {
                // This device may have moved it as well, and then it was deleted here before anybody heard of that. Or its deletion has
                // not been sent: it is from both places, since nobody knows when whoever moved it deletes what is left in the old one.
                guard scope == .private, let name = Self.oldName(of: record), let entity = mapping.entity(of: record) else { continue }
                let old = try home.record(named: name)
                let isGoing = old.map { $0.isGone || $0.isDeleted && !mapping.isUnique($0.key.entityIndex) } ?? false
                guard try isGoing || DeletionTable.contains(name, writer), try bookkeeping.record(named: record.recordName) == nil,
                    let key = try writer.allocateKeys(for: entity.entity.index, count: 1).first
                else { continue }
                var state = RecordState(recordName: record.recordName, key: key, stage: .needsDelete, mark: mark)
                state.changeTag = record.recordChangeTag
                state.modified = record.modified
                state.ancestor = entity.ancestor(of: record.fields)
                state.generation = page.generation ?? 0
                changes.records.append(state)
                let assets = try record.fields.values.compactMap { field -> (AssetValue, Data)? in
                    guard case .asset(let asset)? = field.value else { return nil }
                    return try content(asset).map { (asset, $0) }
                }
                // What was written there while it was deleted here is not lost.
                changes.conflicts += entity.losing(
                    record, since: old.flatMap { $0.isGone ? nil : $0.ancestor } ?? Ancestor(), assets: assets)
            }
            gone.insert(record.recordName)
        }
        if gone.isEmpty { return 0 }
        page.records.removeAll { gone.contains($0.recordName) }
        try self.writer(writer, zone: zone.number).write(changes, now: now)
        return gone.count
    }
}

extension RecordState {
    /// Whether the object has moved from there, and was deleted where it is now.
    fileprivate var isGone: Bool { isMovedOut && key.primaryKey < 0 }

    /// Whether the object was deleted there, and the server is to hear of it.
    fileprivate var isDeleted: Bool { stage == .needsDelete && !isMovedOut }
}
