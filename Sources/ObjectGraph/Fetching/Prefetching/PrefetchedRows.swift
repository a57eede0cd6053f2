// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import SQLiteStore

/// Rows, and members of relationships, that were read ahead of those who will ask for them.
///
/// A context's objects do not hold each other, so what was read for an object that nobody met yet is kept here, as a
/// row, and once somebody met it, so is the object: else it would be made anew for each that leads to it. What is
/// saved, merged or refreshed meanwhile is forgotten.
struct PrefetchedRows {
    /// More rows than these are kept of the last prefetch only.
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

    /// Called before a fetch reads ahead.
    mutating func makeRoom() { if rows.count > Self.rowsMax { self = PrefetchedRows() } }

    func contains(_ key: RowKey) -> Bool { rows[key] != nil }

    func row(_ key: RowKey) -> Row? { rows[key].map { $0.chunk.row(at: $0.offset) } }

    /// The destination of a row's to-one relationship.
    func reference(_ slot: Int, of key: RowKey) -> RowKey? { rows[key].flatMap { $0.chunk.reference(slot, at: $0.offset) } }

    mutating func keep(_ chunk: RowChunk, at offset: Int) { rows[chunk.key(at: offset)] = Place(chunk: chunk, offset: offset) }

    /// Keeps an object as long as its row, if that was read ahead.
    mutating func keep(_ object: NSManagedObject) { rows[object.key]?.object = object }

    /// - Returns: nil when they were not read ahead.
    func members(of key: RowKey, toMany index: Int) -> [RowKey]? { members.isEmpty ? nil : members[Owner(key: key, relationship: index)] }

    mutating func keep(_ keys: [RowKey], of owner: RowKey, toMany index: Int) { members[Owner(key: owner, relationship: index)] = keys }

    /// Any of the rows may have joined or left a relationship, so that no members are certain any more.
    mutating func forget(_ keys: some Sequence<RowKey>) {
        guard !isEmpty else { return }
        members = [:]
        for key in keys { rows[key] = nil }
    }
}
