// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Changes of an entity's lenses.

extension ModelDifference {
    /// A lens of one version, by names on the server, which all versions have in common.
    private struct NamedLens {
        let text: String
        let earlier: [String]
        let later: [String]
        /// The text between parts; nil for a conversion.
        let separator: String?
        /// Whether the entity itself declares it.
        let isOwn: Bool

        func isSame(as other: NamedLens) -> Bool { earlier == other.earlier && later == other.later && separator == other.separator }
    }

    /// The lenses of an entity and of its ancestors.
    private func lenses(of entity: Entity, in model: Model) -> [NamedLens] {
        chain(of: entity, in: model).flatMap { owner in
            let attributes = chain(of: owner, in: model).flatMap(\.attributes)
            func syncNames(_ names: [String]) -> [String] {
                names.map { name in attributes.first { $0.name == name }?.syncName ?? name }
            }
            return owner.lenses.map { lens in
                NamedLens(
                    text: lens.text, earlier: syncNames(lens.earlier), later: syncNames(lens.later),
                    separator: lens.earlier.count == 1 && lens.later.count == 1 ? nil : lens.separator, isOwn: owner.name == entity.name)
            }
        }
    }

    /// Names on the server of properties that an entity or an ancestor had in earlier versions.
    func retiredNames(of entity: Entity) -> Set<String> {
        chain(of: entity, in: new).reduce(into: []) { $0.formUnion($1.retiredNames) }
    }

    /// A version with a lens writes both forms of a value. Other versions that write the later form alone would seem to be earlier ones, as
    /// would those that translate in another way.
    func lensChanges(of entity: Entity, _ origin: Entity) -> [Change] {
        var changes: [Change] = []
        let before = lenses(of: origin, in: old), now = lenses(of: entity, in: new)
        let formerNames = Set(chain(of: origin, in: old).flatMap { $0.attributes.map(\.syncName) })
        var changedNames: Set<[String]> = []
        for lens in now where lens.isOwn && !before.contains(where: lens.isSame) {
            if let former = before.first(where: { $0.later == lens.later }) {
                changedNames.insert(lens.later)
                changes.append(Change(entity.name, "translates '\(lens.text)' in another way than '\(former.text)' before"))
                continue
            }
            let present = lens.later.filter(formerNames.contains)
            if present.isEmpty { continue }
            changes.append(
                Change(entity.name, "has a lens '\(lens.text)', whose \(present.joined(separator: ", ")) earlier versions have"))
        }
        for lens in before where lens.isOwn && !changedNames.contains(lens.later) && !now.contains(where: lens.isSame) {
            let isRetired = retiredNames(of: entity).isSuperset(of: lens.earlier)
            changes.append(Change(entity.name, "has no lens '\(lens.text)' any more", isAllowedWhenSynced: isRetired))
        }
        return changes
    }
}
