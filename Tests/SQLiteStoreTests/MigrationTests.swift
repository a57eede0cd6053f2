// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore
import Testing

@Suite struct MigrationTests {
    /// Writes the evolution's objects into a new store.
    private func fill(_ store: SQLiteStore, _ evolution: Evolution, _ model: ResolvedModel) throws {
        var keys: [Int64: RowKey] = [:]
        for (uid, thing) in evolution.things.sorted(by: { $0.key < $1.key }) {
            keys[uid] = try store.insert(model, thing.entity, thing.values.merging(["uid": .int(uid)]) { $1 })
        }
        var changes = StoreChanges()
        var rows = Dictionary(uniqueKeysWithValues: try store.read { try $0.rows(Array(keys.values)) }.map { ($0.key, $0) })
        for (name, pairs) in evolution.links.sorted(by: { $0.key < $1.key }) {
            guard let (entity, place) = evolution.find(name) else { continue }
            let relationship = evolution.model.entities[entity].relationships[place]
            let resolved = model.entities[model.index(evolution.model.entities[entity].name)]
            for pair in pairs {
                guard let owner = keys[pair.owner], let member = keys[pair.member] else { continue }
                switch resolved.location(of: name) {
                case .slot(let slot)?: rows[owner]?.values[slot] = .reference(member)
                case .toMany(let index)?:
                    let isSecondSide = relationship.inverse.map { $0 < name } ?? false
                    if resolved.toMany[index].isLinked, !isSecondSide {
                        changes.links.append(LinkChange(owner: owner, relationship: index, destination: member, isAddition: true))
                    }
                    guard relationship.isOrdered else { continue }
                    if let place = changes.orders.firstIndex(where: { $0.owner == owner && $0.relationship == index }) {
                        changes.orders[place] = OrderChange(
                            owner: owner, relationship: index, destinations: changes.orders[place].destinations + [member])
                    } else {
                        changes.orders.append(OrderChange(owner: owner, relationship: index, destinations: [member]))
                    }
                case nil: continue
                }
            }
        }
        changes.updates = rows.values.map {
            RowUpdate(key: $0.key, expectedVersion: 1, values: $0.values, changedSlots: Array($0.values.indices))
        }
        try store.save(changes)
    }

    /// The contents of a store, in the evolution's terms.
    private func contents(_ store: SQLiteStore, _ evolution: Evolution, _ model: ResolvedModel) throws -> [String] {
        let rows = try store.read { reader in
            try model.entities.flatMap { try reader.fetch(StoreQuery(entity: $0.index, includesSubentities: false)) }
        }
        var uids: [RowKey: Int64] = [:]
        for row in rows {
            let slot = model.slot(model.entities[row.key.entityIndex].name, "uid")
            guard slot >= 0, case .int(let uid) = row.values[slot] else { continue }
            uids[row.key] = uid
        }
        return try rows.map { row in
            let entity = model.entities[row.key.entityIndex]
            var parts: [String] = []
            for (slot, value) in zip(entity.slots, row.values) {
                if case .reference(let key) = value {
                    parts.append("\(slot.name)=[\(uids[key].map { String($0) } ?? "?")]")
                } else if case .attribute = slot {
                    if slot.name != "uid" { parts.append("\(slot.name)=\(value)") }
                }
            }
            for (index, relationship) in entity.toMany.enumerated() {
                let members = try store.read { try $0.destinations(of: row.key, toMany: index) }.map { uids[$0] ?? -1 }
                let listed = relationship.declaration.isOrdered ? members : members.sorted()
                if !members.isEmpty { parts.append("\(relationship.name)=\(listed)") }
            }
            return "\(entity.name) \(uids[row.key] ?? -1): \(parts.sorted().joined(separator: " "))"
        }.sorted()
    }

    private func expected(_ evolution: Evolution) -> [String] {
        evolution.things.map { uid, thing in
            var parts = thing.values.map { "\($0.key)=\($0.value)" }
            for relationship in evolution.chain(thing.entity).flatMap(\.relationships) {
                let members = (evolution.links[relationship.name] ?? []).filter { $0.owner == uid }.map(\.member)
                let listed = relationship.isOrdered ? members : members.sorted()
                if !members.isEmpty { parts.append("\(relationship.name)=\(listed)") }
            }
            return "\(thing.entity) \(uid): \(parts.sorted().joined(separator: " "))"
        }.sorted()
    }

    /// The store chooses the order of relationships that become ordered: the evolution adopts it.
    private func takeOrders(_ evolution: inout Evolution, _ store: SQLiteStore, _ model: ResolvedModel, known: Set<String>) throws {
        let slots = model.entities
        var uids: [RowKey: Int64] = [:]
        for entity in slots {
            for row in try store.read({ try $0.fetch(StoreQuery(entity: entity.index, includesSubentities: false)) }) {
                if case .int(let uid) = row.values[model.slot(entity.name, "uid")] { uids[row.key] = uid }
            }
        }
        for entity in slots {
            for (index, relationship) in entity.toMany.enumerated()
            where relationship.declaration.isOrdered && !known.contains(relationship.name) {
                for (key, uid) in uids where key.entityIndex == entity.index {
                    let members = try store.read { try $0.destinations(of: key, toMany: index) }.map { uids[$0] ?? -1 }
                    let own = (evolution.links[relationship.name] ?? []).filter { $0.owner == uid }.map(\.member)
                    guard Set(own) == Set(members), own.count == members.count else { continue }
                    evolution.links[relationship.name]?.removeAll { $0.owner == uid }
                    evolution.links[relationship.name]? += members.map { Evolution.Pair(owner: uid, member: $0) }
                }
            }
        }
    }

    private func orderedNames(_ model: Model) -> Set<String> {
        Set(model.entities.flatMap(\.relationships).filter(\.isOrdered).map { $0.renamingIdentifier ?? $0.name })
    }

    /// Any inferable change keeps all data that the new model can represent.
    @Test(arguments: 1...40)
    func randomModelChangesKeepAllMigratableData(_ seed: Int) throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            var evolution = Evolution(seed: UInt64(seed))
            var model = try ResolvedModel(evolution.model)
            let store = try Library.store(url, model: model, options: Library.options(version: 0))
            try fill(store, evolution, model)
            try #require(try contents(store, evolution, model) == expected(evolution))
            store.close()
            for version in UInt8(1)...4 {
                let before = evolution
                let orderedBefore = Set(evolution.model.entities.flatMap(\.relationships).filter(\.isOrdered).map(\.name))
                evolution.step()
                model = try ResolvedModel(evolution.model)
                let difference = ModelDifference(from: before.model, to: evolution.model)
                guard difference.obstacles.isEmpty else {
                    let error = #expect(throws: StoreError.self) {
                        _ = try Library.store(url, model: model, options: Library.options(version: version))
                    }
                    #expect(error?.code == .notInferable)
                    evolution = before
                    continue
                }
                let migrated = try Library.store(url, model: model, options: Library.options(version: version))
                let known = Set(
                    evolution.model.entities.flatMap(\.relationships).filter { orderedBefore.contains($0.renamingIdentifier ?? $0.name) }
                        .map(\.name))
                try takeOrders(&evolution, migrated, model, known: known)
                let (found, wanted) = (try contents(migrated, evolution, model), expected(evolution))
                let (missing, extra) = (wanted.filter { !found.contains($0) }, found.filter { !wanted.contains($0) })
                try #require(missing.isEmpty, "after \(evolution.log.joined(separator: "; ")): missing \(missing), extra \(extra)")
                try #require(extra.isEmpty, "after \(evolution.log.joined(separator: "; ")): missing \(missing), extra \(extra)")
                #expect(try migrated.read { try $0.problems() } == [], "\(evolution.log.joined(separator: "; "))")
                migrated.close()
                let again = try Library.store(url, model: model, options: Library.options(version: version))
                #expect(try contents(again, evolution, model) == wanted)
                again.close()
            }
        }
    }
}
