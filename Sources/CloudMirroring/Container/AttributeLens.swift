// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import MirroringCore
import ObjectGraph

extension NSPersistentCloudKitContainerOptions {
    /// Attributes of earlier versions of an entity, and those that replaced them, with translations in code.
    ///
    /// The model has both. The app reads and writes the later ones; the earlier ones are for devices with earlier versions of the app. Lenses
    /// that split and join texts, or convert a value between types, are declared in the model: `syncLens` in the entity's user info.
    ///
    ///     options.attributeLenses = [
    ///         .init(
    ///             entityName: "Track", from: ["minutes"], to: ["seconds"],
    ///             upgrade: { values in [(values[0] as? Int).map { $0 * 60 }] },
    ///             downgrade: { values in [(values[0] as? Int).map { $0 / 60 }] })
    ///     ]
    ///
    /// All devices with later versions have to translate alike. The attributes are mirrored, neither encrypted nor transformable, not part of
    /// a uniqueness constraint, and part of one lens; a store with others is not loaded.
    public struct AttributeLens: Sendable {
        /// A translation of values, in the order of the attributes, as `value(forKey:)` returns them.
        ///
        /// - Returns: nil, or as many values as the other side has attributes. nil for values that have no other form: the later attributes
        ///   keep their values, and the earlier ones are empty on devices with earlier versions.
        public typealias Translation = @Sendable ([Any?]) -> [Any?]?

        let entityName: String
        let earlier: [String]
        let later: [String]
        let upgrade: Translation
        let downgrade: Translation

        /// Creates a lens.
        ///
        /// - Parameters:
        ///   - entityName: The entity that declares the attributes.
        ///   - earlier: Attributes of earlier versions.
        ///   - later: Attributes that replaced them.
        ///   - upgrade: Returns the later values. It is called on any thread inside a write transaction, and must not use the store.
        ///   - downgrade: Returns the earlier values, likewise.
        public init(
            entityName: String, from earlier: [String], to later: [String], upgrade: @escaping Translation, downgrade: @escaping Translation
        ) {
            self.entityName = entityName
            self.earlier = earlier
            self.later = later
            self.upgrade = upgrade
            self.downgrade = downgrade
        }
    }

    /// The lenses in terms of stored values.
    func lenses(in model: ResolvedModel) -> [Lens] { attributeLenses.map { $0.core(in: model) } }
}

extension NSPersistentCloudKitContainerOptions.AttributeLens {
    fileprivate func core(in model: ResolvedModel) -> Lens {
        let entity = model.entity(named: entityName)
        func attributes(_ names: [String]) -> [Attribute] {
            names.compactMap { name in
                guard let entity, case .slot(let slot)? = entity.location(of: name), case .attribute(let attribute) = entity.slots[slot]
                else { return nil }
                return attribute
            }
        }
        let (before, after) = (attributes(earlier), attributes(later))
        return Lens(
            entity: entityName, earlier: earlier, later: later, upgrade: Self.translation(from: before, to: after, by: upgrade),
            downgrade: Self.translation(from: after, to: before, by: downgrade))
    }

    /// A value of another type than the attribute's counts as no translation.
    private static func translation(
        from source: [Attribute], to target: [Attribute], by translate: @escaping Translation
    ) -> @Sendable ([StoredValue]) -> [StoredValue]? {
        { stored in
            guard let values = translate(zip(stored, source).map { AttributeCoding.value($0, of: $1) }), values.count == target.count else {
                return nil
            }
            let translated = zip(values, target).compactMap { AttributeCoding.stored($0, as: $1.type) }
            return translated.count == target.count ? translated : nil
        }
    }
}
