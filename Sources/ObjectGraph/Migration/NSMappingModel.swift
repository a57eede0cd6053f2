// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel
import PredicateKit

/// The conversion of objects between two versions of a model: one mapping per entity.
///
/// Mapping models are created in code, or inferred. Differs: `.xcmappingmodel` files cannot be read, since their format
/// is not public.
///
/// Source: developer.apple.com/documentation/coredata/nsmappingmodel
open class NSMappingModel: NSObject {
    /// The mappings, in order of execution.
    open var entityMappings: [NSEntityMapping]! = []
    /// The inferred mappings; used to detect later changes, without which a store may migrate by SQL.
    var inferred: [NSEntityMapping]?

    public override init() { super.init() }

    /// Returns nil: mapping model files cannot be read.
    public init?(from bundles: [Bundle]?, forSourceModel sourceModel: NSManagedObjectModel?, destinationModel: NSManagedObjectModel?) {
        nil
    }

    /// Returns nil: the format of mapping model files is not public.
    public init?(contentsOf url: URL?) { nil }

    /// The mappings by name.
    open var entityMappingsByName: [String: NSEntityMapping] {
        Dictionary(keepingFirst: (entityMappings ?? []).map { ($0.name ?? "", $0) })
    }

    /// Infers a mapping model from two models, their names and renaming identifiers.
    ///
    /// Names of the mappings begin with `IEM_`, as Apple's do.
    ///
    /// - Throws: `CocoaError` 134190 that names the entity and property without an inferable mapping.
    open class func inferredMappingModel(
        forSourceModel sourceModel: NSManagedObjectModel, destinationModel: NSManagedObjectModel
    ) throws -> NSMappingModel {
        let (old, new) = (sourceModel.value, destinationModel.value)
        let difference = ModelDifference(from: old, to: new)
        let obstacles = difference.changes.filter { $0.obstacle != nil }
        if let first = obstacles.first {
            throw CocoaError(
                .inferredMappingModel,
                sentence:
                    "How to migrate cannot be inferred: \(first.subject) \(first.summary), and \(first.obstacle ?? ""); make a mapping model in code.",
                userInfo: CocoaError.userInfo(obstacles))
        }
        let (before, after) = (try resolved(old), try resolved(new))
        let (sources, destinations) = (sourceModel.entitiesByName, destinationModel.entitiesByName)
        let model = NSMappingModel()
        var mappedNames: Set<String> = []
        for entity in after.entities {
            let mapping = NSEntityMapping()
            mapping.destinationEntityName = entity.name
            mapping.destinationEntityVersionHash = destinations[entity.name]?.versionHash
            if let origin = difference.origin(of: entity.name), let source = before.entity(named: origin.name) {
                mappedNames.insert(origin.name)
                mapping.sourceEntityName = origin.name
                mapping.sourceEntityVersionHash = sources[origin.name]?.versionHash
                let isSame = mapping.sourceEntityVersionHash == mapping.destinationEntityVersionHash
                mapping.mappingType = isSame ? .copyEntityMappingType : .transformEntityMappingType
                mapping.name = "IEM_\(isSame ? "Copy" : "Transform")_\(entity.name)"
                fill(mapping, entity, source)
            } else {
                mapping.mappingType = .addEntityMappingType
                mapping.name = "IEM_Add_\(entity.name)"
                mapping.attributeMappings = []
                mapping.relationshipMappings = []
            }
            model.entityMappings.append(mapping)
        }
        for entity in before.entities where !mappedNames.contains(entity.name) {
            let mapping = NSEntityMapping()
            mapping.mappingType = .removeEntityMappingType
            mapping.name = "IEM_Remove_\(entity.name)"
            mapping.sourceEntityName = entity.name
            mapping.sourceEntityVersionHash = sources[entity.name]?.versionHash
            model.entityMappings.append(mapping)
        }
        model.inferred = model.entityMappings
        return model
    }

    private static func resolved(_ model: Model) throws -> ResolvedModel {
        do { return try ResolvedModel(model) } catch {
            throw CocoaError(.persistentStoreIncompatibleSchema, sentence: "The model cannot be used: \(error.description).")
        }
    }

    private static func fill(_ mapping: NSEntityMapping, _ entity: ResolvedEntity, _ source: ResolvedEntity) {
        let origins = PropertyOrigins(of: entity, in: source)
        func name(_ place: PropertyLocation) -> String {
            switch place {
            case .slot(let index): source.slots[index].name
            case .toMany(let index): source.toMany[index].name
            }
        }
        var (attributes, relationships): ([NSPropertyMapping], [NSPropertyMapping]) = ([], [])
        func add(_ property: String, _ place: PropertyLocation?, isRelationship: Bool) {
            let mapping = NSPropertyMapping()
            mapping.name = property
            if let sourceName = place.map(name) {
                let value = PredicateKit.NSExpression(
                    forFunction: "valueForKeyPath:",
                    arguments: [PredicateKit.NSExpression(forVariable: "source"), PredicateKit.NSExpression(forKeyPath: sourceName)])
                mapping.valueExpression =
                    isRelationship
                    ? PredicateKit.NSExpression(
                        forFunction: PredicateKit.NSExpression(forVariable: NSMigrationManagerKey),
                        selectorName: "destinationInstancesForSourceRelationshipNamed:sourceInstances:",
                        arguments: [PredicateKit.NSExpression(forConstantValue: sourceName), value]) : value
            }
            if isRelationship { relationships.append(mapping) } else { attributes.append(mapping) }
        }
        for (index, slot) in entity.slots.enumerated() {
            switch slot {
            case .attribute(let attribute):
                if attribute.derivationExpression != nil { continue }
                var place = origins.slots[index]
                // A transient attribute of another type has no value to copy.
                if case .slot(let formerSlot)? = place, case .attribute(let former) = source.slots[formerSlot],
                    !former.type.becomes(attribute.type)
                {
                    place = nil
                }
                add(slot.name, place, isRelationship: false)
            case .toOne: add(slot.name, origins.slots[index], isRelationship: true)
            }
        }
        for (index, relationship) in entity.toMany.enumerated() { add(relationship.name, origins.toMany[index], isRelationship: true) }
        mapping.attributeMappings = attributes
        mapping.relationshipMappings = relationships
    }

    /// Whether the mapping is exactly the inferred one.
    var isInferred: Bool {
        guard let inferred, let entityMappings, inferred.count == entityMappings.count else { return false }
        return zip(inferred, entityMappings).allSatisfy {
            $0 === $1 && $1.entityMigrationPolicyClassName == nil && $1.sourceExpression == nil
        }
    }
}
