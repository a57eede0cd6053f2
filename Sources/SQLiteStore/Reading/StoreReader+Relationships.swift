// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import ManagedModel

extension StoreReader {
    /// - Returns: The members of a to-many relationship: in their order if it is ordered, else by primary key.
    package func destinations(of key: RowKey, toMany index: Int) throws -> [RowKey] {
        guard let read = try destinationRead(key.entityIndex, index) else { return [] }
        let statement = try connection.statement(read.sql(condition: "= ?"))
        defer { statement.reset() }
        statement.bind(key.primaryKey, 1)
        var keys: [RowKey] = []
        while try statement.step() { keys.append(read.key(statement, layout, store.number)) }
        return keys
    }

    /// Reads the members for many owners.
    ///
    /// - Returns: An entry for each given key, with an empty list for owners without members.
    package func destinations(of keys: [RowKey], toMany index: Int) throws -> [RowKey: [RowKey]] {
        var result: [RowKey: [RowKey]] = [:]
        result.reserveCapacity(keys.count)
        for (entity, owners) in Dictionary(grouping: keys, by: \.entityIndex) {
            let members = try memberLists(owners, entity, index)
            for (owner, members) in zip(owners, members) { result[owner] = members }
        }
        return result
    }

    /// Reads the members for many distinct owners.
    ///
    /// - Returns: For each owner its members, in the order of the owners, and the distinct members of all.
    package func memberLists(of owners: [RowKey], toMany index: Int) throws -> (lists: [[RowKey]], members: [RowKey]) {
        guard let first = owners.first else { return ([], []) }
        if owners.count >= Self.manyOwners, owners.allSatisfy({ $0.entity == first.entity }) {
            let lists = try joinedLists(owners, first.entityIndex, index)
            if let lists { return lists }
        }
        let lists = try destinations(of: owners, toMany: index)
        let ordered = owners.map { lists[$0] ?? [] }
        return (ordered, Set(ordered.lazy.joined()).sorted { $0.primaryKey < $1.primaryKey })
    }

    /// From so many owners on, the statement that looks the distinct members up costs less than their row with each join record.
    private static let manyOwners = 256

    /// Reads join records without their destinations' rows, which are looked up once for all owners: most destinations
    /// have many owners.
    ///
    /// - Returns: nil for an ordered relationship, and for one without join records.
    private func joinedLists(_ owners: [RowKey], _ entity: Int, _ index: Int) throws -> (lists: [[RowKey]], members: [RowKey])? {
        guard let read = try destinationRead(entity, index), let join = read.join, read.orderColumn == nil else { return nil }
        let ownerKeys = OwnerKeys(owners)
        let statement = try connection.statement(
            """
            SELECT j.\(identifier(read.otherColumn)), j.\(identifier(read.ownColumn)) FROM \(identifier(join)) j \
            WHERE j.\(identifier(read.ownColumn)) \(ownerKeys.condition)
            """)
        defer { statement.reset() }
        try statement.bind(ownerKeys.arguments)
        var keys: [RowKey] = []
        // Consecutive keys of one owner.
        var runs: [(owner: Int, start: Int)] = []
        var distinct: Set<RowKey> = []
        var last: Int64?
        while try statement.step() {
            let owner = statement.int(1)
            if owner != last {
                last = owner
                runs.append((ownerKeys.index(of: owner), keys.count))
            }
            let key = RowKey(store: store.number, entity: read.destination, primaryKey: statement.int(0))
            distinct.insert(key)
            keys.append(key)
        }
        let entities = try entities(of: distinct, in: read)
        let isUniform = entities.count == distinct.count && entities.values.allSatisfy { $0 == read.destination }
        var lists: [[RowKey]] = Array(repeating: [], count: owners.count)
        for (place, run) in runs.enumerated() {
            let end = place + 1 < runs.count ? runs[place + 1].start : keys.count
            let members = isUniform ? Array(keys[run.start..<end]) : keys[run.start..<end].compactMap { entities[$0].map($0.with) }
            if lists[run.owner].isEmpty { lists[run.owner] = members } else { lists[run.owner] += members }
        }
        for place in lists.indices where !lists[place].isSorted { lists[place].sort { $0.primaryKey < $1.primaryKey } }
        return (lists, entities.map { $0.with(entity: $1) }.sorted { $0.primaryKey < $1.primaryKey })
    }

    /// - Returns: The concrete entities of existing rows, by the given keys.
    private func entities(of keys: Set<RowKey>, in read: DestinationRead) throws -> [RowKey: Int] {
        var entities: [RowKey: Int] = [:]
        entities.reserveCapacity(keys.count)
        let statement = try connection.statement(
            "SELECT Z_PK, Z_ENT FROM \(identifier(read.table)) WHERE Z_PK \(KeyList.condition)")
        defer { statement.reset() }
        try statement.bind([KeyList(keys.lazy.map(\.primaryKey)).argument])
        while try statement.step() {
            let key = RowKey(store: store.number, entity: read.destination, primaryKey: statement.int(0))
            entities[key] = layout.entityIndex(number: statement.int(1)) ?? read.destination
        }
        return entities
    }

    /// - Returns: For each owner its members.
    private func memberLists(_ owners: [RowKey], _ entity: Int, _ index: Int) throws -> [[RowKey]] {
        var lists: [[RowKey]] = Array(repeating: [], count: owners.count)
        guard let read = try destinationRead(entity, index) else { return lists }
        var listIndexes: [RowKey: Int] = [:]
        listIndexes.reserveCapacity(owners.count)
        for (place, owner) in owners.enumerated() { listIndexes[owner] = place }
        let statement = try connection.statement(read.sql(condition: KeyList.condition, isOrdered: read.orderColumn != nil))
        defer { statement.reset() }
        try statement.bind([KeyList(owners.lazy.map(\.primaryKey)).argument])
        // Without a defined order, the members of an owner are adjacent.
        var (last, listIndex): (Int64, Int?) = (0, nil)
        while try statement.step() {
            let owner = statement.int(2)
            if listIndex == nil || owner != last {
                (last, listIndex) = (owner, listIndexes[RowKey(store: store.number, entity: entity, primaryKey: owner)])
            }
            if let listIndex { lists[listIndex].append(read.key(statement, layout, store.number)) }
        }
        guard read.orderColumn == nil else { return lists }
        for listIndex in lists.indices where !lists[listIndex].isSorted { lists[listIndex].sort { $0.primaryKey < $1.primaryKey } }
        return lists
    }

    private func destinationRead(_ entity: Int, _ index: Int) throws(StoreError) -> DestinationRead? {
        let owner = try layout.entity(entity)
        guard owner.toMany.indices.contains(index) else {
            throw StoreError(
                .notFound, "the entity has no such relationship", detail: "\(owner.name), to-many \(index)")
        }
        switch owner.toMany[index] {
        case .transient: return nil
        case .foreignKey(let key):
            return DestinationRead(
                destination: key.destination, table: key.table, join: nil, ownColumn: key.column, otherColumn: "Z_PK",
                orderColumn: key.orderColumn)
        case .join(let side):
            return DestinationRead(
                destination: side.destination, table: try layout.entity(side.destination).table, join: side.table,
                ownColumn: side.ownColumn, otherColumn: side.otherColumn, orderColumn: side.orderColumn)
        }
    }
}

/// The query for the members of a to-many relationship: columns are the member's key, its entity, the owner's key.
private struct DestinationRead {
    let destination: Int
    let table: String
    let join: String?
    let ownColumn: String
    let otherColumn: String
    let orderColumn: String?

    /// - Parameter isOrdered: Whether members are sorted. Sorting those of many owners costs more than reading them.
    func sql(condition: String, isOrdered: Bool = true) -> String {
        let own = "j.\(identifier(ownColumn))"
        let from =
            join.map {
                "\(identifier($0)) j JOIN \(identifier(table)) d ON d.Z_PK = j.\(identifier(otherColumn))"
            } ?? "\(identifier(table)) j"
        let member = join == nil ? "j" : "d"
        let order = orderColumn.map { "j.\(identifier($0)), " } ?? ""
        let all = "SELECT \(member).Z_PK, \(member).Z_ENT, \(own) FROM \(from) WHERE \(own) \(condition)"
        return isOrdered ? "\(all) ORDER BY \(order)\(member).Z_PK" : all
    }

    func key(_ statement: PreparedStatement, _ layout: StoreLayout, _ store: UInt16) -> RowKey {
        let entity = layout.entityIndex(number: statement.int(1)) ?? destination
        return RowKey(store: store, entity: entity, primaryKey: statement.int(0))
    }
}

/// Keys of owners, as a condition on a column and as a table of their positions.
private struct OwnerKeys {
    private let range: ClosedRange<Int64>
    /// Positions by key, from the smallest key on. Empty for keys with gaps.
    private var dense: [Int32] = []
    private var sparse: [Int64: Int] = [:]
    private let list: KeyList?

    /// - Parameter owners: One or more distinct keys of one entity.
    init(_ owners: [RowKey]) {
        let keys = owners.lazy.map(\.primaryKey)
        let (first, last) = (keys.min() ?? 0, keys.max() ?? 0)
        range = first...last
        // A range of the index is read in one pass. With gaps it could have records of other owners, any number of them.
        let (width, overflows) = last.subtractingReportingOverflow(first)
        guard !overflows, width == owners.count - 1 else {
            list = KeyList(keys)
            sparse = Dictionary(keepingFirst: keys.enumerated().map { ($1, $0) })
            return
        }
        list = nil
        dense = Array(repeating: 0, count: owners.count)
        for (place, key) in keys.enumerated() { dense[Int(key - first)] = Int32(truncatingIfNeeded: place) }
    }

    var condition: String { list == nil ? "BETWEEN ? AND ?" : KeyList.condition }

    var arguments: [SQLValue] { list.map { [$0.argument] } ?? [.int(range.lowerBound), .int(range.upperBound)] }

    /// - Precondition: The key is an owner's, as all that ``condition`` selects.
    func index(of key: Int64) -> Int {
        if list == nil { return Int(dense[Int(key - range.lowerBound)]) }
        guard let place = sparse[key] else { preconditionFailure("the statement returned a join record of no owner") }
        return place
    }
}

extension RowKey {
    fileprivate func with(entity: Int) -> RowKey { RowKey(store: store, entity: entity, primaryKey: primaryKey) }
}

extension [RowKey] {
    fileprivate var isSorted: Bool { indices.dropFirst().allSatisfy { self[$0 - 1].primaryKey <= self[$0].primaryKey } }
}
