// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

/// The conversion of a transformable attribute's values into data, and back.
///
/// An app's transformer converts values into data; one that unarchives does so in reverse. Without a name, property-list
/// values and instances of the attribute's class are archived.
///
/// Source: developer.apple.com/documentation/coredata/nsattributedescription/valuetransformername
struct AttributeTransformer {
    private let attribute: Attribute
    private let transformer: ValueTransformer?

    init(_ attribute: Attribute) {
        self.attribute = attribute
        transformer = attribute.valueTransformerName.flatMap { name in
            name.isEmpty ? nil : TransformerRegistry.shared.transformer(NSValueTransformerName(name))
        }
    }

    func value(from data: Data) -> Any? {
        switch transformer {
        case let transformer as NSSecureUnarchiveFromDataTransformer: transformer.transformedValue(data)
        case let transformer?: transformer.reverseTransformedValue(data)
        case nil: NSSecureUnarchiveFromDataTransformer.value(from: data, allowing: classes)
        }
    }

    /// - Returns: nil for a value that cannot be encoded.
    func data(of value: Any) -> Data? {
        let result: Any? =
            switch transformer {
            case let transformer as NSSecureUnarchiveFromDataTransformer: transformer.reverseTransformedValue(value)
            case let transformer?: transformer.transformedValue(value)
            case nil: NSSecureUnarchiveFromDataTransformer.archive(value, allowing: classes)
            }
        return (result as? Data) ?? (result as? NSData).map { $0 as Data }
    }

    /// The reason why ``data(of:)`` returned nil.
    func refusal(of value: Any) -> String {
        if let name = attribute.valueTransformerName, !name.isEmpty, transformer == nil {
            return "names the value transformer '\(name)', which isn't registered"
        }
        let by = transformer.map { "\(type(of: $0))" } ?? "an archive with secure coding"
        return "holds a \(type(of: value)), which cannot be turned into data by \(by)"
    }

    private var classes: [AnyClass] {
        let plain = NSSecureUnarchiveFromDataTransformer.allowedTopLevelClasses
        guard let name = attribute.valueClassName, let own = NSClassFromString(name) ?? ManagedClassLookup.secureClass(named: name) else {
            return plain
        }
        return plain + [own]
    }
}

extension NSManagedObject {
    /// The value of a transformable attribute: the same object until the managed object becomes a fault.
    final func transformed(_ slot: Int) -> Any? {
        guard case .attribute(let attribute) = layout.entity.slots[slot] else { return nil }
        guard case .data(let data) = values[slot] else { return AttributeCoding.value(values[slot], of: attribute.type) }
        guard let value = AttributeTransformer(attribute).value(from: data) else { return nil }
        let boxed = StoredValue.object(BoxedValue(value, data: data))
        if let committed, committed[slot] == values[slot] { self.committed?[slot] = boxed }
        values[slot] = boxed
        return value
    }

    /// Encodes changed transformable attributes for the store.
    ///
    /// - Throws: `CocoaError` 134030 that names the attribute.
    final func encodeTransformables() throws {
        for slot in layout.transformableSlots {
            guard case .object(let box) = values[slot], isMarkedInserted || committed?[slot] != values[slot],
                case .attribute(let attribute) = layout.entity.slots[slot]
            else { continue }
            try layout.encode(box, of: attribute, userInfo: [NSAffectedObjectsErrorKey: [self]])
        }
    }
}

extension EntityLayout {
    /// Encodes the transformable values of a row that no object has.
    ///
    /// - Throws: `CocoaError` 134030 that names the attribute.
    func encodeTransformables(of values: ContiguousArray<StoredValue>) throws {
        for slot in transformableSlots {
            guard case .object(let box) = values[slot], case .attribute(let attribute) = entity.slots[slot] else { continue }
            try encode(box, of: attribute)
        }
    }

    /// Encodes a value for the store, which reads the data only.
    ///
    /// - Throws: `CocoaError` 134030 that names the attribute.
    func encode(_ box: BoxedValue, of attribute: Attribute, userInfo: [String: Any] = [:]) throws {
        let transformer = AttributeTransformer(attribute)
        guard let data = transformer.data(of: box.value) else {
            throw CocoaError(
                .persistentStoreSave, sentence: "\(name).\(attribute.name) \(transformer.refusal(of: box.value)).",
                userInfo: userInfo.merging([NSValidationKeyErrorKey: attribute.name]) { $1 })
        }
        box.data = data
    }
}
