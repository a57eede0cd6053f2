// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import ManagedModel
package import MirroringCore

extension Replica {
    /// Sends everything, batch by batch, until nothing is left or an import is needed.
    package mutating func export(to server: inout ServerModel, itemsMax: Int = 200, limits: Limits = Limits()) {
        scan()
        for _ in 0..<100 {
            let batch = planBatch(itemsMax: itemsMax, limits: limits)
            if batch.items.isEmpty {
                guard batch.changes.isEmpty else { continue }
                return
            }
            let (outcomes, assets) = send(batch, to: &server)
            if settle(batch, outcomes, assets).accepted == 0 { return }
        }
    }

    package func send(
        _ batch: BatchPlan, to server: inout ServerModel
    ) -> (outcomes: [String: ItemOutcome], assets: [String: [String: AssetValue]]) {
        var outcomes = [String: ItemOutcome](minimumCapacity: batch.items.count)
        var assets: [String: [String: AssetValue]] = [:]
        for item in batch.items {
            for upload in item.uploads { assets[item.recordName, default: [:]][upload.field] = server.upload(upload.content.bytes) }
            outcomes[item.recordName] = server.apply(item.operation, item.with(assets[item.recordName] ?? [:]), by: device)
        }
        return (outcomes, assets)
    }

    package mutating func importAll(from server: ServerModel, pageSize: Int = 200) {
        while true {
            let page = fetch(server, limit: pageSize)
            apply(page, from: server)
            if !page.moreComing { return }
        }
    }

    package mutating func sync(_ server: inout ServerModel, pageSize: Int = 200) {
        importAll(from: server, pageSize: pageSize)
        export(to: &server)
        importAll(from: server, pageSize: pageSize)
    }

    /// Equal before and after a round in which nothing happened.
    struct Progress: Equatable {
        fileprivate let rows: [Row]
        fileprivate let pairs: Set<Pair>
        fileprivate let orders: [OrderedList: [RowKey]]
        fileprivate let tokens: [String?]
    }

    var progress: Progress {
        Progress(rows: rows.values, pairs: pairs, orders: orders, tokens: zones.numbers.map { zones[$0].token })
    }

    /// The objects that a user sees, with record names for identities: equal for devices that converged.
    package var dump: String { dumpText() }

    /// - Parameter hidden: Objects to leave out.
    package func dumpText(without hidden: Set<RowKey> = []) -> String {
        var lines: [String] = []
        var (entity, slots): (Int?, [String]) = (nil, [])
        for row in rows.values where !hidden.contains(row.key) {
            if row.key.entityIndex != entity {
                entity = row.key.entityIndex
                slots = mapping.model.entities[row.key.entityIndex].slots.map { "  \($0.name) " }
            }
            var line = mapping.model.entities[row.key.entityIndex].name
            line += " "
            line += name(of: row.key) ?? "?"
            for (slot, value) in zip(slots, row.values) where !value.isNull {
                line += slot
                if let target = value.reference {
                    line += "→ "
                    line += name(of: target) ?? "?"
                } else {
                    line += value.text
                }
            }
            lines.append(line)
        }
        for pair in pairs where !hidden.contains(pair.first) && !hidden.contains(pair.second) {
            let ends = [name(of: pair.first) ?? "?", name(of: pair.second) ?? "?"]
            let isSymmetric = mapping.links[pair.kind]?.isSymmetric == true
            lines.append("\(pair.kind.relationships) \((isSymmetric ? ends.sorted() : ends).joined(separator: " – "))")
        }
        for list in lists where !hidden.contains(list.owner) {
            let members = destinations(of: list).filter { !hidden.contains($0) }.map { name(of: $0) ?? "?" }
            if members.isEmpty { continue }
            let relationship = mapping.model.entities[list.owner.entityIndex].toMany[list.relationship].name
            lines.append("\(name(of: list.owner) ?? "?").\(relationship): \(members.joined(separator: " "))")
        }
        return lines.sorted().joined(separator: "\n")
    }

    /// The ordered relationships of all objects.
    private var lists: [OrderedList] { mapping.hasOrder ? liveKeys.flatMap { mapping.lists(of: $0) } : [] }

    /// Sides of one-to-one relationships with an object that has another one, or none, at its side.
    package var oneSided: [String] {
        liveKeys.flatMap { key in
            mapping.model.entities[key.entityIndex].slots.enumerated().compactMap { slot, declared -> String? in
                guard case .toOne(let relationship) = declared, relationship.shape == .oneToOne,
                    case .slot(let inverse)? = relationship.inverse,
                    let other = rows[key]?.values[slot].reference, rows[other]?.values[inverse] != .reference(key)
                else { return nil }
                return "\(device): \(name(of: key) ?? "?").\(declared.name)"
            }
        }
    }
}

extension Replica {
    /// Inserts an object of the first entity, in a model of a test.
    @discardableResult
    package mutating func insertThing(_ values: [String: StoredValue]) -> RowKey {
        let key = insert(entity: mapping.model.entities[0])
        for (property, value) in values.sorted(by: { $0.key < $1.key }) { set(property, of: key, to: value) }
        return key
    }

    /// Saves the first row without a change of its values.
    package mutating func touchThing() {
        guard let key = liveKeys.first, let value = value("x", of: key) else { return }
        set("x", of: key, to: value)
    }
}

// Several zones.

extension Replica {
    /// Learns of zones that other devices created.
    package mutating func learnZones(of cloud: CloudModel) {
        for zone in cloud.zones.keys.sorted() where !zones.contains(zone) { zones.insert(zone) }
    }

    /// Returns all pages of a zone from the stored token on.
    package func fetchAll(_ server: ServerModel, limit: Int, zone: Int64) -> [ImportPage] {
        let (first, generation) = (zones[zone].token, zones[zone].fetchNumber)
        var pages: [ImportPage] = []
        var token = first
        repeat {
            var page = server.page(after: token, limit: limit)
            page.generation = generation
            token = page.token
            pages.append(page)
        } while pages.last?.moreComing == true
        return pages
    }

    /// Returns whether the zones of shares are read before pages of the home zone are applied: an object that they delete may have been
    /// relocated.
    package func isHeld(_ pages: [ImportPage]) -> Bool {
        zones.count > 1 && pages.contains { !$0.deletions.isEmpty || $0.generation != nil }
    }

    package mutating func apply(_ pages: [ImportPage], from cloud: CloudModel, in zone: Int64) {
        for page in pages where !apply(page, from: cloud[zone], in: zone) { return }
    }

    package mutating func importShares(from cloud: CloudModel, pageSize: Int) {
        for zone in zones.shares {
            apply(fetchAll(cloud[zone], limit: pageSize, zone: zone), from: cloud, in: zone)
        }
    }

    package mutating func importAll(from cloud: CloudModel, pageSize: Int) {
        learnZones(of: cloud)
        let pages = fetchAll(cloud[MirrorZone.home], limit: pageSize, zone: MirrorZone.home)
        let isHeld = isHeld(pages)
        if isHeld { importShares(from: cloud, pageSize: pageSize) }
        apply(pages, from: cloud, in: MirrorZone.home)
        if !isHeld { importShares(from: cloud, pageSize: pageSize) }
    }

    /// Plans the next batch: of the first zone that has one, in the order of ``zoneNumbers``.
    package mutating func nextBatch(itemsMax: Int) -> (zone: Int64, plan: BatchPlan)? {
        scan()
        for zone in zoneNumbers {
            for _ in 0..<100 {
                let plan = planBatch(itemsMax: itemsMax, in: zone)
                if !plan.items.isEmpty { return (zone, plan) }
                if plan.changes.isEmpty { break }
            }
        }
        return nil
    }

    package mutating func sync(_ cloud: inout CloudModel, pageSize: Int) {
        importAll(from: cloud, pageSize: pageSize)
        applyWithheld(from: cloud)
        for _ in 0..<100 {
            guard let (zone, batch) = nextBatch(itemsMax: 200) else { break }
            let (outcomes, assets) = send(batch, to: &cloud[zone])
            if settle(batch, outcomes, assets, in: zone).accepted == 0 { break }
        }
        importAll(from: cloud, pageSize: pageSize)
    }
}
