// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import Synchronization

/// The registered name of a value transformer.
public struct NSValueTransformerName: RawRepresentable, Hashable, Sendable {
    /// The name as text.
    public let rawValue: String
    /// Creates a name from its text.
    public init(rawValue: String) { self.rawValue = rawValue }
    /// Creates a name from its text.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// Negates a Boolean.
    public static let negateBooleanTransformerName = NSValueTransformerName("NSNegateBoolean")
    /// Whether a value is nil.
    public static let isNilTransformerName = NSValueTransformerName("NSIsNil")
    /// Whether a value isn't nil.
    public static let isNotNilTransformerName = NSValueTransformerName("NSIsNotNil")
    /// Archives values with secure coding.
    public static let secureUnarchiveFromDataTransformerName = NSValueTransformerName("NSSecureUnarchiveFromData")
}

/// Converts values of one kind into another, and back if possible. Foundation on Linux has no such class.
///
/// Source: developer.apple.com/documentation/foundation/valuetransformer
open class ValueTransformer: NSObject, RegisteredTransformer {
    public override init() { super.init() }

    // Subclasses override `init()` without `required`, as on Apple's platforms. A convenience initializer delegates
    // through the vtable, so this one creates a transformer from the name of its class.
    @_silgen_name("tarn_value_transformer_init")
    convenience init(ofKnownClass: Void) { self.init() }

    @_silgen_name("tarn_value_transformer_init")
    fileprivate static func dynamicInit(_ nothing: Void) -> ValueTransformer

    /// The class of the results of ``transformedValue(_:)``.
    open class func transformedValueClass() -> AnyClass { NSObject.self }
    /// Whether ``reverseTransformedValue(_:)`` can be called.
    open class func allowsReverseTransformation() -> Bool { true }
    /// Converts a value. This class returns it unchanged.
    open func transformedValue(_ value: Any?) -> Any? { value }

    /// Converts a value back.
    ///
    /// - Precondition: The class allows the reverse transformation.
    open func reverseTransformedValue(_ value: Any?) -> Any? {
        precondition(Self.allowsReverseTransformation(), "\(type(of: self)) has no reverse transformation")
        return transformedValue(value)
    }

    /// Registers a transformer; nil removes the registration.
    open class func setValueTransformer(_ transformer: ValueTransformer?, forName name: NSValueTransformerName) {
        TransformerRegistry.shared.set(transformer, name)
    }

    /// The names of the registered transformers.
    open class func valueTransformerNames() -> [NSValueTransformerName] { TransformerRegistry.shared.names }
}

/// Lets `ValueTransformer(forName:)` return the registered transformer, not a new one.
public protocol RegisteredTransformer {}

extension RegisteredTransformer where Self: ValueTransformer {
    /// Returns the registered transformer of a name, else a new one of the class with that name.
    ///
    /// - Returns: nil if neither exists.
    public init?(forName name: NSValueTransformerName) {
        guard let transformer = TransformerRegistry.shared.transformer(name) as? Self else { return nil }
        self = transformer
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
        if let entry = entries.withLock({ $0[name] }) { return entry.transformer }
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
