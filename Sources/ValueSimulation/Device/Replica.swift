// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel
package import MirroringCore

/// A device without disk: rows, links, lists, history and the sync metadata of each zone, as values.
///
/// It loads the facts that the decisions of `MirroringCore` need, and writes their results, as `CloudMirroring` does with a store's file.
package struct Replica: Sendable {
    package struct Pair: Hashable, Sendable {
        package var kind: LinkKind, first: RowKey, second: RowKey

        /// Few pairs of rows are linked by two relationships: the texts of the kind would cost more than all else.
        package func hash(into hasher: inout Hasher) {
            hasher.combine(first)
            hasher.combine(second)
        }
    }

    package let device: String
    package var mapping: RecordMapping
    /// Whether deletions cascade as the model says.
    package var cascades = false
    /// A planted defect.
    package var canary: ValueCanary?
    package internal(set) var rows = RowTable()
    package internal(set) var pairs: Set<Pair> = []
    /// Members of ordered relationships in their order. Members that joined since are not in it.
    var orders: [OrderedList: [RowKey]] = [:]
    /// Position keys of rows, by to-one relationship.
    var positions: [RowKey: [String: String]] = [:]
    /// Transactions that were not read.
    var history: [LocalTransaction] = []
    var lastTransaction: Int64 = 0
    var lastPrimaryKey: Int64 = 0
    var lastName = 0
    package internal(set) var zones = ZoneTable()
    package internal(set) var conflicts: [ConflictEntry] = []
    /// Rows that a relocation may have left in a one-sided relationship.
    var relatedSuspects: Set<RowKey> = []
    /// Names of records that this device deleted on the server.
    var deletedNames: Set<String> = []

    package init(_ device: String, mapping: RecordMapping = TestModel.mapping) {
        self.device = device
        self.mapping = mapping
    }

    // MARK: The home zone

    var home: ZoneMetadata { _read { yield zones[MirrorZone.home] } }
    package var records: MetadataTable<RecordState> { home.records }
    package var links: MetadataTable<LinkState> { home.links }
    package var parked: [ParkedRelationship.Key: String] { home.parked }
    package var token: String? { home.token }

    // MARK: Lookups

    /// Zones in the order in which they are exported: the source record of a relocated object is deleted after its destination record
    /// arrived.
    package var zoneNumbers: [Int64] { zones.numbers.reversed() }

    package var liveKeys: [RowKey] { rows.keys }

    package func keys(of entity: String) -> [RowKey] {
        // Models of simulations have five entities at most: to compare their names takes less time than to hash one.
        guard let index = mapping.model.entities.firstIndex(where: { $0.name == entity }) else { return [] }
        let hierarchy = mapping.model.entities[index].hierarchy
        return hierarchy.count == 1 ? Array(rows.keys(of: index)) : hierarchy.flatMap { rows.keys(of: $0) }
    }

    /// The name of the current record of a row.
    package func name(of key: RowKey) -> String? {
        for number in zones.numbers { if let name = zones[number].currentName(of: key) { return name } }
        return nil
    }

    package func key(named name: String) -> RowKey? { home.records.value(of: name) { $0.key } }

    /// The current record of a row, in any zone.
    func current(_ key: RowKey) -> (zone: Int64, state: RecordState)? {
        for number in zones.numbers {
            if let name = zones[number].currentName(of: key), let state = zones[number].records[name] { return (number, state) }
        }
        return nil
    }

    /// The record that a relocated row has in its source zone.
    func source(of key: RowKey) -> (zone: Int64, state: RecordState)? {
        for number in zones.numbers {
            if let name = zones[number].names[key], let state = zones[number].records[name], state.isRelocated {
                return (number, stored(state))
            }
        }
        return nil
    }

    func zone(of key: RowKey) -> Int64? { zones.numbers.first { zones[$0].currentName(of: key) != nil } }

    /// Returns a record with the values that are stored by row: its position keys, and whether a relocated object was deleted.
    func stored(_ state: consuming RecordState) -> RecordState {
        let isRanked = mapping.isRanked(state.key.entityIndex)
        if state.isRelocated {
            let isLive = current(state.key).map { $0.state.stage != .needsDelete } ?? false
            state.role = .source(isObjectDeleted: !isLive)
        }
        if isRanked { state.ranks = positions[state.key] ?? [:] }
        return state
    }

    func record(named name: String, in zone: Int64) -> RecordState? {
        guard let state = zones[zone].records[name] else { return nil }
        return stored(state)
    }

    package func value(_ property: String, of key: RowKey) -> StoredValue? {
        guard let row = rows[key], case .slot(let slot)? = mapping.model.entities[key.entityIndex].location(of: property) else {
            return nil
        }
        return row.values[slot]
    }

    // MARK: Writing

    mutating func write(_ changes: BookkeepingChanges, in zone: Int64 = MirrorZone.home) {
        zones[zone].write(changes)
        for state in changes.records where mapping.isRanked(state.key.entityIndex) {
            positions[state.key] = stored(state).hasRow ? state.ranks : nil
        }
        conflicts += changes.conflicts
    }

    mutating func record(_ changes: [LocalChange], author: String? = nil) {
        lastTransaction += 1
        history.append(LocalTransaction(number: lastTransaction, author: author, changes: changes))
    }

    func pair(_ link: LinkMapping, _ relationship: Int, _ owner: RowKey, _ destination: RowKey) -> Pair {
        let isFirst =
            link.isSymmetric
            ? owner.primaryKey <= destination.primaryKey
            : link.first.relationship == relationship && mapping.model.entities[link.first.entity].hierarchy.contains(owner.entityIndex)
        return Pair(kind: link.kind, first: isFirst ? owner : destination, second: isFirst ? destination : owner)
    }

    mutating func removeRow(_ key: RowKey) {
        rows[key] = nil
        positions[key] = nil
        pairs = pairs.filter { $0.first != key && $0.second != key }
        if orders.isEmpty { return }
        for list in orders.keys { orders[list]?.removeAll { $0 == key } }
        orders = orders.filter { $0.key.owner != key }
    }
}

/// The devices of a world. A device that acts is taken out, so that it is changed in place and not copied.
struct DeviceTable: Sendable {
    private var places: [Replica?]

    init(_ devices: [Replica]) { places = devices }

    var indices: Range<Int> { places.indices }
    var count: Int { places.count }

    /// Copies of the devices, without one that acts.
    var present: [Replica] { places.compactMap { $0 } }

    subscript(index: Int) -> Replica {
        guard let device = places[index] else { preconditionFailure("device \(index) acts") }
        return device
    }

    mutating func takeOut(_ index: Int) -> Replica {
        guard let device = places[index].take() else { preconditionFailure("device \(index) acts already") }
        return device
    }

    mutating func putBack(_ device: consuming Replica, at index: Int) { places[index] = device }
}
