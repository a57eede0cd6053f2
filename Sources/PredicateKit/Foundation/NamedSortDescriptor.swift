// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// A descriptor created from a key, or from a key path of managed objects.
///
/// Foundation's class on Linux compares descriptors by address. An extension cannot override that, so the initializers of
/// `NSSortDescriptor` return an instance of this subclass.
final class NamedSortDescriptor: NSSortDescriptor {
    private let sortMethod: SortMethod

    init(_ method: SortMethod, _ ascending: Bool, _ comparator: @escaping Comparator) {
        sortMethod = method
        super.init(keyPath: method.keyPath, ascending: ascending, comparator: comparator)
    }

    override var reversedSortDescriptor: Any { NamedSortDescriptor(sortMethod, !ascending, comparator) }

    override func copy(with zone: NSZone? = nil) -> Any { self }
    override func copy() -> Any { self }

    override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NamedSortDescriptor, ascending == other.ascending, sortMethod.kind == other.sortMethod.kind else {
            return false
        }
        if sortMethod.property == other.sortMethod.property, sortMethod.key == other.sortMethod.key { return true }
        // A property and its name are the same key.
        return key != nil && key == other.key
    }

    override var hash: Int {
        var hasher = Hasher()
        hasher.combine(ascending)
        hasher.combine(key)
        return hasher.finalize()
    }

    override var description: String { "(\(key ?? "self"), \(ascending ? "ascending" : "descending"), \(selector?.name ?? ""))" }
}

/// Lets initializers in an extension return an instance of a subclass.
public protocol _SortDescriptorFactory {}

extension _SortDescriptorFactory {
    init(made descriptor: NSSortDescriptor) {
        guard let made = descriptor as? Self else { preconditionFailure("a key makes an NSSortDescriptor, not a \(Self.self)") }
        self = made
    }
}

extension NSSortDescriptor: _SortDescriptorFactory {}

/// Gives sort descriptors, which Foundation on Linux cannot archive, an initializer for coders.
public protocol _SortDescriptorCoding: NSSecureCoding {}

extension _SortDescriptorCoding {
    /// Returns true: sort descriptors archive securely.
    public static var supportsSecureCoding: Bool { true }

    /// Unarchives a sort descriptor.
    ///
    /// - Returns: nil for another archive.
    public init?(coder: NSCoder) {
        // Foundation's decoder fails for a missing value, so each is checked first.
        guard coder.containsValue(forKey: "ascending"), coder.containsValue(forKey: "selector"),
            let selector = coder.decodeObject(of: NSString.self, forKey: "selector") as String?,
            TextCollation.selectors.keys.contains(selector)
        else { return nil }
        let key = coder.containsValue(forKey: "key") ? coder.decodeObject(of: NSString.self, forKey: "key") as String? : nil
        let descriptor = NSSortDescriptor(key: key, ascending: coder.decodeBool(forKey: "ascending"), selector: Selector(selector))
        guard let made = descriptor as? Self else { return nil }
        self = made
    }

    /// Archives the descriptor's key, order and selector, not in Apple's layout.
    ///
    /// - Precondition: The descriptor has no comparator, and its key path has names.
    public func encode(with coder: NSCoder) {
        guard let descriptor = self as? NSSortDescriptor else { return }
        guard let selector = descriptor.selector, descriptor.method?.property == nil || descriptor.key != nil else {
            preconditionFailure("a sort descriptor with a comparator, or of a property without a name, cannot be archived")
        }
        coder.encode(descriptor.ascending, forKey: "ascending")
        coder.encode(selector.name as NSString, forKey: "selector")
        if let key = descriptor.key { coder.encode(key as NSString, forKey: "key") }
    }
}

extension NSSortDescriptor: @retroactive NSCoding, @retroactive NSSecureCoding, _SortDescriptorCoding {}
