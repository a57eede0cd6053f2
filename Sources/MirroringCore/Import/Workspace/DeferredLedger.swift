// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Deferred references while a page is planned: to-one relationships whose target has not arrived, by source and relationship.
struct DeferredLedger {
    private var targets: [ParkedRelationship.Key: String]
    private let loadedByTarget: [String: [ParkedRelationship]]
    /// Relationships that are deferred, or were, by source.
    private var relationships: [String: Set<String>]
    private var touched: [ParkedRelationship.Key] = []

    init(_ loaded: [ParkedRelationship]) {
        if loaded.isEmpty {
            // Most pages wait for nothing.
            (targets, loadedByTarget, relationships) = ([:], [:], [:])
            return
        }
        targets = Dictionary(loaded.map { ($0.key, $0.destination) }, uniquingKeysWith: { first, _ in first })
        loadedByTarget = Dictionary(grouping: loaded, by: \.destination)
        relationships = Dictionary(grouping: loaded, by: \.key.source).mapValues { Set($0.map(\.key.relationship)) }
    }

    /// Returns the record name that a relationship waits for.
    subscript(source: String, relationship: String) -> String? {
        targets[ParkedRelationship.Key(source: source, relationship: relationship)]
    }

    /// Returns the record names that a source waits for, by relationship.
    func targets(of source: String) -> [String: String] {
        var result: [String: String] = [:]
        for relationship in relationships[source] ?? [] { result[relationship] = self[source, relationship] }
        return result
    }

    /// Returns the loaded references that still wait for a record.
    func references(to target: String) -> [ParkedRelationship] { (loadedByTarget[target] ?? []).filter { targets[$0.key] == target } }

    /// All references, in a repeatable order.
    var sorted: [ParkedRelationship] {
        targets.sorted { ($0.key.source, $0.key.relationship) < ($1.key.source, $1.key.relationship) }
            .map { ParkedRelationship(source: $0.key.source, relationship: $0.key.relationship, destination: $0.value) }
    }

    mutating func `defer`(_ source: String, _ relationship: String, to target: String) { set(source, relationship, target) }

    mutating func resolve(_ source: String, _ relationship: String) { set(source, relationship, nil) }

    /// Defers a relationship, or ends that if the target is nil.
    mutating func set(_ source: String, _ relationship: String, _ target: String?) {
        let key = ParkedRelationship.Key(source: source, relationship: relationship)
        guard targets[key] != target else { return }
        targets[key] = target
        relationships[source, default: []].insert(relationship)
        touched.append(key)
    }

    func write(to changes: inout BookkeepingChanges) {
        if touched.isEmpty { return }
        var seen: Set<ParkedRelationship.Key> = []
        for key in touched where seen.insert(key).inserted {
            if let target = targets[key] {
                changes.parked.append(ParkedRelationship(source: key.source, relationship: key.relationship, destination: target))
            } else {
                changes.unparked.append(key)
            }
        }
    }
}
