// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
package import MirroringCore

/// The sync metadata of one zone on a device.
package struct ZoneMetadata: Sendable {
    package private(set) var records = MetadataTable<RecordState>()
    package private(set) var links = MetadataTable<LinkState>()
    package private(set) var parked: [ParkedRelationship.Key: String] = [:]
    /// Withheld records by name.
    package private(set) var withheld: [String: IncompleteRecord] = [:]
    /// Names of records, by their rows.
    private(set) var names: [RowKey: String] = [:]
    package var token: String?
    var generation: Int64 = 1
    var isFullFetch = true
    /// Whether records of the home zone were adopted since the last page.
    var receives = false

    /// Rows that may be in a one-sided relationship, of the pages since the last complete import.
    var suspects: Set<RowKey> = []

    /// The number of the full fetch in progress; nil without one.
    var fetchNumber: Int64? { isFullFetch ? generation : nil }

    mutating func put(_ state: RecordState) {
        let name = state.recordName
        let former: RowKey?
        if state.isRelocated, !state.merged.names.isEmpty {
            // Redirects move with the current record.
            var state = state
            state.merged = MergedNames()
            former = records.replace(state, named: name) { $0.key }
        } else {
            former = records.replace(state, named: name) { $0.key }
        }
        if let former, former != state.key, names[former] == name { names[former] = nil }
        names[state.key] = name
        if !state.isRelocated, !state.merged.names.isEmpty { takeRedirects(state.merged.names, for: name) }
    }

    /// Takes names off the lists of other records. Invariant, as in the table of a store: a superseded record has one survivor, the one that
    /// was stored last.
    private mutating func takeRedirects(_ superseded: Set<String>, for survivor: String) {
        let others = records.filter { $0.recordName != survivor && !$0.merged.names.isDisjoint(with: superseded) }
        for var other in others {
            other.merged = MergedNames(other.merged.names.subtracting(superseded))
            records.set(other, named: other.recordName)
        }
    }

    mutating func removeRecord(named name: String) {
        guard let state = records.remove(name), names[state.key] == name else { return }
        names[state.key] = nil
    }

    mutating func write(_ changes: BookkeepingChanges) {
        for name in changes.removedRecords { removeRecord(named: name) }
        for name in changes.removedLinks { links.remove(name) }
        for state in changes.records { put(state) }
        for link in changes.links { links.set(link, named: link.recordName) }
        for key in changes.unparked { parked[key] = nil }
        for reference in changes.parked { parked[reference.key] = reference.destination }
        for name in changes.arrived { withheld[name] = nil }
        for record in changes.incomplete { withheld[record.record.recordName] = record }
    }

    /// Removes the deferred references of a record, and returns their targets by relationship.
    mutating func takeDeferredReferences(of source: String) -> [String: String] {
        if parked.isEmpty { return [:] }
        var targets: [String: String] = [:]
        for (key, destination) in parked where key.source == source { targets[key.relationship] = destination }
        for relationship in targets.keys { parked[ParkedRelationship.Key(source: source, relationship: relationship)] = nil }
        return targets
    }

    mutating func addDeferredReferences(_ targets: [String: String], of source: String) {
        for (relationship, target) in targets { parked[ParkedRelationship.Key(source: source, relationship: relationship)] = target }
    }

    mutating func removeDeferredReferences(from source: String) { parked = parked.filter { $0.key.source != source } }

    // MARK: Lookups

    /// Returns the name of a row's record, unless the row was relocated from this zone.
    func currentName(of key: RowKey) -> String? {
        guard let name = names[key], records.value(of: name, { !$0.isRelocated }) == true else { return nil }
        return name
    }

    /// Deferred references in the order of their keys.
    var deferredReferences: [ParkedRelationship] {
        if parked.isEmpty { return [] }
        return parked.map { ParkedRelationship(source: $0.key.source, relationship: $0.key.relationship, destination: $0.value) }
            .sorted { ($0.key.source, $0.key.relationship) < ($1.key.source, $1.key.relationship) }
    }

    func links(touching names: Set<String>) -> [LinkState] {
        if links.isEmpty || names.isEmpty { return [] }
        return links.filter { names.contains($0.pair.first) || names.contains($0.pair.second) }.sorted {
            $0.recordName < $1.recordName
        }
    }

    /// Redirects: names of surviving records, by the names of the superseded ones.
    var redirects: [String: String] {
        var redirects: [String: String] = [:]
        for state in records.filter({ !$0.merged.names.isEmpty }).sorted(by: { $0.recordName < $1.recordName }) {
            for name in state.merged.names { redirects[name] = state.recordName }
        }
        return redirects
    }

    /// Returns the withheld records that lack one of these names, directly or through other withheld records.
    func withheldRecords(lacking names: [String]) -> [IncompleteRecord] {
        if withheld.isEmpty { return [] }
        var released: [IncompleteRecord] = []
        var visited: Set<String> = []
        var pending = names
        while let target = pending.popLast() {
            for record in withheld.values.sorted(by: { $0.record.recordName < $1.record.recordName })
            where record.lacking.contains(target) && visited.insert(record.record.recordName).inserted {
                released.append(record)
                pending.append(record.record.recordName)
            }
        }
        return released
    }

    /// Names of records, links and withheld records that a full fetch did not return.
    var unseenNames: [String] {
        records.filter { ($0.changeTag != nil || $0.stage == .uploaded) && $0.generation < generation }.map(\.recordName).sorted()
            + links.filter { ($0.changeTag != nil || $0.stage == .uploaded) && $0.generation < generation }.map(\.recordName)
            .sorted()
            + withheld.values.filter { $0.generation < generation }.map(\.record.recordName).sorted()
    }

    var missingNames: [String] {
        let missing = records.filter { $0.stage == .missing }
        return missing.isEmpty ? [] : missing.map(\.recordName).sorted()
    }
}
