// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import SQLiteStore

/// An object with unsaved changes and a row that was changed concurrently.
///
/// Snapshots hold attributes and the IDs of to-one destinations. There are two kinds. If another context of the same
/// coordinator saved, ``cachedSnapshot`` holds its values. If another process or coordinator wrote the file,
/// ``cachedSnapshot`` holds the values read here and ``persistedSnapshot`` the current ones.
///
/// Differs: the kind is known for the coordinator's last saves only; older ones count as another process's.
///
/// Source: developer.apple.com/documentation/coredata/nsmergeconflict
open class NSMergeConflict: NSObject {
    /// The object with unsaved changes.
    open private(set) var sourceObject: NSManagedObject
    /// The base of the object's changes: its values when it was fetched or saved.
    open private(set) var objectSnapshot: [String: Any]?
    /// The values of the coordinator: those another context saved, or those read before another process wrote.
    open private(set) var cachedSnapshot: [String: Any]?
    /// The current values in the store, if another process wrote them.
    open private(set) var persistedSnapshot: [String: Any]?
    /// The version of the store's row; 0 if the row was deleted.
    open private(set) var newVersionNumber: Int
    /// The version of the row that the object's changes are based on.
    open private(set) var oldVersionNumber: Int
    /// The store's current row; nil if it was deleted.
    let persisted: Row?

    /// Creates a conflict, for merge policies and their tests.
    public init(
        source srcObject: NSManagedObject, newVersion newvers: Int, oldVersion oldvers: Int, cachedSnapshot cachesnap: [String: Any]?,
        persistedSnapshot persnap: [String: Any]?
    ) {
        sourceObject = srcObject
        objectSnapshot = srcObject.baseSnapshot
        cachedSnapshot = cachesnap
        persistedSnapshot = persnap
        newVersionNumber = newvers
        oldVersionNumber = oldvers
        persisted = (persnap ?? cachesnap).flatMap { newvers == 0 ? nil : srcObject.row(of: $0, version: Int64(newvers)) }
    }

    /// - Parameter isOurs: Whether a context of the same coordinator wrote the store's row.
    init(_ object: NSManagedObject, _ conflict: RowConflict, isOurs: Bool) {
        sourceObject = object
        objectSnapshot = object.baseSnapshot
        let now = conflict.persisted.map { object.snapshot(of: $0.values) }
        cachedSnapshot = isOurs ? now : object.baseSnapshot
        persistedSnapshot = isOurs ? nil : now
        newVersionNumber = Int(conflict.persisted?.version ?? 0)
        oldVersionNumber = Int(conflict.expectedVersion)
        persisted = conflict.persisted
    }

    open override var description: String {
        let version = newVersionNumber == 0 ? "<deleted>" : "\(newVersionNumber)"
        return "<NSMergeConflict: \(sourceObject.objectID) with oldVersion = \(oldVersionNumber) and newVersion = \(version)>"
    }
}

extension NSManagedObject {
    fileprivate final var baseSnapshot: [String: Any] { snapshot(of: committed ?? values) }

    /// Attributes and the IDs of to-one destinations, by name.
    final func snapshot(of row: ContiguousArray<StoredValue>) -> [String: Any] {
        var result: [String: Any] = [:]
        for (index, slot) in layout.entity.slots.enumerated() {
            switch slot {
            case .attribute(let attribute): result[attribute.name] = AttributeCoding.value(row[index], of: attribute) ?? NSNull()
            case .toOne(let relationship):
                let id = row[index].reference.flatMap { contextReference?.object(for: $0).objectID }
                result[relationship.name] = id ?? NSNull()
            }
        }
        return result
    }

    /// The row described by a snapshot. Properties missing in the snapshot keep their base values.
    fileprivate final func row(of snapshot: [String: Any], version: Int64) -> Row {
        var row = committed ?? values
        for (index, slot) in layout.entity.slots.enumerated() {
            guard let value = snapshot[slot.name] else { continue }
            switch slot {
            case .attribute(let attribute): row[index] = AttributeCoding.stored(value, as: attribute.type) ?? .null
            case .toOne: row[index] = (value as? NSManagedObjectID).map { .reference($0.key) } ?? .null
            }
        }
        return Row(key: key, version: version, values: row)
    }
}
