// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
package import ManagedModel
public import PredicateKit

/// An entity: a name, a class, and properties.
///
/// It is mutable until its model is used; changing it later traps.
///
/// Source: developer.apple.com/documentation/coredata/nsentitydescription
open class NSEntityDescription: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // Unchecked: constant once the model is used, as NSManagedObjectModel guarantees.
    /// The entity's name.
    open var name: String? { willSet { preconditionIsMutable() } }
    /// The class of the entity's objects, `NSManagedObject` by default; may be written `Module.Class`.
    open var managedObjectClassName: String! = "NSManagedObject" { willSet { preconditionIsMutable() } }
    /// Whether the entity has no objects of its own, only those of subentities.
    open var isAbstract = false { willSet { preconditionIsMutable() } }
    /// Values that the app attaches to the entity.
    open var userInfo: [AnyHashable: Any]? = [:] { willSet { preconditionIsMutable() } }
    /// Changes the version hash of an entity that is otherwise unchanged.
    open var versionHashModifier: String? { willSet { preconditionIsMutable() } }
    /// The name of the entity in the first version of the model; its own name by default.
    open var renamingIdentifier: String? {
        get { explicitRenamingIdentifier ?? name }
        set {
            preconditionIsMutable()
            explicitRenamingIdentifier = newValue
        }
    }
    /// Lists of attributes with values that must be unique together: accepts names or descriptions, returns names.
    open var uniquenessConstraints: [[Any]] {
        get { constraints }
        set {
            preconditionIsMutable()
            constraints = newValue.map { constraint in
                constraint.compactMap { ($0 as? NSPropertyDescription)?.name ?? $0 as? String }
            }
        }
    }
    /// The parent entity; nil for a root entity.
    open internal(set) var superentity: NSEntityDescription? {
        get { superentityLink?.object }
        set { superentityLink = newValue?.backlink }
    }
    private var superentityLink: Backlink<NSEntityDescription>?
    /// A weak reference to the entity for its subentities and properties.
    let backlink = Backlink<NSEntityDescription>()

    public override init() {
        super.init()
        backlink.setTarget(self)
    }

    deinit { backlink.clear() }

    weak var managedObjectModelReference: NSManagedObjectModel?
    private var explicitRenamingIdentifier: String?
    private var constraints: [[String]] = []
    private(set) var ownProperties: [NSPropertyDescription] = []
    private var storedSubentities: [NSEntityDescription] = []
    private var storedIndexes: [NSFetchIndexDescription] = []
    /// Values without API (code generation) stay as in the model file.
    private var declared = Entity(name: "")

    /// The model of the entity.
    open var managedObjectModel: NSManagedObjectModel {
        guard let managedObjectModelReference else {
            preconditionFailure("entity '\(name ?? "")' is not part of a model")
        }
        return managedObjectModelReference
    }

    /// The child entities. Setting it drops the indexes of the entities added and removed.
    open var subentities: [NSEntityDescription] {
        get { storedSubentities }
        set {
            preconditionIsMutable()
            for entity in storedSubentities { entity.superentity = nil }
            storedSubentities = newValue
            for entity in newValue { entity.superentity = self }
        }
    }

    /// The child entities by name.
    open var subentitiesByName: [String: NSEntityDescription] {
        Dictionary(storedSubentities.compactMap { entity in entity.name.map { ($0, entity) } }, uniquingKeysWith: { $1 })
    }

    /// The properties, inherited ones first. Setting replaces the entity's own; inherited ones in the list stay the
    /// parent's.
    open var properties: [NSPropertyDescription] {
        get { (superentity?.properties ?? []) + ownProperties }
        set {
            preconditionIsMutable()
            let inherited = superentity?.properties ?? []
            ownProperties = newValue.filter { property in !inherited.contains { $0 === property } }
            for property in ownProperties { property.entity = self }
        }
    }

    /// The properties by name, including inherited ones.
    open var propertiesByName: [String: NSPropertyDescription] {
        Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
    }

    /// The attributes by name, including inherited ones.
    open var attributesByName: [String: NSAttributeDescription] {
        propertiesByName.compactMapValues { $0 as? NSAttributeDescription }
    }

    /// The relationships by name, including inherited ones.
    open var relationshipsByName: [String: NSRelationshipDescription] {
        propertiesByName.compactMapValues { $0 as? NSRelationshipDescription }
    }

    /// Returns the relationships with a destination entity.
    open func relationships(forDestination entity: NSEntityDescription) -> [NSRelationshipDescription] {
        properties.compactMap { $0 as? NSRelationshipDescription }.filter { $0.destinationEntity === entity }
    }

    /// Indexes of this entity in a SQLite store.
    open var indexes: [NSFetchIndexDescription] {
        get { storedIndexes }
        set {
            preconditionIsMutable()
            storedIndexes = newValue
            for index in newValue { index.entity = self }
        }
    }

    /// An object's name in a search index. Stored without effect: Linux has no such index.
    open var coreSpotlightDisplayNameExpression: PredicateKit.NSExpression {
        get {
            let format = declared.spotlightDisplayNameExpression
            let tree = format.flatMap { try? PredicateKit.Expression(format: $0) }
            return tree.map { PredicateKit.NSExpression(tree: $0) } ?? PredicateKit.NSExpression(forConstantValue: nil)
        }
        set {
            preconditionIsMutable()
            declared.spotlightDisplayNameExpression = newValue.description
        }
    }

    /// Without effect since Apple deprecated it.
    @available(*, deprecated, message: "use indexes")
    open var compoundIndexes: [[Any]] {
        get { storedCompoundIndexes }
        set { storedCompoundIndexes = newValue }
    }
    private var storedCompoundIndexes: [[Any]] = []

    /// Whether this entity is the other one or a direct or indirect subentity of it.
    open func isKindOf(entity: NSEntityDescription) -> Bool {
        self === entity || (superentity?.isKindOf(entity: entity) ?? false)
    }

    /// Returns the entity of a name in the model of a context; nil if it does not exist.
    open class func entity(forEntityName name: String, in context: NSManagedObjectContext) -> NSEntityDescription? {
        context.persistentStoreCoordinator?.managedObjectModel.entitiesByName[name]
    }

    /// Inserts a new object.
    ///
    /// - Precondition: The context's model has an entity of that name that isn't abstract.
    open class func insertNewObject(forEntityName name: String, into context: NSManagedObjectContext) -> NSManagedObject {
        guard let entity = entity(forEntityName: name, in: context) else {
            preconditionFailure("the context's model has no entity named '\(name)'")
        }
        return NSManagedObject.make(entity, insertedInto: context)
    }

    /// The memory layout of the entity's objects. Set when the model is frozen, cleared when it is deallocated.
    ///
    /// Strong, though the layout references the entity: a weak reference would slow down each object.
    @exclusivity(unchecked) package internal(set) final var layout: EntityLayout?

    func preconditionIsMutable() { managedObjectModelReference?.preconditionIsMutable() }

    // MARK: Version

    /// A hash over everything that decides compatibility with a store of another version: name, parent, abstractness,
    /// properties, uniqueness constraints, modifier.
    ///
    /// Differs: the bytes are not Apple's: that encoding is not public.
    open var versionHash: Data { versionHash(of: ownProperties.filter { !$0.isTransient }, superentity?.versionHash) }

    /// The version hash of earlier releases: it includes transient properties, which no store has.
    var earlierVersionHash: Data { versionHash(of: ownProperties, superentity?.earlierVersionHash) }

    /// Whether the entity or one above it has transient properties. Without them, the hash of earlier releases is the same.
    var hasTransientProperties: Bool { ownProperties.contains(where: \.isTransient) || superentity?.hasTransientProperties == true }

    private func versionHash(of properties: [NSPropertyDescription], _ parent: Data?) -> Data {
        let own = ["entity", name ?? "", parent?.base64EncodedString() ?? "", isAbstract ? "abstract" : ""]
        let hashed = properties.sorted { $0.name < $1.name }.map { $0.versionHash.base64EncodedString() }
        let unique = constraints.map { $0.sorted().joined(separator: ",") }.sorted()
        return VersionHash.bytes(of: own + hashed + unique + [versionHashModifier ?? ""])
    }

    // MARK: Values

    package var value: Entity {
        var entity = declared
        entity.name = name ?? ""
        entity.superentity = superentity?.name
        entity.isAbstract = isAbstract
        entity.attributes = ownProperties.compactMap { property in
            (property as? NSCompositeAttributeDescription)?.value(owner: name ?? "") ?? (property as? NSAttributeDescription)?.value
        }
        entity.relationships = ownProperties.compactMap { ($0 as? NSRelationshipDescription)?.value }
        entity.fetchedProperties = ownProperties.compactMap { ($0 as? NSFetchedPropertyDescription)?.value }
        entity.indexes = storedIndexes.map(\.value)
        let className = (managedObjectClassName ?? "NSManagedObject").split(separator: ".", maxSplits: 1)
        entity.className = className.last.map(String.init) ?? "NSManagedObject"
        entity.classModule = className.count == 2 ? String(className[0]) : nil
        entity.userInfo = strings(of: userInfo)
        entity.renamingIdentifier = explicitRenamingIdentifier
        entity.versionHashModifier = versionHashModifier
        entity.uniquenessConstraints = constraints
        return entity
    }

    /// The composites of the entity's attributes.
    var composites: [Composite] {
        ownProperties.flatMap { ($0 as? NSCompositeAttributeDescription)?.composites(owner: name ?? "") ?? [] }
    }

    static func descriptions(of model: Model) -> [NSEntityDescription] {
        let byName = Dictionary(keepingFirst: model.entities.map { ($0.name, NSEntityDescription($0, composites: model.composites)) })
        for entity in model.entities {
            guard let description = byName[entity.name] else { continue }
            if let parent = entity.superentity.flatMap({ byName[$0] }) { parent.subentities.append(description) }
        }
        for entity in model.entities {
            guard let description = byName[entity.name] else { continue }
            description.connect(byName)
            let properties = description.propertiesByName
            description.indexes = entity.indexes.map { NSFetchIndexDescription($0, properties: properties) }
        }
        return model.entities.compactMap { byName[$0.name] }
    }

    func connect(_ entities: [String: NSEntityDescription]) {
        for case let relationship as NSRelationshipDescription in ownProperties { relationship.connect(entities) }
    }

    convenience init(_ entity: Entity, composites: [Composite]) {
        self.init()
        setValues(from: entity, composites: composites)
    }

    private func setValues(from entity: Entity, composites: [Composite]) {
        name = entity.name
        managedObjectClassName = entity.classModule.map { "\($0).\(entity.className)" } ?? entity.className
        isAbstract = entity.isAbstract
        userInfo = entity.userInfo
        renamingIdentifier = entity.renamingIdentifier
        versionHashModifier = entity.versionHashModifier
        uniquenessConstraints = entity.uniquenessConstraints
        declared = entity
        properties =
            entity.attributes.map { NSAttributeDescription.description(of: $0, composites: composites) }
            + entity.relationships.map { NSRelationshipDescription($0) }
            + entity.fetchedProperties.map { NSFetchedPropertyDescription($0) }
    }

    // MARK: Copies

    /// Returns a mutable copy without a model, a parent and subentities.
    public final func copy(with zone: NSZone? = nil) -> Any {
        let copy = NSEntityDescription()
        copy.copyValues(from: self)
        return copy
    }

    private func copyValues(from other: NSEntityDescription) {
        name = other.name
        managedObjectClassName = other.managedObjectClassName
        isAbstract = other.isAbstract
        userInfo = other.userInfo
        versionHashModifier = other.versionHashModifier
        explicitRenamingIdentifier = other.explicitRenamingIdentifier
        constraints = other.constraints
        storedCompoundIndexes = other.storedCompoundIndexes
        declared = other.declared
        properties = other.ownProperties.compactMap { $0.copy() as? NSPropertyDescription }
        indexes = other.storedIndexes.compactMap { $0.copy() as? NSFetchIndexDescription }
    }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSEntityDescription else { return false }
        return self === other || value == other.value
    }

    open override var hash: Int { name.hashValue }

    // MARK: Coding

    /// Returns true: entities archive securely.
    open class var supportsSecureCoding: Bool { true }

    /// Archives the contents of a model file; parent and subentities belong to the model.
    open func encode(with coder: NSCoder) { ModelArchive.encode(self, with: coder) }

    /// Unarchives an entity without a model.
    ///
    /// - Returns: nil for another archive.
    public required convenience init?(coder: NSCoder) {
        guard let (entity, composites) = ModelArchive.entity(from: coder) else { return nil }
        self.init(entity, composites: composites)
    }
}

/// The texts of a user-info dictionary; model files have no other values.
func strings(of userInfo: [AnyHashable: Any]?) -> [String: String] {
    var result: [String: String] = [:]
    for (key, value) in userInfo ?? [:] {
        if let key = key.base as? String, let value = value as? String { result[key] = value }
    }
    return result
}
