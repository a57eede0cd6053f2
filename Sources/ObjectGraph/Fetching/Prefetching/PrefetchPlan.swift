// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// Key paths of relationships as a tree: shared steps are read once.
///
///     author, author.agent, chapters   ▶   author ── agent
///                                          chapters
struct PrefetchPlan {
    struct Step {
        let name: String
        var following: PrefetchPlan
    }

    private(set) var steps: [Step] = []

    var isEmpty: Bool { steps.isEmpty }

    init() {}

    /// - Parameter entities: The indices of the entities that the key paths start from.
    /// - Throws: `CocoaError` 134070 for a step that isn't a relationship of the entity or of a subentity.
    init(_ keyPaths: [String], from entities: some Sequence<Int>, _ layouts: [EntityLayout]) throws {
        for keyPath in keyPaths {
            let keys = keyPath.split(separator: ".").map(String.init)
            try Self.check(keys[...], keyPath, Set(entities), layouts)
            add(keys[...])
        }
    }

    private mutating func add(_ keys: ArraySlice<String>) {
        guard let name = keys.first else { return }
        let index = steps.firstIndex { $0.name == name } ?? steps.count
        if index == steps.count { steps.append(Step(name: name, following: PrefetchPlan())) }
        steps[index].following.add(keys.dropFirst())
    }

    private static func check(_ keys: ArraySlice<String>, _ keyPath: String, _ entities: Set<Int>, _ layouts: [EntityLayout]) throws {
        guard let name = keys.first else { return }
        let relationships = entities.compactMap { index in
            layouts[index].entity.location(of: name).flatMap(layouts[index].entity.relationship(at:))
        }
        guard !relationships.isEmpty else {
            throw CocoaError(
                .persistentStoreOperation,
                sentence:
                    "The relationship key path '\(keyPath)' cannot be prefetched: \(entities.min().map { layouts[$0].name } ?? "the entity") "
                    + "has no relationship '\(name)'.")
        }
        let next = relationships.reduce(into: Set<Int>()) { $0.formUnion(layouts[$1.destination].entity.hierarchy) }
        try check(keys.dropFirst(), keyPath, next, layouts)
    }
}
