// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore

extension Replica {
    /// Sends everything, batch by batch, until nothing is left or an import is needed.
    mutating func export(to server: inout ServerModel, itemsMax: Int = 200, limits: Limits = Limits()) {
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

    func send(
        _ batch: BatchPlan, to server: inout ServerModel
    ) -> (outcomes: [String: ItemOutcome], assets: [String: [String: AssetValue]]) {
        var outcomes: [String: ItemOutcome] = [:]
        var assets: [String: [String: AssetValue]] = [:]
        for item in batch.items {
            for upload in item.uploads { assets[item.recordName, default: [:]][upload.field] = server.upload(upload.content.bytes) }
            outcomes[item.recordName] = server.apply(item.operation, item.with(assets[item.recordName] ?? [:]), by: device)
        }
        return (outcomes, assets)
    }

    mutating func importAll(from server: ServerModel, pageSize: Int = 200) {
        while true {
            let page = ask(server, limit: pageSize)
            apply(page, from: server)
            if !page.moreComing { return }
        }
    }

    mutating func sync(_ server: inout ServerModel, pageSize: Int = 200) {
        importAll(from: server, pageSize: pageSize)
        export(to: &server)
        importAll(from: server, pageSize: pageSize)
    }

    /// What a user sees, with record names for identities: equal for devices that agree.
    var dump: String {
        var lines: [String] = []
        for key in liveKeys {
            let entity = mapping.model.entities[key.entityIndex]
            var line = "\(entity.name) \(name(of: key) ?? "?")"
            for slot in entity.slots.indices {
                guard let value = rows[key]?.values[slot], !value.isNull else { continue }
                let text = value.reference.map { "→ \(name(of: $0) ?? "?")" } ?? value.text
                line += "  \(entity.slots[slot].name) \(text)"
            }
            lines.append(line)
        }
        for pair in pairs {
            let ends = [name(of: pair.first) ?? "?", name(of: pair.second) ?? "?"]
            let isSymmetric = mapping.links[pair.kind]?.isSymmetric == true
            lines.append("\(pair.kind.relationships) \((isSymmetric ? ends.sorted() : ends).joined(separator: " – "))")
        }
        return lines.sorted().joined(separator: "\n")
    }
}

extension Replica {
    /// Inserts into a model of the test's own, whose only entity is the first.
    @discardableResult
    mutating func insertThing(_ values: [String: StoredValue]) -> RowKey {
        let key = insert(entity: mapping.model.entities[0])
        for (property, value) in values.sorted(by: { $0.key < $1.key }) { set(property, of: key, to: value) }
        return key
    }

    /// Saves the first row without a change of its values.
    mutating func touchThing() {
        guard let key = liveKeys.first, let value = value("x", of: key) else { return }
        set("x", of: key, to: value)
    }
}
