// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore

/// Finds the property names of a Swift key path.
///
/// On Linux a key path has no names. It is evaluated on a probe instead: an object of the class without a context, with
/// accessors that record each read.
final class KeyPathProbe {
    private static let current = ThreadValue<KeyPathProbe>()

    private var names: [String] = []
    private var attribute: Attribute?
    /// The probe that the next name must be read from: a key path that reads two attributes of one object is not a path.
    private var expected: ObjectIdentifier?
    private var isPath = true

    /// - Parameter layouts: The layouts of the model in use.
    /// - Returns: nil unless the key path consists of attributes and to-one relationships of managed objects.
    static func name(of keyPath: AnyKeyPath, layouts: [EntityLayout]) -> String? {
        let type = type(of: keyPath)
        guard let root = type.rootType as? NSManagedObject.Type,
            let layout = layouts.first(where: { $0.managedClass == root }) ?? layouts.first(where: { isKind($0.managedClass, of: root) })
        else { return nil }
        return name(of: keyPath, through: layout, as: root)
    }

    /// - Parameters:
    ///   - layout: The layout of the class's entity, or ``UnknownEntity/layout``.
    private static func name(of keyPath: AnyKeyPath, through layout: EntityLayout, as root: NSManagedObject.Type) -> String? {
        let type = type(of: keyPath)
        let probe = KeyPathProbe()
        current.with(probe) { _ = (probe.object(layout, as: root) as Any)[keyPath: keyPath] }
        guard probe.isPath, !probe.names.isEmpty, probe.attribute.map({ $0.accepts(type.valueType) }) ?? true else { return nil }
        return probe.names.joined(separator: ".")
    }

    /// Returns the names in the model of the key path's class, or without a model: the accessors have the names.
    static func name(of keyPath: AnyKeyPath) -> String? {
        guard let root = type(of: keyPath).rootType as? NSManagedObject.Type else { return nil }
        if layout(of: root) != nil { return nameInLoadedModel(of: keyPath) }
        return UnknownEntity.layout.flatMap { name(of: keyPath, through: $0, as: root) }
    }

    /// Returns the name in a loaded model only: its attribute types tell stored properties from computed ones.
    static func nameInLoadedModel(of keyPath: AnyKeyPath) -> String? {
        guard let root = type(of: keyPath).rootType as? NSManagedObject.Type,
            let layouts = try? layout(of: root)?.model?.freeze().layouts
        else { return nil }
        return name(of: keyPath, layouts: layouts)
    }

    /// - Returns: nil when no loaded model has an entity of the class.
    static func layout(of type: NSManagedObject.Type) -> EntityLayout? { ManagedClassEntities.entity(for: type)?.layout }

    /// Returns the properties that a key path of an object reads, each as a path of names.
    ///
    /// - Returns: One path for a property or a path through relationships; the paths of all properties that a computed
    ///   one reads.
    static func paths(read keyPath: AnyKeyPath, of object: NSManagedObject) -> [[String]] {
        // The object may have outlived its model.
        guard let layout = object.layout.model == nil ? UnknownEntity.layout : object.layout else { return [] }
        let probe = KeyPathProbe()
        current.with(probe) { _ = (probe.object(layout, as: type(of: object)) as Any)[keyPath: keyPath] }
        let reads = probe.reads
        return reads.enumerated().filter { index, path in
            !reads[..<index].contains(path) && !reads.contains { $0.count > path.count && $0.starts(with: path) }
        }.map(\.element)
    }

    /// Called by the accessors of a probe.
    static func recordRead(_ name: String, of object: NSManagedObject) { current.value?.recordRead(name, of: object) }

    /// Returns the destination of a probe's to-one relationship: another probe.
    ///
    /// - Parameter type: The accessor's type, for an entity without a model.
    static func destination(_ name: String, of object: NSManagedObject, as type: NSManagedObject.Type? = nil) -> NSManagedObject? {
        guard let probe = current.value else { return nil }
        probe.recordRead(name, of: object)
        if object.layout === UnknownEntity.layout { return type.map { probe.next(object, name, object.layout, as: $0) } }
        guard case .slot(let slot)? = object.layout.entity.location(of: name),
            case .toOne(let relationship) = object.layout.entity.slots[slot],
            let layouts = try? object.layout.model?.freeze().layouts
        else { return nil }
        let destination = layouts[relationship.destination]
        return probe.next(object, name, destination, as: destination.managedClass)
    }

    private func next(_ object: NSManagedObject, _ name: String, _ layout: EntityLayout, as type: NSManagedObject.Type) -> NSManagedObject {
        let next = self.object(layout, as: type)
        ways[ObjectIdentifier(next)] = (ways[ObjectIdentifier(object)] ?? []) + [name]
        return next
    }

    private func object(_ layout: EntityLayout, as type: NSManagedObject.Type) -> NSManagedObject {
        let object = type.makeProbe(layout)
        expected = ObjectIdentifier(object)
        retainedProbes.append(object)
        return object
    }

    /// Retained, so that no two probes share an address.
    private var retainedProbes: [NSManagedObject] = []

    /// Reads so far, each as a path from the root.
    private var reads: [[String]] = []
    /// The path to each probe other than the root.
    private var ways: [ObjectIdentifier: [String]] = [:]

    private func recordRead(_ name: String, of object: NSManagedObject) {
        reads.append((ways[ObjectIdentifier(object)] ?? []) + [name])
        if expected != ObjectIdentifier(object) { isPath = false }
        expected = nil
        names.append(name)
        attribute = nil
        if case .slot(let slot)? = object.layout.entity.location(of: name), case .attribute(let read) = object.layout.entity.slots[slot] {
            attribute = read
        }
    }
}

/// The entity of a probe with a class that no loaded model names. It has no properties: accessors of a probe do not look
/// them up.
private enum UnknownEntity {
    static let layout: EntityLayout? = {
        let entity = NSEntityDescription()
        entity.name = "Unknown"
        model.entities = [entity]
        return (try? model.freeze())?.layouts.first
    }()

    /// Never deallocated: layouts reference it weakly.
    private static let model = NSManagedObjectModel()
}

extension NSManagedObject: KeyPathNaming {
    package static func name(of keyPath: AnyKeyPath) -> String? { KeyPathProbe.name(of: keyPath) }
}

private func isKind(_ type: AnyClass, of ancestor: AnyClass) -> Bool {
    var current: AnyClass? = type
    while let type = current {
        if type == ancestor { return true }
        current = _getSuperclass(type)
    }
    return false
}

extension Attribute {
    /// Whether the attribute's value can have a Swift type directly, without computation.
    fileprivate func accepts(_ swiftType: Any.Type) -> Bool {
        let type = (swiftType as? any OptionalType.Type)?.wrapped ?? swiftType
        let accepted: [Any.Type] =
            switch self.type {
            case .integer16, .integer32, .integer64: [Int16.self, Int32.self, Int64.self, Int.self, NSNumber.self]
            case .boolean: [Bool.self, NSNumber.self]
            case .double, .float: [Double.self, Float.self, NSNumber.self]
            case .decimal: [NSDecimalNumber.self, Decimal.self]
            case .string: [String.self, NSString.self]
            case .date: [Date.self, NSDate.self]
            case .binaryData: [Data.self, NSData.self]
            case .uuid: [UUID.self, NSUUID.self]
            case .uri: [URL.self, NSURL.self]
            case .undefined, .transformable, .objectID, .composite: []
            }
        return accepted.contains { $0 == type }
    }
}

private protocol OptionalType { static var wrapped: Any.Type { get } }

extension Optional: OptionalType {
    fileprivate static var wrapped: Any.Type { Wrapped.self }
}
