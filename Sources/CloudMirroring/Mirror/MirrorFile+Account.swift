// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

// Whose data the store holds, and what becomes of them; `AccountRules` decides.

extension MirrorFile {
    func signIn(_ reader: StoreReader) throws -> SignIn {
        SignIn(
            owner: StoreOwner(user: try MirrorState.text(.user, reader), server: try MirrorState.text(.server, reader)),
            credential: try MirrorState.text(.credential, reader), stranger: try MirrorState.text(.stranger, reader))
    }

    /// The user whose data the store holds, as the server named them last.
    func owner() throws -> StoreOwner { try store.read { try signIn($0).owner } }

    /// Stores who is signed in, as the server confirmed it. What it didn't tell stays as it was.
    func remember(_ signIn: SignIn) throws {
        try store.write { writer in
            if let user = signIn.owner.user {
                try MirrorState.set(.user, .text(user), writer)
                try MirrorState.set(.credential, signIn.credential.map { .text($0) } ?? .null, writer)
                try MirrorState.set(.stranger, .null, writer)
            }
            if let server = signIn.owner.server { try MirrorState.set(.server, .text(server), writer) }
            try MirrorState.set(.accountAnswer, .null, writer)
            try forgetUnresolved(writer)
        }
    }

    /// Notes that somebody is signed in whom the server has not named yet. Whoever it is, what is saved from now on may not be the
    /// known user's, and is not to be sent as theirs should they sign in again before the server could be asked.
    ///
    /// - Returns: Who to look for when the server says who is signed in.
    func note(_ credential: String?, in signIn: SignIn) throws -> String? {
        guard signIn.owner.user != nil, let credential, let known = signIn.credential, known != credential, signIn.stranger != credential
        else { return signIn.stranger }
        let stranger = signIn.stranger.map { "\($0) \(credential)" } ?? credential
        try store.write { try MirrorState.set(.stranger, .text(stranger), $0) }
        return stranger
    }

    /// Archives the store, and deletes the previous owner's objects and all sync metadata.
    ///
    /// - Returns: Keys of the rows that went.
    ///
    /// Source: observed: signing in with another account removes every mirrored row.
    func empty(because kind: AccountChange.Kind, for present: StoreOwner) throws -> [RowKey] {
        // Read before the file is copied, so that the archive knows what waits in it.
        let pending = try countPending()
        return try store.write { writer in
            try scan(writer)
            let keys = try allKeys(writer), previous = try signIn(writer).owner
            let note = ArchiveNote(owner: previous, date: now, objectCount: Int64(keys.count), pendingCount: Int64(pending))
            let copy = keys.isEmpty ? nil : try archive(note)
            try self.note(
                AccountChange(kind: kind, outcome: .emptied, date: now, previous: previous, present: present, archive: copy), writer)
            try delete(keys, writer)
            let tables = ["TARN_RECORD", "TARN_LINK", "TARN_PARKED", "TARN_MERGED", "TARN_CONFLICT", "TARN_DELETED", "TARN_RANK", "TARN_LINKRANK"]
            for table in tables + IncompleteTable.tables { try writer.execute("DELETE FROM \(table)") }
            try writer.execute("DELETE FROM TARN_ZONE WHERE number <> \(MirrorZone.home)")
            try forgetServer(writer)
            return keys
        }
    }

    /// Keeps all objects and marks them to be sent, as if they had been made here and never sent.
    ///
    /// - Returns: Keys of rows that went because others stand for the same objects.
    func uploadEverything(because kind: AccountChange.Kind, for present: StoreOwner) throws -> [RowKey] {
        try store.write { writer in
            let previous = try signIn(writer).owner
            try note(AccountChange(kind: kind, outcome: .uploaded, date: now, previous: previous, present: present), writer)
            return try uploadEverything(writer)
        }
    }

    /// - Precondition: The store is of the private database: what others share isn't the user's to send.
    func uploadEverything(_ writer: StoreWriter) throws -> [RowKey] {
        try scan(writer)
        var removed: [RowKey] = []
        // Shares belong to the account that made them.
        for row in try ZoneTable.all(writer) where !row.zone.isHome { removed += try remove(row.zone, keeping: .all, writer) }
        try forgetServer(writer)
        try sendAgain(MirrorZone.home, writer)
        return removed
    }

    /// Leaves the store alone until the app decides.
    func leaveUnresolved(_ kind: AccountChange.Kind, for present: StoreOwner) throws {
        try store.write { writer in
            let previous = try signIn(writer).owner
            try note(AccountChange(kind: kind, outcome: .unresolved, date: now, previous: previous, present: present), writer)
        }
    }

    /// Forgets what a server said, and whom it named.
    private func forgetServer(_ writer: StoreWriter) throws {
        try OutboxTable.removeAll(writer)
        try StagedTable.removeAll(writer)
        let keys: [MirrorState.Key] = [
            .user, .server, .credential, .stranger, .lastSuccess, .databaseToken, .homeDeletion, .permissions, .accountAnswer,
        ]
        for key in keys { try MirrorState.set(key, .null, writer) }
        try ZoneTable.beginFullFetch(MirrorZone.home, writer)
    }

    func allKeys(_ writer: StoreWriter) throws -> [RowKey] {
        var keys: [RowKey] = []
        for root in Set(mapping.entities.values.map(\.entity.root)).sorted() { keys += try writer.fetchKeys(StoreQuery(entity: root)) }
        return keys
    }
}
