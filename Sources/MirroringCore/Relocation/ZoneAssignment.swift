// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// The zones of objects that were changed on this device.
///
/// Records of different zones are never related. A new object goes to the zone of the objects that it is related to. An object of the home
/// zone that was related to a shared one is relocated to the zone of the share, with everything it is connected with.
package struct ZoneAssignment: Sendable {
    /// A changed row with its related rows.
    package struct Change: Hashable, Sendable {
        package var key: RowKey
        package var zone: Int64
        package var neighbours: [Neighbour]

        package init(key: RowKey, zone: Int64, neighbours: [Neighbour]) {
            self.key = key
            self.zone = zone
            self.neighbours = neighbours
        }
    }

    package struct Neighbour: Hashable, Sendable {
        package var key: RowKey
        package var zone: Int64

        package init(key: RowKey, zone: Int64) {
            self.key = key
            self.zone = zone
        }
    }

    package struct Relocation: Hashable, Sendable {
        package var key: RowKey
        package var zone: Int64
    }

    private let history: [LocalTransaction]
    /// Rows that changed, in the order of their first change.
    package private(set) var keys: [RowKey] = []
    /// Properties that changed; nil for all.
    private var changedProperties: [RowKey: Set<String>?] = [:]
    private var deleted: Set<RowKey> = []

    /// - Parameter history: Transactions of the app. Those of the sync engine need no assignment.
    package init(_ history: [LocalTransaction], mapping: RecordMapping) {
        self.history = history
        for change in history.filter({ !MirrorNames.isMirror($0.author) }).flatMap(\.changes)
        where mapping.entities[change.key.entityIndex] != nil {
            add(change)
        }
    }

    private mutating func add(_ change: LocalChange) {
        let isUpdate = change.kind == .update
        if let earlier = changedProperties[change.key] {
            changedProperties[change.key] = .some(isUpdate ? earlier?.union(change.changedProperties) : nil)
        } else {
            changedProperties[change.key] = .some(isUpdate ? Set(change.changedProperties) : nil)
            keys.append(change.key)
        }
        if change.kind == .delete { deleted.insert(change.key) } else { deleted.remove(change.key) }
    }

    /// Rows that changed and exist.
    package var existing: [RowKey] { keys.filter { !deleted.contains($0) } }

    /// Returns the properties of a row that changed; nil for all.
    package func changedProperties(of key: RowKey) -> Set<String>? { changedProperties[key] ?? nil }

    /// Returns which rows of the home zone go to which zone. Of two zones that an object could go to, the older one gets it.
    ///
    /// - Parameter home: The number of the home zone.
    package static func relocations(_ changes: [Change], home: Int64) -> [Relocation] {
        var relocations: [Relocation] = []
        for change in changes {
            for neighbour in change.neighbours {
                if change.zone != home, neighbour.zone == home { relocations.append(Relocation(key: neighbour.key, zone: change.zone)) }
                if change.zone == home, neighbour.zone != home { relocations.append(Relocation(key: change.key, zone: neighbour.zone)) }
            }
        }
        return relocations.sorted { $0.zone < $1.zone }
    }

    /// Returns the history of each zone.
    ///
    /// - Parameter zones: The zones of ``keys``, after all relocations.
    package func parts(zones: [RowKey: Int64]) -> [(zone: Int64, history: [LocalTransaction])] {
        Dictionary(grouping: keys) { zones[$0] }.sorted { $0.key ?? .min < $1.key ?? .min }.compactMap { zone, keys in
            guard let zone else { return nil }
            let keys = Set(keys)
            let part = history.map {
                LocalTransaction(number: $0.number, author: $0.author, changes: $0.changes.filter { keys.contains($0.key) })
            }
            return (zone, part)
        }
    }
}

/// The objects that are relocated together: all that are connected by relationships.
///
/// The caller takes a row with ``next()``, and adds its neighbours with ``include(_:neighbours:)`` if the row is relocated. A row that is
/// not included leads nowhere.
package struct ConnectedObjects: Sendable {
    /// Rows that are included, in the order in which they were reached.
    package private(set) var keys: [RowKey] = []
    private var reached: Set<RowKey> = []
    private var pending: [RowKey] = []

    /// - Parameter keys: Rows to begin with. Several relationships may have led to one: each is relocated once.
    package init(from keys: [RowKey]) { add(keys) }

    private mutating func add(_ keys: [RowKey]) { for key in keys where reached.insert(key).inserted { pending.append(key) } }

    package mutating func next() -> RowKey? { pending.popLast() }

    package mutating func include(_ key: RowKey, neighbours: [RowKey]) {
        keys.append(key)
        add(neighbours)
    }
}
