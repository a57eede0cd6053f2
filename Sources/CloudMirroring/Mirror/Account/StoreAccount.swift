// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import ManagedModel
import MirroringCore
import SQLiteStore

/// The account of the store. `AccountRules` decides about its data when another one signs in.
struct StoreAccount: FileTransactions {
    let file: MirrorFile

    func signIn(_ reader: StoreReader) throws -> SignIn {
        SignIn(
            owner: StoreOwner(user: try StateTable.text(.user, reader), server: try StateTable.text(.server, reader)),
            credential: try StateTable.text(.credential, reader), stranger: try StateTable.text(.stranger, reader))
    }

    /// The owner of the data, from the last response of the server.
    func owner() throws -> StoreOwner { try store.read { try signIn($0).owner } }

    /// Stores the user that the server confirmed. Parts that the response lacks stay unchanged.
    func remember(_ signIn: SignIn) throws {
        try store.write { writer in
            if let user = signIn.owner.user {
                try StateTable.set(.user, .text(user), writer)
                try StateTable.set(.credential, signIn.credential.map { .text($0) } ?? .null, writer)
                try StateTable.set(.stranger, .null, writer)
                try StateTable.set(.strangerSince, .null, writer)
            }
            if let server = signIn.owner.server { try StateTable.set(.server, .text(server), writer) }
            try StateTable.set(.accountAnswer, .null, writer)
            try file.accountChanges.forgetUnresolved(writer)
        }
    }

    func remember(permissions: [TypePermissions]?) throws {
        let text = permissions.map { CallerIdentity(identity: UserIdentity(userRecordName: "_"), permissions: $0).encoded() }
        try store.write { try StateTable.set(.permissions, text.map { .blob(Data($0)) } ?? .null, $0) }
    }

    /// Stores a credential that the server has not confirmed yet. Saves from now on may belong to another user: they must not be sent for
    /// the stored one, also if that user signs in again before the server was reached.
    ///
    /// - Returns: The unconfirmed credentials.
    func note(_ credential: String?, in signIn: SignIn) throws -> String? {
        guard signIn.owner.user != nil, let credential, let known = signIn.credential, signIn.stranger != credential
        else { return signIn.stranger }
        if known == credential {
            // From now on, saves of the stored user are among those of the other one.
            if signIn.stranger != nil { try store.write { try StateTable.set(.strangerSince, .null, $0) } }
            return signIn.stranger
        }
        let stranger = signIn.stranger.map { "\($0) \(credential)" } ?? credential
        try store.write { writer in
            try StateTable.set(.stranger, .text(stranger), writer)
            let latest = try writer.latestTransaction()
            try StateTable.set(.strangerSince, signIn.stranger == nil ? .int(latest) : .null, writer)
        }
        return stranger
    }

    /// Returns the rows that the present user, and certainly no other one, inserted before the server confirmed the account.
    ///
    /// - Parameter present: The account that the server confirmed.
    private func rowsOfUnconfirmedUser(_ present: SignIn, _ writer: StoreWriter) throws -> Set<RowKey> {
        // All objects of a shared database belong to a share.
        guard scope == .private, let credential = present.credential, try StateTable.text(.stranger, writer) == credential,
            let since = try StateTable.int(.strangerSince, writer)
        else { return [] }
        var rows: Set<RowKey> = []
        var position = since
        let latest = try writer.latestTransaction()
        while position < latest {
            let page = try writer.history(after: position, limit: LocalHistory.pageMax)
            // Purged history does not say which rows were inserted: all of them are in the archive only.
            guard let first = page.first, first.number == position + 1, let last = page.last else { return [] }
            position = last.number
            for transaction in page where !MirrorNames.isMirror(transaction.author) {
                for change in transaction.changes {
                    switch change.kind {
                    case .insert: rows.insert(change.key)
                    case .update: break
                    case .delete: rows.remove(change.key)
                    }
                }
            }
        }
        return rows
    }

    /// Archives the store, and deletes the previous owner's objects and all sync metadata. Objects that the present user inserted before
    /// the server confirmed the account stay, and are sent.
    ///
    /// - Returns: The keys of rows that were deleted.
    /// - Throws: `StoreError` with nothing changed, such as for a disk that has no room for the archive.
    ///
    /// Source: observed: signing in with another account removes every mirrored row.
    func empty(because kind: AccountChange.Kind, for present: SignIn) throws -> Committed<[RowKey]> {
        // Counted before the file is copied, so that the archive has the count.
        let counted = try file.exports.countPending()
        let emptied = try write { writer, related in
            try file.history.scan(writer, &related)
            let all = try allKeys(writer), previous = try signIn(writer).owner
            let stayingRows = kind == .anotherAccount ? try rowsOfUnconfirmedUser(present, writer) : []
            var keys = all.filter { !stayingRows.contains($0) }
            let note = ArchiveNote(owner: previous, date: now, objectCount: Int64(all.count), pendingCount: Int64(counted.value))
            let copy = keys.isEmpty ? nil : try ArchiveFile.add(store, note)
            try file.accountChanges.note(
                AccountChange(kind: kind, outcome: .emptied, date: now, previous: previous, present: present.owner, archive: copy), writer)
            if !stayingRows.isEmpty { keys += try file.zoneRemovals.dependents(of: keys, reader(writer), writer).keys }
            try file.resets.delete(keys, writer)
            try metadata.removeObjects(writer)
            try forgetServer(writer)
            // Rows without metadata are found by a scan of all rows, as in a store that was never synced.
            if !stayingRows.isEmpty { try StateTable.set(.historyRead, .null, writer) }
            return keys
        }
        return Committed(value: emptied.value, commit: emptied.commit ?? counted.commit)
    }

    /// Marks all objects to be sent, as if this device had created them and never sent them.
    ///
    /// - Returns: The keys of rows that were deleted as duplicates.
    func uploadEverything(because kind: AccountChange.Kind, for present: StoreOwner) throws -> Committed<[RowKey]> {
        try write { writer, related in
            let previous = try signIn(writer).owner
            try file.accountChanges.note(
                AccountChange(kind: kind, outcome: .uploaded, date: now, previous: previous, present: present), writer)
            return try uploadEverything(writer, &related)
        }
    }

    /// - Precondition: The store is of the private database: objects that others share aren't the user's to send.
    func uploadEverything(_ writer: StoreWriter, _ related: inout RelatedRows) throws -> [RowKey] {
        try file.history.scan(writer, &related)
        var removed = RemovedZones()
        // Shares belong to the account that made them.
        for row in try ZoneTable.all(writer) where !row.zone.isHome {
            try file.zoneRemovals.remove(row.zone, keeping: .all, &removed, writer, &related)
        }
        try forgetServer(writer)
        try file.resets.sendAgain(MirrorZone.home, writer)
        return removed.keys
    }

    /// Leaves the store alone until the app decides.
    func leaveUnresolved(_ kind: AccountChange.Kind, for present: StoreOwner) throws {
        try store.write { writer in
            let previous = try signIn(writer).owner
            try file.accountChanges.note(
                AccountChange(kind: kind, outcome: .unresolved, date: now, previous: previous, present: present), writer)
        }
    }

    /// Removes everything that came from the server: tokens, requests, the user.
    private func forgetServer(_ writer: StoreWriter) throws {
        try OutboxTable.removeAll(writer)
        try StagedPageTable.removeAll(writer)
        file.stagedPages.files?.removeAll()
        let keys: [StateTable.Key] = [
            .user, .server, .credential, .stranger, .strangerSince, .lastSuccess, .databaseToken, .isZoneHistoryLost,
            .isHomeHistoryLost, .homeDeletion, .permissions, .accountAnswer,
        ]
        for key in keys { try StateTable.set(key, .null, writer) }
        try ZoneTable.beginFullFetch(MirrorZone.home, expectsHistory: false, writer)
    }

    func objectCount() throws -> Int { try store.write { try allKeys($0).count } }

    /// - Returns: Keys of rows that went because others stand for the same objects.
    func finish(_ restoration: StoreRestoration) throws -> Committed<[RowKey]> {
        try write { writer, related in
            try SyncMetadataSchema.open(writer, home: homeZone)
            // The archive may contain saves of another user from before it was made; the restoring user adopts them.
            for key in [StateTable.Key.credential, .stranger, .strangerSince, .accountAnswer] { try StateTable.set(key, .null, writer) }
            try StateTable.set(.accountChanges, restoration.accountChanges.map { .blob(Data($0)) } ?? .null, writer)
            return restoration.isForPresentAccount ? try uploadEverything(writer, &related) : []
        }
    }

    func allKeys(_ writer: StoreWriter) throws -> [RowKey] {
        var keys: [RowKey] = []
        for root in Set(mapping.entities.values.map(\.entity.root)).sorted() { keys += try writer.fetchKeys(StoreQuery(entity: root)) }
        return keys
    }
}
