// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore

/// Finds the properties that a Swift key path goes through.
///
/// On Linux a key path does not tell its names. So it is evaluated on a probe: an object of the class, in no context,
/// whose accessors tell what is read.
final class KeyPathProbe {
    private static let current = ThreadValue<KeyPathProbe>()

    private var names: [String] = []
    private var attribute: Attribute?
    /// The probe that the next name is to be read from: a property that reads two attributes is no path.
    private var expected: ObjectIdentifier?
    private var isPath = true

    /// - Parameter layouts: Of the model in use.
    /// - Returns: nil when the key path is not one of attributes and to-one relationships of managed objects.
    static func name(of keyPath: AnyKeyPath, layouts: [EntityLayout]) -> String? {
        let type = type(of: keyPath)
        guard let root = type.rootType as? NSManagedObject.Type,
            let layout = layouts.first(where: { $0.managedClass == root }) ?? layouts.first(where: { isKind($0.managedClass, of: root) })
        else { return nil }
        return name(of: keyPath, through: layout, as: root)
    }

    /// - Parameters:
    ///   - layout: Of the class's entity, or ``UnknownEntity/layout``.
    private static func name(of keyPath: AnyKeyPath, through layout: EntityLayout, as root: NSManagedObject.Type) -> String? {
        let type = type(of: keyPath)
        let probe = KeyPathProbe()
        current.with(probe) { _ = (probe.object(layout, as: root) as Any)[keyPath: keyPath] }
        guard probe.isPath, !probe.names.isEmpty, probe.attribute.map({ $0.accepts(type.valueType) }) ?? true else { return nil }
        return probe.names.joined(separator: ".")
    }

    /// The same for the model in which the key path's class is, or for no model at all: the names are in the accessors.
    static func name(of keyPath: AnyKeyPath) -> String? {
        guard let root = type(of: keyPath).rootType as? NSManagedObject.Type else { return nil }
        if layout(of: root) != nil { return nameInLoadedModel(of: keyPath) }
        return UnknownEntity.layout.flatMap { name(of: keyPath, through: $0, as: root) }
    }

    /// The same for a loaded model only, whose attribute types tell a property from one that is computed from it.
    static func nameInLoadedModel(of keyPath: AnyKeyPath) -> String? {
        guard let root = type(of: keyPath).rootType as? NSManagedObject.Type,
            let layouts = try? layout(of: root)?.model?.freeze().layouts
        else { return nil }
        return name(of: keyPath, layouts: layouts)
    }

    /// - Returns: nil when no loaded model has an entity of the class.
    static func layout(of type: NSManagedObject.Type) -> EntityLayout? { ManagedClassEntities.entity(for: type)?.layout }

    /// The properties that a key path of an object reads, each as the names that lead to it.
    ///
    /// - Returns: One path for a property, or a way through relationships; those of all properties that a computed one reads.
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
    static func note(_ name: String, of object: NSManagedObject) { current.value?.note(name, of: object) }

    /// What the probe's to-one relationship leads to: another probe.
    ///
    /// - Parameter type: The class that the accessor promises, for an entity that no model describes.
    static func destination(_ name: String, of object: NSManagedObject, as type: NSManagedObject.Type? = nil) -> NSManagedObject? {
        guard let probe = current.value else { return nil }
        probe.note(name, of: object)
        if object.layout === UnknownEntity.layout { return type.map { probe.next(object, name, object.layout, as: $0) } }
        guard case .slot(let slot)? = object.layout.entity.location(of: name), case .toOne(let relationship) = object.layout.entity.slots[slot],
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
        held.append(object)
        return object
    }

    /// Kept, so that no two probes have one address.
    private var held: [NSManagedObject] = []

    /// What was read so far, each from the root on.
    private var reads: [[String]] = []
    /// How each probe was reached, but the root.
    private var ways: [ObjectIdentifier: [String]] = [:]

    private func note(_ name: String, of object: NSManagedObject) {
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

/// The entity of a probe whose class no loaded model mentions. It has no properties: accessors of a probe don't ask for them.
private enum UnknownEntity {
    static let layout: EntityLayout? = {
        let entity = NSEntityDescription()
        entity.name = "Unknown"
        model.entities = [entity]
        return (try? model.freeze())?.layouts.first
    }()

    /// Held for the process: layouts refer to it weakly.
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
    /// Whether a property of a Swift type can be this attribute itself, and not something made from it.
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
