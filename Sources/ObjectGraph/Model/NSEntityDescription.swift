// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
package import ManagedModel
public import PredicateKit

/// An entity: a name, a class, and properties.
///
/// It may be changed until its model is in use; changing it later traps.
///
/// Source: developer.apple.com/documentation/coredata/nsentitydescription
open class NSEntityDescription: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // Unchecked: constant once the model is in use, as NSManagedObjectModel guarantees.
    open var name: String? { willSet { preconditionIsMutable() } }
    /// `NSManagedObject` unless the model names a class; may be written `Module.Class`.
    open var managedObjectClassName: String! = "NSManagedObject" { willSet { preconditionIsMutable() } }
    open var isAbstract = false { willSet { preconditionIsMutable() } }
    open var userInfo: [AnyHashable: Any]? = [:] { willSet { preconditionIsMutable() } }
    /// Set it to make the entity count as changed though nothing else about it did.
    open var versionHashModifier: String? { willSet { preconditionIsMutable() } }
    /// The name that the entity had in the first version of the model; its own name unless set.
    open var renamingIdentifier: String? {
        get { explicitRenamingIdentifier ?? name }
        set {
            preconditionIsMutable()
            explicitRenamingIdentifier = newValue
        }
    }
    /// Lists of attributes whose values together are unique: names or descriptions go in, names come out.
    open var uniquenessConstraints: [[Any]] {
        get { constraints }
        set {
            preconditionIsMutable()
            constraints = newValue.map { constraint in
                constraint.compactMap { ($0 as? NSPropertyDescription)?.name ?? $0 as? String }
            }
        }
    }
    open internal(set) var superentity: NSEntityDescription? {
        get { superentityLink?.object }
        set { superentityLink = newValue?.backlink }
    }
    private var superentityLink: Backlink<NSEntityDescription>?
    /// How those find the entity that do not keep it alive.
    let backlink = Backlink<NSEntityDescription>()

    public override init() {
        super.init()
        backlink.lead(to: self)
    }

    deinit { backlink.clear() }

    weak var managedObjectModelReference: NSManagedObjectModel?
    private var explicitRenamingIdentifier: String?
    private var constraints: [[String]] = []
    private(set) var ownProperties: [NSPropertyDescription] = []
    private var storedSubentities: [NSEntityDescription] = []
    private var storedIndexes: [NSFetchIndexDescription] = []
    /// What the API does not show (code generation) stays as the model file had it.
    private var declared = Entity(name: "")

    open var managedObjectModel: NSManagedObjectModel {
        guard let managedObjectModelReference else {
            preconditionFailure("entity '\(name ?? "")' is not part of a model")
        }
        return managedObjectModelReference
    }

    /// Changing them drops the indexes of those that come and go.
    open var subentities: [NSEntityDescription] {
        get { storedSubentities }
        set {
            preconditionIsMutable()
            for entity in storedSubentities { entity.superentity = nil }
            storedSubentities = newValue
            for entity in newValue { entity.superentity = self }
        }
    }

    open var subentitiesByName: [String: NSEntityDescription] {
        Dictionary(storedSubentities.compactMap { entity in entity.name.map { ($0, entity) } }, uniquingKeysWith: { $1 })
    }

    /// Inherited properties first. Setting replaces the entity's own; inherited ones in the list stay the parent's.
    open var properties: [NSPropertyDescription] {
        get { (superentity?.properties ?? []) + ownProperties }
        set {
            preconditionIsMutable()
            let inherited = superentity?.properties ?? []
            ownProperties = newValue.filter { property in !inherited.contains { $0 === property } }
            for property in ownProperties { property.entity = self }
        }
    }

    open var propertiesByName: [String: NSPropertyDescription] {
        Dictionary(properties.map { ($0.name, $0) }, uniquingKeysWith: { $1 })
    }

    open var attributesByName: [String: NSAttributeDescription] {
        propertiesByName.compactMapValues { $0 as? NSAttributeDescription }
    }

    open var relationshipsByName: [String: NSRelationshipDescription] {
        propertiesByName.compactMapValues { $0 as? NSRelationshipDescription }
    }

    open func relationships(forDestination entity: NSEntityDescription) -> [NSRelationshipDescription] {
        properties.compactMap { $0 as? NSRelationshipDescription }.filter { $0.destinationEntity === entity }
    }

    /// Indexes that a SQLite store keeps for this entity.
    open var indexes: [NSFetchIndexDescription] {
        get { storedIndexes }
        set {
            preconditionIsMutable()
            storedIndexes = newValue
            for index in newValue { index.entity = self }
        }
    }

    /// What names an object in a search index; kept, for there is none on Linux.
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

    /// Whether this entity is the given one or one of its heirs.
    open func isKindOf(entity: NSEntityDescription) -> Bool {
        self === entity || (superentity?.isKindOf(entity: entity) ?? false)
    }

    open class func entity(forEntityName name: String, in context: NSManagedObjectContext) -> NSEntityDescription? {
        context.persistentStoreCoordinator?.managedObjectModel.entitiesByName[name]
    }

    /// - Precondition: The context's model has an entity of that name that is not abstract.
    open class func insertNewObject(forEntityName name: String, into context: NSManagedObjectContext) -> NSManagedObject {
        guard let entity = entity(forEntityName: name, in: context) else {
            preconditionFailure("the context's model has no entity named '\(name)'")
        }
        return NSManagedObject.make(entity, insertedInto: context)
    }

    /// What objects of this entity are laid out by. Set when the model is frozen, cleared when it goes.
    ///
    /// Strong, though the layout leads back here: a weak reference would make each object that holds the layout slower.
    @exclusivity(unchecked) package internal(set) final var layout: EntityLayout?

    func preconditionIsMutable() { managedObjectModelReference?.preconditionIsMutable() }

    // MARK: Version

    /// What decides whether a store that was made with another version of the model can be opened with this one: name,
    /// parent, whether it is abstract, properties, uniqueness constraints, the modifier.
    ///
    /// Differs: the bytes are not Apple's, whose encoding is not public.
    open var versionHash: Data { versionHash(of: ownProperties.filter { !$0.isTransient }, superentity?.versionHash) }

    /// The version hash as earlier releases wrote it: with transient properties, which no store holds.
    var earlierVersionHash: Data { versionHash(of: ownProperties, superentity?.earlierVersionHash) }

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

    /// The composites that the entity's attributes are made of.
    var composites: [Composite] {
        ownProperties.flatMap { ($0 as? NSCompositeAttributeDescription)?.composites(owner: name ?? "") ?? [] }
    }

    static func descriptions(of model: Model) -> [NSEntityDescription] {
        let byName = Dictionary(
            model.entities.map { ($0.name, NSEntityDescription($0, composites: model.composites)) },
            uniquingKeysWith: { first, _ in first })
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
        take(entity, composites: composites)
    }

    private func take(_ entity: Entity, composites: [Composite]) {
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

    /// A copy that belongs to no model and has neither parent nor heirs; it may be changed.
    public final func copy(with zone: NSZone? = nil) -> Any {
        let copy = NSEntityDescription()
        copy.take(self)
        return copy
    }

    private func take(_ other: NSEntityDescription) {
        name = other.name
        managedObjectClassName = other.managedObjectClassName
        isAbstract = other.isAbstract
        userInfo = other.userInfo
        versionHashModifier = other.versionHashModifier
        explicitRenamingIdentifier = other.explicitRenamingIdentifier
        constraints = other.constraints
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

    open class var supportsSecureCoding: Bool { true }

    /// Keeps what a model file keeps; parent and heirs stay with the model.
    open func encode(with coder: NSCoder) { ModelArchive.encode(self, with: coder) }

    public required convenience init?(coder: NSCoder) {
        guard let (entity, composites) = ModelArchive.entity(from: coder) else { return nil }
        self.init(entity, composites: composites)
    }
}

/// Texts of a user-info dictionary; other values have no place in a model file.
func strings(of userInfo: [AnyHashable: Any]?) -> [String: String] {
    var result: [String: String] = [:]
    for (key, value) in userInfo ?? [:] {
        if let key = key.base as? String, let value = value as? String { result[key] = value }
    }
    return result
}
