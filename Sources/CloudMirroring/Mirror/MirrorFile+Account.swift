// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

extension MirrorFile {
    /// Notes that somebody is signed in whom the server has not named yet. Whoever it is, what is saved from now on may not be the
    /// known user's, and is not to be sent as theirs should they sign in again before the server could be asked.
    ///
    /// - Returns: Who to look for when the server says who is signed in: see ``isAnothers(_:now:with:)``.
    func note(_ credential: String?, in memory: Memory) throws -> String? {
        guard memory.user != nil, let credential, let known = memory.credential, known != credential, memory.stranger != credential else { return memory.stranger }
        let stranger = memory.stranger.map { "\($0) \(credential)" } ?? credential
        try store.write { try MirrorState.set(.stranger, .text(stranger), $0) }
        return stranger
    }

    /// Makes the store ready for another user: it is archived, and the previous user's objects and all sync metadata are deleted.
    ///
    /// - Returns: Keys of the rows that went.
    /// - Throws: `CloudFailure` when the store is to be kept.
    ///
    /// Source: observed: signing in with another account removes every mirrored row.
    func changeAccount(to user: String) throws -> [RowKey] {
        guard accountChangePolicy != .keep else {
            throw CloudFailure(
                .badContainer,
                "this store holds the data of another account; sign in with the account it was synced with, or use another file")
        }
        return try store.write { writer in
            try scan(writer)
            var keys: [RowKey] = []
            for root in Set(mapping.entities.values.map(\.entity.root)).sorted() {
                keys += try writer.fetchKeys(StoreQuery(entity: root))
            }
            let previous = try MirrorState.text(.user, writer)
            let copy = keys.isEmpty ? nil : try archive()
            try note(AccountChange(kind: .anotherAccount, date: now, previousUser: previous, user: user, archive: copy), writer)
            try delete(keys, writer)
            let tables = ["TARN_RECORD", "TARN_LINK", "TARN_PARKED", "TARN_MERGED", "TARN_CONFLICT", "TARN_DELETED", "TARN_RANK", "TARN_LINKRANK"]
            for table in tables + IncompleteTable.tables { try writer.execute("DELETE FROM \(table)") }
            try OutboxTable.removeAll(writer)
            try StagedTable.removeAll(writer)
            for key in [MirrorState.Key.user, .credential, .stranger, .lastSuccess, .databaseToken, .homeDeletion] { try MirrorState.set(key, .null, writer) }
            try writer.execute("DELETE FROM TARN_ZONE WHERE number <> \(MirrorZone.home)")
            try ZoneTable.beginFullFetch(MirrorZone.home, writer)
            return keys
        }
    }

    /// Whether what is in the store may be another user's than the one who is signed in.
    func isAnothers(_ memory: Memory, now user: String, with credential: String?) -> Bool {
        guard let known = memory.user else { return false }
        if known != user { return true }
        // A store that is to be kept is kept; there is no telling what in it is whose.
        return memory.stranger != nil && memory.stranger != credential && accountChangePolicy != .keep
    }

    /// How file names of a store's archives begin.
    static func archivePrefix(of url: URL) -> String { "\(url.deletingPathExtension().lastPathComponent)-archive-" }

    /// Copies the file beside itself, with the files of external data. It is called in a write transaction: no other connection writes
    /// meanwhile, and a reader of the file sees everything that was saved.
    ///
    /// - Returns: The copy's file name; nil for a store without a file.
    /// - Throws: `StoreError`, such as for a full disk. The caller's transaction is rolled back then, so that nothing is emptied.
    func archive() throws -> String? {
        guard let url = store.url else { return nil }
        let style = Date.ISO8601FormatStyle(dateSeparator: .omitted, timeSeparator: .omitted, timeZone: .gmt)
        let base = Self.archivePrefix(of: url) + surroundings.now().formatted(style)
        let folder = url.deletingLastPathComponent()
        var archive = folder.appendingPathComponent(base + ".sqlite")
        var number = 1
        while FileManager.default.fileExists(atPath: archive.path) {
            number += 1
            archive = folder.appendingPathComponent("\(base)-\(number).sqlite")
        }
        try SQLiteStore.replace(at: archive, withStoreAt: url)
        return archive.lastPathComponent
    }
}
