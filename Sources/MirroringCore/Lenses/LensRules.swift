// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

/// Whether the lenses of a model can be applied.
enum LensRules {
    /// - Parameter lenses: Those of the app's code.
    static func violations(of entity: ResolvedEntity, in model: ResolvedModel, _ lenses: [Lens]) -> [CloudModelRules.Violation] {
        func violation(_ what: String) -> CloudModelRules.Violation {
            CloudModelRules.Violation(entity: entity.name, property: nil, what: what)
        }
        var pairs = lenses.filter { $0.entity == entity.name }.map { ($0.earlier, $0.later) }
        if let declared = entity.declaration.userInfo[SyncKeys.lens] {
            guard let declarations = LensDeclaration.parse(declared) else {
                return [violation("has a \(SyncKeys.lens) of another form than 'earlier -> later', with one attribute on one side")]
            }
            for declaration in declarations where declaration.lens(of: entity.declaration, types: entity.attributeTypes) == nil {
                return [violation("has a lens that its attributes do not fit: \(declaration.text); only texts are split and joined")]
            }
            pairs += declarations.map { ($0.earlier, $0.later) }
        }
        // An inherited attribute may be part of an inherited lens.
        let inherited = model.entities.filter { $0.index != entity.index && $0.hierarchy.contains(entity.index) }.flatMap { owner in
            owner.declaration.lenses.flatMap { $0.earlier + $0.later }
                + lenses.filter { $0.entity == owner.name }.flatMap { $0.earlier + $0.later }
        }
        var seen = Set(inherited)
        var violations: [CloudModelRules.Violation] = []
        for name in pairs.flatMap({ $0.0 + $0.1 }) {
            if let what = obstacle(name, of: entity, isRepeated: !seen.insert(name).inserted) {
                violations.append(violation("has a lens of \(name), which \(what)"))
            }
        }
        return violations
    }

    /// Returns the lenses of the app's code whose entities the model lacks.
    static func violations(of lenses: [Lens], in model: ResolvedModel) -> [CloudModelRules.Violation] {
        lenses.filter { model.entity(named: $0.entity) == nil }.map {
            CloudModelRules.Violation(
                entity: $0.entity, property: nil,
                what: "has a lens in code, \(LensDeclaration.text(from: $0.earlier, to: $0.later)), and the model has no such entity")
        }
    }

    private static func obstacle(_ name: String, of entity: ResolvedEntity, isRepeated: Bool) -> String? {
        guard case .slot(let slot)? = entity.location(of: name), case .attribute(let attribute) = entity.slots[slot], attribute.isMirrored
        else {
            return "isn't a mirrored attribute"
        }
        if attribute.type == .transformable { return "is transformable" }
        if isRepeated { return "is part of another lens" }
        // The translation would need the key of a value that may not have arrived.
        if attribute.allowsCloudEncryption { return "is encrypted" }
        if entity.uniqueness.contains(where: { $0.slots.contains(slot) }) { return "is part of a uniqueness constraint" }
        if attribute.isRequired { return "is required" }
        return nil
    }
}
