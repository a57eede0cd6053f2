// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore

/// Rows from one object that a block fills repeatedly.
final class ObjectRows: BatchRowSource {
    private let handler: (NSManagedObject) -> Bool
    private let object: NSManagedObject

    init(_ layout: EntityLayout, _ handler: @escaping (NSManagedObject) -> Bool) {
        self.handler = handler
        object = NSManagedObject.make(layout.description, insertedInto: nil)
    }

    /// - Throws: `CocoaError` 134030 for a transformable value that cannot be encoded.
    func next() throws -> ContiguousArray<StoredValue>? {
        object.beginAnew()
        if handler(object) { return nil }
        try object.layout.encodeTransformables(of: object.values)
        return object.values
    }

    var givenSlots: [Int] { object.changedSlots() }
}

/// Rows from dictionaries: a list, or one that a block fills repeatedly.
final class DictionaryRows: BatchRowSource {
    private let layout: EntityLayout
    private let nextDictionary: () -> [String: Any]?
    private(set) var givenSlots: [Int] = []

    init(_ layout: EntityLayout, _ dictionaries: [[String: Any]]) {
        self.layout = layout
        var remaining = dictionaries[...]
        nextDictionary = { remaining.popFirst() }
    }

    init(_ layout: EntityLayout, _ handler: @escaping (NSMutableDictionary) -> Bool) {
        self.layout = layout
        let dictionary = NSMutableDictionary()
        nextDictionary = {
            dictionary.removeAllObjects()
            if handler(dictionary) { return nil }
            var row: [String: Any] = [:]
            for case let (key as String, value) in dictionary { row[key] = value }
            return row
        }
    }

    /// - Throws: `CocoaError` 134070 for a key that isn't an attribute, or a value that the attribute cannot have; 134030
    ///   for a transformable value that cannot be encoded.
    func next() throws -> ContiguousArray<StoredValue>? {
        guard let row = nextDictionary() else { return nil }
        var values = layout.defaults
        givenSlots = []
        for (key, value) in try layout.leaves(of: row) {
            guard case .slot(let slot)? = layout.entity.location(of: key), case .attribute(let attribute) = layout.entity.slots[slot] else {
                throw CocoaError(
                    .persistentStoreOperation,
                    sentence: "A batch insert gives a value to '\(layout.name).\(key)', which isn't an attribute.")
            }
            guard let stored = AttributeCoding.stored(value, as: attribute.type) else {
                throw CocoaError(
                    .persistentStoreOperation,
                    sentence: "'\(layout.name).\(key)' is of type \(attribute.type) and cannot hold a \(type(of: value)).")
            }
            values[slot] = stored
            givenSlots.append(slot)
        }
        try layout.encodeTransformables(of: values)
        return values
    }
}

extension NSManagedObject {
    /// Resets an object without a context to its defaults, without changes.
    fileprivate final func beginAnew() {
        committed = nil
        values = layout.defaults
    }
}
