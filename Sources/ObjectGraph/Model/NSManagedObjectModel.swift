// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
package import ManagedModel
import PredicateKit
import Synchronization

/// The entities of an app, from a model file or code.
///
/// A model is mutable until a coordinator or an object uses it; changing it later traps.
///
/// Source: developer.apple.com/documentation/coredata/nsmanagedobjectmodel
open class NSManagedObjectModel: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    // Unchecked: written by one thread before the model is used, constant afterwards (`frozen`).
    private let frozen = Mutex<Frozen?>(nil)
    private var storedEntities: [NSEntityDescription] = []
    /// Values without API stay as in the model file.
    private var declared = Model()
    private var configurationEntityNames: [String: [String]] = [:]
    /// Named fetch requests, from the model file and set in code.
    var fetchTemplates: [String: NSFetchRequest<any NSFetchRequestResult>] = [:]
    /// Free text that distinguishes versions for developers; no effect on compatibility.
    open var versionIdentifiers: Set<AnyHashable> = [] { willSet { preconditionIsMutable() } }
    /// Localized texts: keys `Entity/E`, `Property/P/Entity/E`, `Property/P` and `ErrorString/TEXT`.
    open var localizationDictionary: [String: String]? { willSet { preconditionIsMutable() } }

    /// The form of the model that objects and stores use once it is frozen.
    package struct Frozen: Sendable {
        package let resolved: ResolvedModel
        package let layouts: [EntityLayout]
        /// Names of a frozen model don't change. Each object that is inserted by its entity's name looks here.
        fileprivate let entitiesByName: [String: NSEntityDescription]
    }

    public override init() { super.init() }

    package init(_ model: Model) {
        super.init()
        declared = model
        configurationEntityNames = model.configurations
        versionIdentifiers = Set(model.versionIdentifiers.map { AnyHashable($0) })
        entities = NSEntityDescription.descriptions(of: model)
        let byName = entitiesByName
        for template in model.fetchTemplates where fetchTemplates[template.name] == nil {
            let request = template.request()
            request.entity = byName[template.entity]
            fetchTemplates[template.name] = request
        }
    }

    deinit {
        // Objects that outlive the model retain their layouts, and layouts retain the descriptions.
        for entity in storedEntities where entity.layout?.model == nil { entity.layout = nil }
    }

    /// All entities, including subentities.
    open var entities: [NSEntityDescription] {
        get { storedEntities }
        set {
            preconditionIsMutable()
            for entity in storedEntities { entity.managedObjectModelReference = nil }
            storedEntities = newValue
            let byName = entitiesByName
            for entity in newValue {
                entity.managedObjectModelReference = self
                entity.connect(byName)
            }
        }
    }

    /// The entities by name.
    open var entitiesByName: [String: NSEntityDescription] { frozen.withLock { $0?.entitiesByName } ?? entitiesBeforeUse }

    private var entitiesBeforeUse: [String: NSEntityDescription] {
        Dictionary(storedEntities.compactMap { entity in entity.name.map { ($0, entity) } }, uniquingKeysWith: { $1 })
    }

    /// The names of the configurations, sorted.
    open var configurations: [String] { configurationEntityNames.keys.sorted() }

    /// Returns the entities of a configuration.
    ///
    /// - Parameter configuration: nil for all entities.
    /// - Returns: nil for a missing configuration.
    open func entities(forConfigurationName configuration: String?) -> [NSEntityDescription]? {
        guard let configuration else { return storedEntities }
        guard let names = configurationEntityNames[configuration] else { return nil }
        let included = Set(names)
        return storedEntities.filter { included.contains($0.name ?? "") }
    }

    /// Sets the entities of a configuration.
    ///
    /// - Precondition: The model isn't used yet.
    open func setEntities(_ entities: [NSEntityDescription], forConfigurationName configuration: String) {
        preconditionIsMutable()
        configurationEntityNames[configuration] = entities.compactMap(\.name)
    }

    /// The model as a value.
    package var value: Model {
        var model = declared
        model.entities = storedEntities.map(\.value)
        let composites = storedEntities.flatMap(\.composites)
        for composite in composites where !model.composites.contains(where: { $0.name == composite.name }) {
            model.composites.append(composite)
        }
        model.fetchTemplates = templateValues
        model.configurations = configurationEntityNames
        model.versionIdentifiers = versionIdentifiers.compactMap { $0.base as? String }.sorted()
        return model
    }

    /// Checks the model and freezes it.
    ///
    /// - Throws: `CocoaError` 134020 with every problem, each with entity and property, in its description. The model
    ///   stays mutable then.
    package func freeze() throws -> Frozen {
        try frozen.withLock { state in
            if let state { return state }
            let resolved: ResolvedModel
            let value = value
            try checkPredicates(of: value)
            do throws(ModelError) {
                resolved = try ResolvedModel(value)
            } catch {
                throw CocoaError(.persistentStoreIncompatibleSchema, sentence: "The model cannot be used: \(error.description).")
            }
            let byName = entitiesBeforeUse
            let layouts = resolved.entities.map { entity in
                guard let description = byName[entity.name] else {
                    preconditionFailure("resolved entities come from this model's descriptions")
                }
                return EntityLayout(entity, description: description, model: self)
            }
            let result = Frozen(resolved: resolved, layouts: layouts, entitiesByName: byName)
            state = result
            return result
        }
    }

    /// Templates in the order of the model file, then those set in code.
    private var templateValues: [FetchTemplate] {
        let declaredNames = declared.fetchTemplates.map(\.name)
        let names = declaredNames.filter { fetchTemplates[$0] != nil } + fetchTemplates.keys.filter { !declaredNames.contains($0) }.sorted()
        return names.compactMap { name in
            guard let request = fetchTemplates[name] else { return nil }
            var template = declared.fetchTemplates.first { $0.name == name } ?? FetchTemplate(name: name, entity: "")
            template.setValues(from: request)
            return template
        }
    }

    private func checkPredicates(of model: Model) throws {
        let properties = model.entities.flatMap { entity in
            entity.fetchedProperties.map { ("\(entity.name).\($0.name)", $0.request) }
        }
        for (subject, template) in properties + model.fetchTemplates.map({ ("fetch request '\($0.name)'", $0) }) {
            guard let format = template.predicateFormat else { continue }
            do { _ = try PredicateKit.Predicate(format: format, []) } catch {
                throw CocoaError(
                    .persistentStoreIncompatibleSchema, sentence: "The predicate of \(subject) cannot be read: \(error.description).")
            }
        }
    }

    func preconditionIsMutable() {
        precondition(
            frozen.withLock { $0 == nil },
            "the model is in use by a coordinator or an object and cannot be changed; change it before, or copy it")
    }

    // MARK: Methods subclasses may override
    //
    // Swift overrides only methods declared in a class's body. These call the implementations in the extensions.

    /// Whether a store was made with the same version of a configuration's entities.
    ///
    /// Differs: Apple's computation of version hashes is not public. For a store written by Apple's framework, the names
    /// of the entities are compared, and the tables, which
    /// ``NSPersistentStoreCoordinator/metadataForPersistentStore(ofType:at:options:)`` describes in the metadata, and, if the
    /// store has an archive of its model, optionality and version hash modifiers;
    /// versions that differ only in delete rules or counts are not distinguished.
    ///
    /// - Parameter configuration: nil for all entities.
    open func isConfiguration(withName configuration: String?, compatibleWithStoreMetadata metadata: [String: Any]) -> Bool {
        isConfigurationImplementation(withName: configuration, compatibleWithStoreMetadata: metadata)
    }

    /// Returns the version of a model in some bundles that fits a store; nil searches the models compiled into the
    /// program and those of the main bundle.
    open class func mergedModel(from bundles: [Bundle]?, forStoreMetadata metadata: [String: Any]) -> NSManagedObjectModel? {
        mergedModelImplementation(from: bundles, forStoreMetadata: metadata)
    }

    /// Returns the model's own request: copy it before changing it.
    ///
    /// - Returns: nil for a missing name.
    open func fetchRequestTemplate(forName name: String) -> NSFetchRequest<any NSFetchRequestResult>? {
        fetchRequestTemplateImplementation(forName: name)
    }

    /// Sets the request of a name.
    ///
    /// - Parameter fetchRequestTemplate: nil to remove the request.
    /// - Precondition: The model isn't used yet.
    open func setFetchRequestTemplate(_ fetchRequestTemplate: NSFetchRequest<any NSFetchRequestResult>?, forName name: String) {
        setFetchRequestTemplateImplementation(fetchRequestTemplate, forName: name)
    }

    /// Returns a mutable copy of a request, with values for the variables of its predicate.
    ///
    /// - Parameter variables: Names without `$`. A value of `NSNull` stands for nil.
    /// - Returns: nil for a missing name.
    /// - Precondition: Every variable has a value. Source: Apple raises an exception otherwise.
    open func fetchRequestFromTemplate(
        withName name: String, substitutionVariables variables: [String: Any]
    ) -> NSFetchRequest<any NSFetchRequestResult>? {
        fetchRequestFromTemplateImplementation(withName: name, substitutionVariables: variables)
    }

    /// Merges the models of some bundles; nil takes those compiled into the program, else those of the main bundle.
    ///
    /// - Returns: nil without models, or if they cannot be merged.
    open class func mergedModel(from bundles: [Bundle]?) -> NSManagedObjectModel? { mergedModelImplementation(from: bundles) }

    /// The named fetch requests.
    open var fetchRequestTemplatesByName: [String: NSFetchRequest<any NSFetchRequestResult>] { fetchTemplates }

    // MARK: Copies

    /// Returns a mutable copy.
    public final func copy(with zone: NSZone? = nil) -> Any {
        let copy = NSManagedObjectModel()
        copy.copyValues(from: self)
        return copy
    }

    private func copyValues(from other: NSManagedObjectModel) {
        declared = other.declared
        configurationEntityNames = other.configurationEntityNames
        versionIdentifiers = other.versionIdentifiers
        localizationDictionary = other.localizationDictionary
        let copies = other.storedEntities.compactMap { $0.copy() as? NSEntityDescription }
        let byName = Dictionary(keepingFirst: copies.compactMap { copy in copy.name.map { ($0, copy) } })
        for (entity, copy) in zip(other.storedEntities, copies) {
            guard let parent = entity.superentity?.name.flatMap({ byName[$0] }) else { continue }
            parent.subentities.append(copy)
        }
        entities = copies
        for (name, request) in other.fetchTemplates {
            let copy = NSFetchRequest<any NSFetchRequestResult>(copying: request)
            copy.entity = request.entityName.flatMap { byName[$0] }
            fetchTemplates[name] = copy
        }
    }

    open override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? NSManagedObjectModel else { return false }
        return self === other || value == other.value
    }

    open override var hash: Int { Set(storedEntities.compactMap(\.name)).hashValue }

    // MARK: Coding

    /// Returns true: models archive securely.
    open class var supportsSecureCoding: Bool { true }

    /// Archives the contents of a model file, and the localized texts.
    open func encode(with coder: NSCoder) { ModelArchive.encode(self, with: coder) }

    /// Unarchives a model.
    ///
    /// - Returns: nil for another archive.
    public required convenience init?(coder: NSCoder) {
        guard let model = ModelArchive.model(from: coder) else { return nil }
        self.init(model)
        localizationDictionary = ModelArchive.texts(from: coder)
    }
}
