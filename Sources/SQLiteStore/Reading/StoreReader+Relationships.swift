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

extension [RowKey] {
    fileprivate var isSorted: Bool { indices.dropFirst().allSatisfy { self[$0 - 1].primaryKey <= self[$0].primaryKey } }
}
