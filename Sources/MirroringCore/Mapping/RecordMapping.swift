// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
package import ManagedModel

/// How the entities of a model, or of one of its configurations, become record types and fields.
///
/// Transient and derived attributes and the many side of a one-to-many relationship have no field: the first
/// are computed, the last is the inverse of the other side's field.
///
/// Immutable, and a class, since each step of an import and an export holds it: a copy counts one reference.
///
/// Source: *Reading CloudKit Records for Core Data*.
package final class RecordMapping: Sendable {
    package let model: ResolvedModel
    package let entities: EntityMappings
    package let links: [LinkKind: LinkMapping]
    /// By index of the entity, and by index into its `toMany`: names of a link kind are too long to be made at each lookup.
    private let linksOfEntities: [[LinkMapping?]]
    /// By the record types of root entities.
    private let roots: RootEntities
    /// By the names that entities have on the server.
    private let entitiesByName: [String: Int]
    /// By index of the entity, and by the name that a to-many relationship has on the server.
    private let toManyByName: [[String: Int]]
    package let hasEncryptedFields: Bool
    /// What of the model goes beyond Apple's rules; the server has to offer it.
    package let extensions: ModelExtensions
    /// Decides on an attribute that two devices changed; nil leaves it to the attribute's policy.
    package let resolver: (@Sendable (AttributeConflict) -> MergeResolution?)?

    /// - Parameters:
    ///   - configuration: nil for all entities. An unknown configuration maps nothing.
    ///   - allowed: Extensions beyond Apple's rules that the app permits.
    ///   - lenses: Those of the app's code; the model declares others.
    ///   - resolver: The app's decisions on conflicts.
    package init(
        model: ResolvedModel, configuration: String? = nil, allowing allowed: ModelExtensions = [], lenses: [Lens] = [],
        resolver: (@Sendable (AttributeConflict) -> MergeResolution?)? = nil
    ) {
        self.model = model
        self.resolver = resolver
        let extensions = allowed.used(by: model, configuration: configuration)
        self.extensions = extensions
        let included = model.entities(inConfiguration: configuration) ?? []
        var entities: [Int: EntityMapping] = [:]
        var links: [LinkKind: LinkMapping] = [:]
        for entity in included {
            let mapping = EntityMapping(entity: entity, in: model, extensions, lenses: lenses)
            for case let link? in mapping.entity.toMany.indices.map({ Self.link(of: entity, at: $0, in: model, extensions) }) {
                links[link.kind] = link
            }
            entities[entity.index] = mapping
        }
        self.entities = EntityMappings(entities, count: model.entities.count)
        self.links = links
        linksOfEntities = model.entities.map { entity in
            entity.toMany.indices.map { Self.link(of: entity, at: $0, in: model, extensions).flatMap { links[$0.kind] } }
        }
        hasEncryptedFields = entities.values.contains(where: \.hasEncryptedFields)
        roots = RootEntities(included.map { (MirrorNames.recordType(forRoot: model.entities[$0.root].syncName), $0.root) })
        // An entity outside of the configuration may have the name of one inside, whose records these are.
        entitiesByName = Dictionary((included + model.entities).map { ($0.syncName, $0.index) }, uniquingKeysWith: { first, _ in first })
        toManyByName = model.entities.map { entity in
            Dictionary(
                entity.toMany.enumerated().map { ($0.element.declaration.syncName, $0.offset) }, uniquingKeysWith: { first, _ in first })
        }
    }

    /// Returns the name of an entity in records and in sync metadata.
    package func syncName(ofEntity index: Int) -> String { entities[index]?.name ?? model.entities[index].syncName }

    /// Returns the entity of a name in records or in sync metadata; nil if the model lacks it.
    package func entity(syncName name: String) -> ResolvedEntity? { entitiesByName[name].map { model.entities[$0] } }

    /// Returns the index into an entity's `toMany` of a relationship's name in a record; nil if the model lacks it.
    func toMany(syncName name: String, of entity: Int) -> Int? { toManyByName[entity][name] }

    /// - Returns: The concrete entity of a record, or nil for a record of a type or entity that this model lacks.
    package func entity(of record: Record) -> EntityMapping? {
        guard let root = roots[record.recordType] else { return nil }
        var index = root
        if case .string(let name)? = record.fields[MirrorNames.entityNameField]?.value, name != syncName(ofEntity: root) {
            guard let named = entitiesByName[name], model.entities[named].root == root else { return nil }
            index = named
        }
        guard let mapping = entities[index], !mapping.entity.isAbstract else { return nil }
        return mapping
    }

    /// - Returns: How a to-many relationship of an entity is mirrored by records of its own; nil for one-to-many.
    package func link(entity: Int, toMany index: Int) -> LinkMapping? {
        linksOfEntities[entity][index]
    }

    /// Changes when the model gains, loses or retypes something that is mirrored. Records that were imported under
    /// another fingerprint may hold what this model understands and that one did not: they are to be fetched again.
    package var fingerprint: String {
        var lines: [String] = []
        for mapping in entities.values {
            lines.append(mapping.name)
            lines += mapping.lenses.map { "lens \($0.text)" }
            for property in mapping.properties {
                var type = "→"
                if case .attribute(let attribute) = property.kind {
                    type = "\(attribute.type.rawValue)\(property.isEncrypted ? " sealed" : "")"
                }
                lines.append("\(mapping.name).\(property.name) \(type)")
            }
        }
        lines += links.keys.map { "\($0.entityNames) \($0.relationships)" }
        return ContentDigest([UInt8](lines.sorted().joined(separator: "\n").utf8)).text
    }

    /// The properties that objects require, by names on the server. A record that another model withheld may be complete for this one.
    package var requirements: String {
        entities.values.flatMap { entity in entity.required.map { "\(entity.name).\($0.name)" } }.sorted().joined(separator: "\n")
    }

    private static func link(of entity: ResolvedEntity, at index: Int, in model: ResolvedModel, _ extensions: ModelExtensions)
        -> LinkMapping?
    {
        let relationship = entity.toMany[index]
        guard relationship.shape == .manyToMany, !relationship.declaration.isTransient,
            let inverseOwner = relationship.inverseDeclaringEntity, case .toMany(let inverseIndex)? = relationship.inverse
        else { return nil }
        let keepsOrder = extensions.contains(.orderedRelationships)
        let near = LinkMapping.Side(
            entity: relationship.declaringEntity, entityName: model.entities[relationship.declaringEntity].syncName,
            relationship: index, relationshipName: relationship.declaration.syncName,
            isOrdered: keepsOrder && relationship.declaration.isOrdered)
        let far = LinkMapping.Side(
            entity: inverseOwner, entityName: model.entities[inverseOwner].syncName, relationship: inverseIndex,
            relationshipName: model.entities[inverseOwner].toMany[inverseIndex].declaration.syncName,
            isOrdered: keepsOrder && model.entities[inverseOwner].toMany[inverseIndex].declaration.isOrdered)
        return LinkMapping(near, far)
    }
}

/// The root entities, by record type. To compare a few types takes less time than to hash one.
private struct RootEntities: Sendable {
    private static let comparedMax = 8

    private var few: [(type: String, root: Int)] = []
    private let byType: [String: Int]

    init(_ entities: [(type: String, root: Int)]) {
        byType = Dictionary(entities, uniquingKeysWith: { first, _ in first })
        if byType.count <= Self.comparedMax { few = byType.map { ($0.key, $0.value) } }
    }

    subscript(type: String) -> Int? {
        if few.isEmpty { return byType[type] }
        for entity in few where entity.type == type { return entity.root }
        return nil
    }
}

/// The mapped entities, by index.
package struct EntityMappings: Sendable {
    private let mappings: [EntityMapping?]

    /// - Parameter count: The number of entities of the model.
    fileprivate init(_ mappings: [Int: EntityMapping], count: Int) { self.mappings = (0..<count).map { mappings[$0] } }

    /// nil for an entity that is not mapped.
    package subscript(index: Int) -> EntityMapping? { mappings.indices.contains(index) ? mappings[index] : nil }

    package var values: [EntityMapping] { mappings.compactMap { $0 } }
}

/// How one entity's objects become records.
package final class EntityMapping: Sendable {
    package let entity: ResolvedEntity
    /// The name in records and in sync metadata: the first one of a renamed entity.
    package let name: String
    package let recordType: String
    /// In the order of slots, then ranks, then superseded records.
    package let properties: [PropertyMapping]
    /// The ``properties`` with positions in other objects' lists.
    package let ranks: [PropertyMapping]
    /// The required ``properties``: an object without them is withheld.
    let required: [PropertyMapping]
    let oneToOneSides: [OneToOneSide]
    /// Constraints whose values make objects the same thing: those of the root entity first.
    let uniqueKeys: [UniqueKey]
    /// Fields that this model understands, among them those of assets.
    let knownFields: KnownNames
    package let hasEncryptedFields: Bool
    /// The entity's own lenses, and those of its ancestors.
    package let lenses: [LensMapping]
    /// Slots of attributes that devices with earlier versions have instead of others.
    let earlierSlots: Set<Int>

    init(entity: ResolvedEntity, in model: ResolvedModel, _ extensions: ModelExtensions, lenses: [Lens]) {
        self.entity = entity
        name = entity.syncName
        recordType = MirrorNames.recordType(forRoot: model.entities[entity.root].syncName)
        properties = PropertyMapping.all(of: entity, in: model, extensions)
        ranks = properties.filter(\.isRank)
        required = extensions.contains(.requiredValues) ? properties.filter(\.isRequired) : []
        oneToOneSides = properties.compactMap { OneToOneSide($0, in: model) }
        uniqueKeys = extensions.contains(.uniquenessConstraints) ? UniqueKey.all(of: entity) : []
        hasEncryptedFields = properties.contains(where: \.isEncrypted)
        self.lenses = Lens.all(of: entity, in: model, lenses).compactMap { [name, properties] in LensMapping($0, of: name, properties) }
        earlierSlots = Set(self.lenses.flatMap { $0.earlier.map(\.slot) })
        knownFields = KnownNames(
            [MirrorNames.entityNameField] + properties.flatMap { [$0.fieldName, $0.assetFieldName].compactMap(\.self) })
    }

    func property(named name: String) -> PropertyMapping? { properties.first { $0.name == name } }

    /// Returns the encrypted properties that a request sets or clears.
    func encryptedProperties(in fields: [String: Field], uploads: [ExportBatch.Upload]) -> [PropertyMapping] {
        guard hasEncryptedFields else { return [] }
        let uploaded = Set(uploads.map(\.field))
        return properties.filter { property in
            guard property.isEncrypted else { return false }
            if fields[property.fieldName] != nil { return true }
            guard let asset = property.assetFieldName else { return false }
            return fields[asset] != nil || uploaded.contains(asset)
        }
    }
}

/// How one attribute or to-one relationship becomes a field. A class, since each field of each record goes by one: handing it on
/// counts one reference.
package final class PropertyMapping: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        case attribute(Attribute)
        /// A string: the record name of the target. Both sides of a one-to-one relationship have one.
        case toOne(ResolvedRelationship)
        /// A string: where the object stands in the ordered inverse of a to-one relationship. No slot of the row holds it;
        /// ``slot`` is the relationship's.
        case rank(ResolvedRelationship)
        /// A string: names of superseded records. The row has no slot for it.
        case merged
    }

    /// ``Kind`` without the model's declarations, each copy of which counts the references of all their texts.
    enum Form: Hashable, Sendable {
        case attribute(AttributeType)
        case toOne
        /// - Parameter relationship: The to-one relationship's name in sync metadata.
        case rank(relationship: String)
        case merged
    }

    package let slot: Int
    /// The name in records and in sync metadata: the first one of a renamed property.
    package let name: String
    package let kind: Kind
    let form: Form
    /// The value of a property without a field in the record.
    ///
    /// Nil is absent on the wire, so an optional property is cleared by absence, and only one that cannot be
    /// nil takes its default value.
    let absentValue: StoredValue
    package let fieldName: String
    /// Where a value goes that is too long for ``fieldName``.
    package let assetFieldName: String?
    package let isEncrypted: Bool

    package static func == (one: PropertyMapping, other: PropertyMapping) -> Bool {
        one === other
            || one.slot == other.slot && one.name == other.name && one.kind == other.kind && one.fieldName == other.fieldName
                && one.assetFieldName == other.assetFieldName && one.isEncrypted == other.isEncrypted
    }

    package func hash(into hasher: inout Hasher) { hasher.combine(fieldName) }

    init?(slot index: Int, _ slot: Slot) {
        self.slot = index
        name = slot.syncName
        fieldName = MirrorNames.field(for: name)
        switch slot {
        case .attribute(let attribute):
            guard attribute.isMirrored else { return nil }
            kind = .attribute(attribute)
            form = .attribute(attribute.type)
            absentValue = attribute.isOptional ? .null : attribute.defaultValue
            assetFieldName = attribute.type.canBeAsset ? MirrorNames.assetField(for: name) : nil
            isEncrypted = attribute.allowsCloudEncryption
        case .toOne(let relationship):
            guard !relationship.declaration.isTransient else { return nil }
            kind = .toOne(relationship)
            form = .toOne
            absentValue = .null
            assetFieldName = nil
            isEncrypted = false
        }
    }

    fileprivate init() {
        slot = 0
        name = MirrorNames.mergedProperty
        kind = .merged
        form = .merged
        absentValue = .null
        fieldName = MirrorNames.merged
        assetFieldName = nil
        isEncrypted = false
    }

    fileprivate init?(rankIn toOne: PropertyMapping, _ model: ResolvedModel) {
        guard case .toOne(let relationship) = toOne.kind, case .toMany(let index)? = relationship.inverse,
            model.entities[relationship.destination].toMany[index].declaration.isOrdered
        else { return nil }
        slot = toOne.slot
        name = toOne.name + MirrorNames.rankSuffix
        kind = .rank(relationship)
        form = .rank(relationship: toOne.name)
        absentValue = .null
        fieldName = MirrorNames.rankField(for: toOne.name)
        assetFieldName = nil
        isEncrypted = false
    }
}

extension PropertyMapping {
    /// Everything about an entity that has a field.
    static func all(of entity: ResolvedEntity, in model: ResolvedModel, _ extensions: ModelExtensions) -> [PropertyMapping] {
        let slots = entity.slots.enumerated().compactMap { PropertyMapping(slot: $0, $1) }
        let ranks = extensions.contains(.orderedRelationships) ? slots.compactMap { PropertyMapping(rankIn: $0, model) } : []
        return slots + ranks + (extensions.contains(.uniquenessConstraints) && !entity.uniqueness.isEmpty ? [.merged] : [])
    }

    private static let merged = PropertyMapping()

    fileprivate var isRequired: Bool {
        switch kind {
        case .attribute(let attribute): attribute.isRequired
        case .toOne(let relationship): relationship.declaration.isRequired
        case .rank, .merged: false
        }
    }

    package var isRank: Bool { if case .rank = form { true } else { false } }

    /// The property's name in the model.
    package var modelName: String {
        switch kind {
        case .attribute(let attribute): attribute.name
        case .toOne(let relationship): relationship.name
        case .rank, .merged: name
        }
    }

    /// Whether it is metadata without a slot in the row, which the conflict log does not keep.
    package var isOwn: Bool {
        switch form {
        case .rank, .merged: true
        case .attribute, .toOne: false
        }
    }
}

extension Attribute {
    /// Whether the attribute has a field on the server, or would have one if its type allowed it.
    var isPersisted: Bool { !isTransient && derivationExpression == nil }
    var isMirrored: Bool { isPersisted && type.cloudType != nil }
}
