// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import Synchronization

/// The name that a value transformer is registered by.
public struct NSValueTransformerName: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }
    public init(_ rawValue: String) { self.rawValue = rawValue }

    public static let negateBooleanTransformerName = NSValueTransformerName("NSNegateBoolean")
    public static let isNilTransformerName = NSValueTransformerName("NSIsNil")
    public static let isNotNilTransformerName = NSValueTransformerName("NSIsNotNil")
    public static let secureUnarchiveFromDataTransformerName = NSValueTransformerName("NSSecureUnarchiveFromData")
}

/// Turns values of one kind into another, and back where that is possible. Foundation on Linux has none.
///
/// Source: developer.apple.com/documentation/foundation/valuetransformer
open class ValueTransformer: NSObject, RegisteredTransformer {
    public override init() { super.init() }

    // Subclasses override `init()` without `required`, as on Apple's platforms. A convenience initialiser delegates
    // through the vtable, so this one makes a transformer from the name of its class.
    @_silgen_name("tarn_value_transformer_init")
    convenience init(ofKnownClass: Void) { self.init() }

    @_silgen_name("tarn_value_transformer_init")
    fileprivate static func dynamicInit(_ nothing: Void) -> ValueTransformer

    /// The class of what ``transformedValue(_:)`` gives.
    open class func transformedValueClass() -> AnyClass { NSObject.self }
    open class func allowsReverseTransformation() -> Bool { true }
    open func transformedValue(_ value: Any?) -> Any? { value }

    /// - Precondition: The class allows the reverse transformation.
    open func reverseTransformedValue(_ value: Any?) -> Any? {
        precondition(Self.allowsReverseTransformation(), "\(type(of: self)) has no reverse transformation")
        return transformedValue(value)
    }

    open class func setValueTransformer(_ transformer: ValueTransformer?, forName name: NSValueTransformerName) {
        TransformerRegistry.shared.set(transformer, name)
    }

    open class func valueTransformerNames() -> [NSValueTransformerName] { TransformerRegistry.shared.names }
}

/// Lets `ValueTransformer(forName:)` give the transformer that was registered, rather than a new one.
public protocol RegisteredTransformer {}

extension RegisteredTransformer where Self: ValueTransformer {
    /// The transformer that was registered by a name, else a new one of the class that has that name.
    public init?(forName name: NSValueTransformerName) {
        guard let known = TransformerRegistry.shared.transformer(name) as? Self else { return nil }
        self = known
    }
}

final class TransformerRegistry: Sendable {
    private struct Entry: @unchecked Sendable {
        // Unchecked: transformers are used from any thread, as Apple's are.
        let transformer: ValueTransformer
    }

    static let shared = TransformerRegistry()
    private let entries = Mutex<[NSValueTransformerName: Entry]>([
        .negateBooleanTransformerName: Entry(transformer: PlainTransformer { value in !((value as? Bool) ?? false) }),
        .isNilTransformerName: Entry(transformer: PlainTransformer { $0 == nil }),
        .isNotNilTransformerName: Entry(transformer: PlainTransformer { $0 != nil }),
        .secureUnarchiveFromDataTransformerName: Entry(transformer: NSSecureUnarchiveFromDataTransformer()),
    ])

    var names: [NSValueTransformerName] { entries.withLock { $0.keys.sorted { $0.rawValue < $1.rawValue } } }

    func set(_ transformer: ValueTransformer?, _ name: NSValueTransformerName) {
        entries.withLock { $0[name] = transformer.map(Entry.init) }
    }

    func transformer(_ name: NSValueTransformerName) -> ValueTransformer? {
        if let known = entries.withLock({ $0[name] }) { return known.transformer }
        guard let type = ManagedClassLookup.transformer(named: name.rawValue) else { return nil }
        let made = Entry(transformer: type.dynamicInit(()))
        return entries.withLock { entries in
            entries[name] = entries[name] ?? made
            return entries[name]?.transformer
        }
    }
}

private final class PlainTransformer: ValueTransformer {
    private let body: (Any?) -> Any?

    init(_ body: @escaping (Any?) -> Any?) {
        self.body = body
        super.init()
    }

    override func transformedValue(_ value: Any?) -> Any? { body(value) }
}
