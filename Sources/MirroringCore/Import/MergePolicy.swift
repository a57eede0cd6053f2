// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import ManagedModel

/// Resolves an attribute that two devices changed concurrently: the value of `syncPolicy` in the attribute's user info.
///
/// A change of one device alone is adopted with any policy.
package enum MergePolicy: String, Hashable, Sendable, CaseIterable {
    /// The value that reaches the server last.
    case latest
    /// The value that reached the server first.
    case earliest
    case max
    case min
    /// Both increments are added.
    case counter
    /// A text of lines: the union of both additions, without both removals.
    case setUnion = "set-union"

    /// The key in the user info.
    package static let userInfoKey = "syncPolicy"

    /// Whether the policy can be applied to values of a type.
    func fits(_ type: AttributeType) -> Bool {
        switch (self, type) {
        case (.latest, _), (.earliest, _): true
        case (.max, .date), (.min, .date), (.max, .string), (.min, .string), (.setUnion, .string): true
        case (.max, _), (.min, _), (.counter, _):
            [.integer16, .integer32, .integer64, .double, .float, .decimal].contains(type)
        case (.setUnion, _): false
        }
    }
}

/// One attribute with its merge base and both new values.
package struct AttributeConflict: Sendable {
    package let entity: String
    package let attribute: Attribute
    package let ancestor: StoredValue
    package let here: StoredValue
    package let elsewhere: StoredValue
    /// Whether this device's value is a forwarded edit from the object's source zone: it was sent before the other value.
    package var isHereEarlier = false

    package init(entity: String, attribute: Attribute, ancestor: StoredValue, here: StoredValue, elsewhere: StoredValue) {
        self.entity = entity
        self.attribute = attribute
        self.ancestor = ancestor
        self.here = here
        self.elsewhere = elsewhere
    }
}

package enum MergeResolution: Sendable {
    /// This device's value, which reaches the server later.
    case here
    case elsewhere
    /// A value made of both.
    ///
    /// - Parameter keepsAll: Whether neither value is lost in it.
    case merged(StoredValue, keepsAll: Bool)
}

extension AttributeConflict {
    /// The resolution by the attribute's policy, ``MergePolicy/latest`` without one.
    package var byPolicy: MergeResolution {
        switch attribute.userInfo[MergePolicy.userInfoKey].flatMap(MergePolicy.init(rawValue:)) {
        case nil, .latest: isHereEarlier ? .elsewhere : .here
        case .earliest: isHereEarlier ? .here : .elsewhere
        case .max: Self.isLess(here, elsewhere) ? .elsewhere : .here
        case .min: Self.isLess(elsewhere, here) && !elsewhere.isNull || here.isNull ? .elsewhere : .here
        case .counter: sum.map { .merged($0, keepsAll: true) } ?? .here
        case .setUnion: .merged(union, keepsAll: true)
        }
    }

    /// nil is less than any value.
    private static func isLess(_ one: StoredValue, _ other: StoredValue) -> Bool {
        switch (one, other) {
        case (.null, .null): false
        case (.null, _): true
        case (.int(let one), .int(let other)): one < other
        case (.double(let one), .double(let other)): one < other
        case (.decimal(let one), .decimal(let other)): one < other
        case (.date(let one), .date(let other)): one < other
        // By code points, which every device orders alike.
        case (.string(let one), .string(let other)): one.unicodeScalars.lexicographicallyPrecedes(other.unicodeScalars)
        default: false
        }
    }

    /// nil for a number that its type cannot hold.
    private var sum: StoredValue? {
        switch (ancestor, here, elsewhere) {
        case (.int(let base), .int(let here), .int(let elsewhere)):
            let added = here.subtractingReportingOverflow(base)
            let (sum, overflows) = elsewhere.addingReportingOverflow(added.partialValue)
            let range: ClosedRange<Int64> =
                switch attribute.type {
                case .integer16: Int64(Int16.min)...Int64(Int16.max)
                case .integer32: Int64(Int32.min)...Int64(Int32.max)
                default: Int64.min...Int64.max
                }
            return added.overflow || overflows || !range.contains(sum) ? nil : .int(sum)
        case (.double(let base), .double(let here), .double(let elsewhere)):
            let sum = elsewhere + (here - base)
            return sum.isFinite ? .double(sum) : nil
        case (.decimal(let base), .decimal(let here), .decimal(let elsewhere)): return .decimal(elsewhere + (here - base))
        case (.null, _, _):
            // Both began to count at nothing.
            let zero: StoredValue =
                switch here {
                case .double: .double(0)
                case .decimal: .decimal(0)
                default: .int(0)
                }
            return AttributeConflict(entity: entity, attribute: attribute, ancestor: zero, here: here, elsewhere: elsewhere).sumFromSomething
        default: return nil
        }
    }

    private var sumFromSomething: StoredValue? { ancestor.isNull || here.isNull || elsewhere.isNull ? nil : sum }

    private var union: StoredValue {
        func lines(_ value: StoredValue) -> [Substring] {
            guard case .string(let text) = value else { return [] }
            return text.split(separator: "\n")
        }
        let base = Set(lines(ancestor)), here = lines(here)
        let removed = base.subtracting(here)
        var result = lines(elsewhere).filter { !removed.contains($0) }
        let known = Set(result)
        result += here.filter { !base.contains($0) && !known.contains($0) }
        return result.isEmpty ? .null : .string(result.joined(separator: "\n"))
    }
}
