// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// Two forms of the same values: attributes of earlier versions of an entity, and those of later ones that replaced them.
///
/// A later version of the model has both. Its app reads and writes the later ones; the earlier ones are for devices with earlier versions.
/// The lens translates where rows become records and records become rows: see `EntityMapping.upgraded(_:)` and
/// `EntityMapping.downgraded(_:since:)`.
package struct Lens: Sendable {
    package typealias Translation = @Sendable ([StoredValue]) -> [StoredValue]?

    /// The entity's name in the model.
    package let entity: String
    /// Names of attributes in the model.
    package let earlier: [String]
    package let later: [String]
    /// Values of the later attributes, from those of the earlier ones; nil for values that have no later form.
    let upgrade: Translation
    /// Values of the earlier attributes; nil for values that have no earlier form.
    let downgrade: Translation

    package init(entity: String, earlier: [String], later: [String], upgrade: @escaping Translation, downgrade: @escaping Translation) {
        self.entity = entity
        self.earlier = earlier
        self.later = later
        // A translation of an app may return too few values, or too many.
        self.upgrade = { values in upgrade(values).flatMap { $0.count == later.count ? $0 : nil } }
        self.downgrade = { values in downgrade(values).flatMap { $0.count == earlier.count ? $0 : nil } }
    }
}

extension LensDeclaration {
    /// Returns the lens of an entity; nil for attributes that the entity lacks, or types that have no translation.
    func lens(of entity: Entity, types: [String: AttributeType]) -> Lens? {
        let from = earlier.compactMap { types[$0] }, to = later.compactMap { types[$0] }
        guard from.count == earlier.count, to.count == later.count else { return nil }
        let separator = separator
        func make(_ upgrade: @escaping Lens.Translation, _ downgrade: @escaping Lens.Translation) -> Lens {
            Lens(entity: entity.name, earlier: earlier, later: later, upgrade: upgrade, downgrade: downgrade)
        }
        if from.count == 1, to.count == 1 {
            let (from, to) = (from[0], to[0])
            guard from.converts(to: to) else { return nil }
            return make(
                { values in values[0].converted(from: from, to: to).map { [$0] } },
                { values in values[0].converted(from: to, to: from).map { [$0] } })
        }
        guard (from + to).allSatisfy({ $0 == .string }) else { return nil }
        let count = max(from.count, to.count)
        let split: Lens.Translation = { TextParts.split($0[0], into: count, at: separator) }
        let join: Lens.Translation = { [TextParts.join($0, with: separator)] }
        return from.count == 1 ? make(split, join) : make(join, split)
    }
}

extension Lens {
    /// Returns the lenses of an entity: those that it and its ancestors declare, and those of the app's code.
    static func all(of entity: ResolvedEntity, in model: ResolvedModel, _ lenses: [Lens]) -> [Lens] {
        let chain = model.entities.filter { $0.hierarchy.contains(entity.index) }
        let names = Set(chain.map(\.name)), types = entity.attributeTypes
        let declared = chain.flatMap { owner in
            owner.declaration.lenses.compactMap { $0.lens(of: owner.declaration, types: types) }
        }
        return declared + lenses.filter { names.contains($0.entity) }
    }
}

extension ResolvedEntity {
    /// By name. Leaves of composite attributes have paths, which are no names of a lens.
    var attributeTypes: [String: AttributeType] {
        var types: [String: AttributeType] = [:]
        for case .attribute(let attribute) in slots { types[attribute.name] = attribute.type }
        return types
    }
}

/// Texts that are parts of another text.
enum TextParts {
    /// The last part has all that follows the one before it. Empty parts are nil.
    static func split(_ value: StoredValue, into count: Int, at separator: String) -> [StoredValue] {
        var parts: [StoredValue] = []
        var rest = if case .string(let text) = value { text[...] } else { ""[...] }
        while parts.count < count - 1, let range = rest.firstRange(of: separator) {
            parts.append(text(rest[..<range.lowerBound]))
            rest = rest[range.upperBound...]
        }
        parts.append(text(rest))
        return parts + Array(repeating: .null, count: count - parts.count)
    }

    /// nil without any part.
    static func join(_ values: [StoredValue], with separator: String) -> StoredValue {
        let parts = values.compactMap { value -> String? in if case .string(let text) = value, !text.isEmpty { text } else { nil } }
        return parts.isEmpty ? .null : .string(parts.joined(separator: separator))
    }

    private static func text(_ part: Substring) -> StoredValue { part.isEmpty ? .null : .string(String(part)) }
}
