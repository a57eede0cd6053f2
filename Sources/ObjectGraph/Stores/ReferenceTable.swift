// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import Synchronization

/// The numbers of a custom store's reference objects: row keys are numbers everywhere else.
final class ReferenceTable: Sendable {
    private struct Name: Hashable {
        let entity: Int
        let value: AnyHashable
    }

    private struct State: @unchecked Sendable {
        // Unchecked: reference objects are values: texts, numbers, UUIDs.
        var numbers: [Name: Int64] = [:]
        var objects: [Int64: Any] = [:]
        var hasTexts = false
        var last: Int64 = 0
    }

    private let state = Mutex(State())

    /// Returns the number of a reference object, the same each time.
    func number(of reference: Any, entity: Int) -> Int64 {
        let name = Name(entity: entity, value: Self.normal(reference))
        let box = Unchecked(reference)
        return state.withLock { state in
            if let number = state.numbers[name] { return number }
            state.last += 1
            state.numbers[name] = state.last
            state.objects[state.last] = box.value
            if name.value.base is String { state.hasTexts = true }
            return state.last
        }
    }

    /// Returns the ID of a reference object.
    ///
    /// - Precondition: The entity is one of the store's coordinator.
    func objectID(of reference: Any, _ entity: NSEntityDescription, in store: NSPersistentStore) -> NSManagedObjectID {
        guard let layout = store.persistentStoreCoordinator?.layout(named: entity.name ?? "") else {
            preconditionFailure("entity '\(entity.name ?? "")' is not one of the store's coordinator")
        }
        let key = RowKey(store: store.number, entity: layout.index, primaryKey: number(of: reference, entity: layout.index))
        return NSManagedObjectID(key: key, layout: layout, store: store)
    }

    /// Returns the reference object of an ID.
    ///
    /// - Precondition: This table made the ID; `method` names the store's method for it in the message otherwise.
    func referenceObject(for objectID: NSManagedObjectID, madeBy method: String) -> Any {
        guard let reference = object(objectID.key.primaryKey) else {
            preconditionFailure("\(objectID) was not made by this store's \(method)")
        }
        return reference
    }

    func object(_ number: Int64) -> Any? { state.withLock { Unchecked($0.objects[number]) }.value }

    /// Returns the text of a reference object that follows the `p` in a URI.
    func text(_ number: Int64) -> String {
        let text = object(number).map { "\(Self.normal($0).base)" } ?? "\(number)"
        return text.addingPercentEncoding(withAllowedCharacters: .urlPathAllowed.subtracting(CharacterSet(charactersIn: "/"))) ?? text
    }

    /// Returns the number for a URI's text. Digits mean a number, unless the store's reference objects are texts.
    func number(ofText text: String, entity: Int) -> Int64 {
        let text = text.removingPercentEncoding ?? text
        let hasTexts = state.withLock { $0.hasTexts }
        if !hasTexts, let value = Int64(text) { return number(of: NSNumber(value: value), entity: entity) }
        if !hasTexts, let value = UUID(uuidString: text) {
            let number = state.withLock { $0.numbers[Name(entity: entity, value: AnyHashable(value))] }
            if let number { return number }
        }
        return number(of: text, entity: entity)
    }

    /// Returns the same value for Foundation's and Swift's representation.
    private static func normal(_ reference: Any) -> AnyHashable {
        switch reference {
        case let value as String: AnyHashable(value)
        case let value as NSString: AnyHashable(value as String)
        case let value as UUID: AnyHashable(value)
        case let value as NSUUID: AnyHashable(value as UUID)
        case let value as any BinaryInteger: AnyHashable(Int64(truncatingIfNeeded: value))
        case let value as NSNumber: AnyHashable(value.int64Value)
        case let value as NSURL: AnyHashable(value.absoluteString)
        case let value as URL: AnyHashable(value.absoluteString)
        case let value as AnyHashable: value
        default: preconditionFailure("a reference object is a text, a number or a UUID, not a \(type(of: reference))")
        }
    }
}
