// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit

// Composite attributes: dictionaries over the slots of their leaves.

extension NSManagedObject {
    /// - Returns: Values by name without nil values; nil if all values are nil.
    final func composite(_ path: String, _ source: ContiguousArray<StoredValue>) -> [String: Any]? {
        var result: [String: Any] = [:]
        for name in layout.entity.composites[path] ?? [] {
            let member = "\(path).\(name)"
            if case .slot(let slot)? = layout.entity.location(of: member) {
                result[name] = apiValue(source[slot], slot: slot)
            } else {
                result[name] = composite(member, source)
            }
        }
        return result.isEmpty ? nil : result
    }

    /// Sets every leaf; leaves missing in the dictionary become nil.
    ///
    /// - Precondition: The value is a dictionary or nil, and its keys are names of the composite's attributes.
    final func setComposite(_ path: String, _ value: Any?) {
        let values: [String: Any]
        switch value {
        case nil, is NSNull: values = [:]
        case let dictionary as [String: Any]: values = dictionary
        case .some(let other): preconditionFailure("'\(layout.name).\(path)' is a composite and cannot hold a \(type(of: other))")
        }
        let names = layout.entity.composites[path] ?? []
        if let unknown = values.keys.first(where: { !names.contains($0) }) {
            preconditionFailure("the composite '\(layout.name).\(path)' has no attribute '\(unknown)'")
        }
        for name in names {
            let member = "\(path).\(name)"
            if layout.entity.composites[member] != nil { setComposite(member, values[name]) } else { writeProperty(member, values[name]) }
        }
    }

    /// The property of a slot, and its value: the whole composite for a slot inside one.
    final func property(of slot: Int, _ source: ContiguousArray<StoredValue>) -> (name: String, value: Any) {
        let name = layout.entity.slots[slot].name
        guard !layout.entity.composites.isEmpty, let dot = name.firstIndex(of: ".") else {
            return (name, apiValue(source[slot], slot: slot) ?? NSNull())
        }
        let root = String(name[..<dot])
        return (root, (composite(root, source) as Any?) ?? NSNull())
    }
}

extension EntityLayout {
    /// Replaces composites of a batch request by their leaves, which the store has columns for.
    ///
    /// A value for a leaf overrides the one of its composite. A leaf that a dictionary lacks becomes nil.
    ///
    /// - Throws: `CocoaError` 134070 for a composite's value that isn't a dictionary, and for a key that it does not have.
    func leaves(of properties: [String: Any]) throws -> [String: Any] {
        guard !entity.composites.isEmpty else { return properties }
        var leaves: [String: Any] = [:]
        for (path, value) in properties.sorted(by: { $0.key.utf8.count < $1.key.utf8.count }) {
            try collectLeaves(path, value, into: &leaves)
        }
        return leaves
    }

    private func collectLeaves(_ path: String, _ value: Any, into leaves: inout [String: Any]) throws {
        guard let names = entity.composites[path] else { return leaves[path] = value }
        var value = value
        if let expression = value as? PredicateKit.NSExpression, case .constant = expression.tree {
            value = expression.constantValue ?? NSNull()
        }
        let values: [String: Any]
        switch value {
        case is NSNull: values = [:]
        case let dictionary as [String: Any]: values = dictionary
        default:
            throw CocoaError(
                .persistentStoreOperation, sentence: "'\(name).\(path)' is a composite and cannot hold a \(type(of: value)).")
        }
        if let unknown = values.keys.sorted().first(where: { !names.contains($0) }) {
            throw CocoaError(
                .persistentStoreOperation, sentence: "The composite '\(name).\(path)' has no attribute '\(unknown)'.")
        }
        for member in names { try collectLeaves("\(path).\(member)", values[member] ?? NSNull(), into: &leaves) }
    }
}

/// A composite attribute on a predicate's path.
final class CompositeSubject: PredicateSubject {
    private let object: NSManagedObject
    private let path: String

    init(_ object: NSManagedObject, _ path: String) {
        self.object = object
        self.path = path
    }

    func predicateValue(forKey key: String) -> PredicateValue { object.predicateValue(forKey: "\(path).\(key)") }
}
