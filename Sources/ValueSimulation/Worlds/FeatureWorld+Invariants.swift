// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore

extension FeatureWorld {
    /// Objects that no store may have; must be empty after every step.
    func invalid(_ device: Replica) -> [String] {
        var violations = incomplete(device)
        if features.contains(.uniqueness) {
            let names = device.keys(of: "Label").compactMap { device.value("name", of: $0) }.filter { !$0.isNull }
            if Set(names).count < names.count { violations.append("\(device.device): two labels have one name") }
        }
        return violations
    }

    /// Visible objects that lack a required value.
    private func incomplete(_ device: Replica) -> [String] {
        guard features.contains(.requirements) else { return [] }
        return device.keys(of: "Document").filter { key in
            ["title", "folder"].contains { device.value($0, of: key)?.isNull ?? true }
        }.map { "\(device.device): \(device.name(of: $0) ?? "?") lacks a required value" }
    }

    /// Violations after the devices converged.
    var finalViolations: [String] {
        var violations: [String] = []
        let contested = namesInSeveralZones
        let dumps = devices.map { device in
            device.dumpText(without: Set(device.keys(of: "Label").filter { contested.contains(device.value("name", of: $0) ?? .null) }))
        }
        if Set(dumps).count > 1 { violations.append("the devices differ:\n\(dumps.joined(separator: "\n--\n"))") }
        for device in devices {
            let shown = Set(device.keys(of: "Label").compactMap { device.value("name", of: $0) })
            for name in contested where !shown.contains(name) { violations.append("\(device.device): no label has the name \(name.text)") }
        }
        for device in devices { violations += device.oneSided.map { "one-sided: \($0)" } + leftOver(on: device) + lost(on: device) }
        return violations + serverViolations
    }

    /// Unique names of labels in several zones. They are not merged, and a device shows the one that it received first.
    private var namesInSeveralZones: Set<StoredValue> {
        guard features.contains(.uniqueness), features.contains(.relocation), let mapping = devices.first?.mapping else { return [] }
        var zones: [StoredValue: Int] = [:]
        for zone in cloud.zones.values {
            for name in Set(zone.records.values.flatMap { mapping.uniqueValues(of: $0) }.compactMap(\.values.first)) {
                zones[name, default: 0] += 1
            }
        }
        return Set(zones.filter { $0.value > 1 }.keys)
    }

    /// Sync metadata that must not remain.
    private func leftOver(on device: Replica) -> [String] {
        var found: [String] = []
        for number in device.zones.numbers {
            let zone = device.zones[number]
            let server = cloud[number].records
            for state in zone.records.values {
                if state.stage != .uploaded || state.isRelocated {
                    found.append("\(device.device): \(state.recordName) \(state.stage) in zone \(number)")
                }
                if device.rows[state.key] == nil { found.append("\(device.device): \(state.recordName) has no row") }
            }
            for link in zone.links.values where link.stage != .uploaded {
                found.append("\(device.device): \(link.recordName) \(link.stage)")
            }
            let known = Set(zone.records.keys).union(zone.links.keys).union(zone.withheld.keys)
            found += known.symmetricDifference(server.keys).sorted().map { "\(device.device): \($0) is in zone \(number) of one side only" }
            for record in zone.withheld.values {
                if record.lacking.contains(IncompleteRecord.freeValues) {
                    let isFree = device.mapping.uniqueValues(of: record.record).allSatisfy { unique in
                        device.keys(with: unique).allSatisfy { device.zone(of: $0) == number }
                    }
                    if isFree { found.append("\(device.device): \(record.record.recordName) is withheld, and its values are free") }
                }
                // A withheld object waits for something that the server does not have, or that is withheld itself.
                let missing = record.lacking.filter { server[$0] == nil || zone.withheld[$0] != nil }
                if missing.isEmpty, !record.lacking.isEmpty {
                    found.append("\(device.device): \(record.record.recordName) is withheld without a reason")
                }
            }
        }
        for key in device.rows.keys where device.name(of: key) == nil {
            found.append("\(device.device): row \(key.primaryKey) has no record")
        }
        return found
    }

    /// Objects that disappeared, reappeared after their deletion, or exist twice.
    private func lost(on device: Replica) -> [String] {
        var found: [String] = []
        var shown: [Int64: Int] = [:]
        for key in device.rows.keys {
            // Labels with one name are merged.
            if features.contains(.uniqueness), device.mapping.model.entities[key.entityIndex].name == "Label" { continue }
            if let number = device.number(of: key) { shown[number, default: 0] += 1 }
        }
        for (number, count) in shown {
            if count > 1 { found.append("\(device.device): object \(number) exists \(count) times") }
            if deleted.contains(number) { found.append("\(device.device): object \(number) reappeared after its deletion") }
        }
        if features.contains(.uniqueness) {
            return found
        }
        for number in inserted.subtracting(deleted) where shown[number] == nil {
            // An object cannot be without its required folder.
            if features.contains(.requirements), folders[number].map({ !$0.isDisjoint(with: deleted) }) ?? false { continue }
            found.append("\(device.device): object \(number) is lost")
        }
        return found
    }

    /// Records that are in two zones, or that are related across zones.
    private var serverViolations: [String] {
        guard features.contains(.relocation), let mapping = devices.first?.mapping else { return [] }
        var found: [String] = []
        for (number, server) in cloud.zones {
            for record in server.records.values {
                let ends = mapping.pair(of: record).map { [$0.first, $0.second] } ?? []
                let isHidden = ([record.recordName] + ends).contains { isWithheld($0, in: number) }
                for name in isHidden ? [] : mapping.references(of: record) {
                    for (other, zone) in cloud.zones where other != number && zone.records[name] != nil && server.records[name] == nil {
                        if isWithheld(name, in: other) { continue }
                        found.append("\(record.recordName) of zone \(number) refers to \(name) of zone \(other)")
                    }
                }
                // Names that follow from unique values may belong to two objects.
                if let entity = mapping.entity(of: record), mapping.isUnique(entity.entity.index) { continue }
                for (other, zone) in cloud.zones where other > number && zone.records[record.recordName] != nil {
                    found.append("\(record.recordName) is in zones \(number) and \(other)")
                }
            }
        }
        return found.sorted()
    }

    /// Whether every device withholds a record. Its object is related to no other one, and records and join records keep their references: a
    /// device with another version of the model may show it.
    private func isWithheld(_ name: String, in zone: Int64) -> Bool { devices.allSatisfy { $0.zones[zone].withheld[name] != nil } }
}

extension RecordMapping {
    /// Returns the names of the objects that a record refers to, or that a join record links.
    fileprivate func references(of record: Record) -> [String] {
        if let pair = pair(of: record) { return [pair.first, pair.second] }
        guard let entity = entity(of: record) else { return [] }
        return entity.properties.filter(\.isToOne).compactMap { property in
            if case .string(let target)? = record.fields[property.fieldName]?.value { target } else { nil }
        }
    }
}
