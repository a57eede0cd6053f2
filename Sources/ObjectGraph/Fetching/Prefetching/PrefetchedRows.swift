// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import SQLiteStore

/// A cache of prefetched rows and relationship members.
///
/// A context's objects do not retain each other, so the row of an unregistered object is cached here, and with it the
/// object once it is registered: otherwise each reference to it would create it again. Saved, merged and refreshed rows
/// are evicted.
struct PrefetchedRows {
    /// Above this number, only the last prefetch's rows stay cached.
    private static let rowsMax = 100_000

    private struct Place {
        let chunk: RowChunk
        let offset: Int
        var object: NSManagedObject?
    }

    private struct Owner: Hashable {
        let key: RowKey
        let relationship: Int
    }

    private var rows: [RowKey: Place] = [:]
    private var members: [Owner: [RowKey]] = [:]

    var isEmpty: Bool { rows.isEmpty && members.isEmpty }

    /// Called before a prefetch.
    mutating func makeRoom() { if rows.count > Self.rowsMax { self = PrefetchedRows() } }

    func contains(_ key: RowKey) -> Bool { rows[key] != nil }

    func row(_ key: RowKey) -> Row? { rows[key].map { $0.chunk.row(at: $0.offset) } }

    /// The destination of a row's to-one relationship.
    func reference(_ slot: Int, of key: RowKey) -> RowKey? { rows[key].flatMap { $0.chunk.reference(slot, at: $0.offset) } }

    mutating func insert(_ chunk: RowChunk, at offset: Int) { rows[chunk.key(at: offset)] = Place(chunk: chunk, offset: offset) }

    /// Retains an object as long as its row is cached.
    mutating func retain(_ object: NSManagedObject) { rows[object.key]?.object = object }

    /// - Returns: nil if the members were not prefetched.
    func members(of key: RowKey, toMany index: Int) -> [RowKey]? { members.isEmpty ? nil : members[Owner(key: key, relationship: index)] }

    mutating func insertMembers(_ keys: [RowKey], of owner: RowKey, toMany index: Int) {
        members[Owner(key: owner, relationship: index)] = keys
    }

    /// Evicts rows. Any of them may have joined or left a relationship, so all members are evicted.
    mutating func evict(_ keys: some Sequence<RowKey>) {
        guard !isEmpty else { return }
        members = [:]
        for key in keys { rows[key] = nil }
    }
}
