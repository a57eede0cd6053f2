// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A data model as its author declared it: the value behind `NSManagedObjectModel` and model files.
///
/// Names are unresolved text. ``ResolvedModel`` checks the model and replaces names by indices.
package struct Model: Hashable, Sendable {
    package var entities: [Entity]
    /// Configuration name to entity names. The default configuration, which has all entities, is implicit.
    package var configurations: [String: [String]]
    /// Names of the configurations marked for CloudKit; may contain ``defaultConfiguration``.
    package var cloudConfigurations: [String]
    package var versionIdentifiers: [String]
    package var fetchTemplates: [FetchTemplate]
    package var composites: [Composite]

    /// The attributes of a composite attribute.
    package func elements(of attribute: Attribute) -> [Attribute] {
        if !attribute.elements.isEmpty { return attribute.elements }
        return composites.first { $0.name == attribute.compositeName }?.attributes ?? []
    }

    /// A model file's name for the implicit configuration that has all entities.
    package static let defaultConfiguration = "Default"

    package init(
        entities: [Entity] = [], configurations: [String: [String]] = [:],
        versionIdentifiers: [String] = [], fetchTemplates: [FetchTemplate] = []
    ) {
        self.entities = entities
        self.configurations = configurations
        self.versionIdentifiers = versionIdentifiers
        self.fetchTemplates = fetchTemplates
        cloudConfigurations = []
        composites = []
    }
}

package struct Entity: Hashable, Sendable {
    package var name: String
    /// Class name without module, `NSManagedObject` when the model names none.
    package var className: String
    /// The module that the model names for the class, if any.
    package var classModule: String?
    package var superentity: String?
    package var isAbstract: Bool
    package var attributes: [Attribute]
    package var relationships: [Relationship]
    package var fetchedProperties: [FetchedProperty]
    package var indexes: [FetchIndex]
    /// Each constraint is a list of attribute names whose values together are unique.
    package var uniquenessConstraints: [[String]]
    package var userInfo: [String: String]
    package var renamingIdentifier: String?
    package var versionHashModifier: String?
    /// Format of the expression for an object's name in a search index.
    package var spotlightDisplayNameExpression: String?
    package var codeGeneration: CodeGeneration

    package init(
        name: String, className: String = "NSManagedObject", superentity: String? = nil, isAbstract: Bool = false,
        attributes: [Attribute] = [], relationships: [Relationship] = []
    ) {
        self.name = name
        self.className = className
        self.superentity = superentity
        self.isAbstract = isAbstract
        self.attributes = attributes
        self.relationships = relationships
        fetchedProperties = []
        indexes = []
        uniquenessConstraints = []
        userInfo = [:]
        codeGeneration = .manual
    }
}

/// The code that the model compiler generates for an entity.
package enum CodeGeneration: String, Hashable, Sendable, Codable {
    case manual
    case category
    case `class`
}

/// Raw values are those of `NSAttributeType`.
package enum AttributeType: Int, Hashable, Sendable, Codable, CaseIterable {
    case undefined = 0
    case integer16 = 100
    case integer32 = 200
    case integer64 = 300
    case decimal = 400
    case double = 500
    case float = 600
    case string = 700
    case boolean = 800
    case date = 900
    case binaryData = 1000
    case uuid = 1100
    case uri = 1200
    case transformable = 1800
    case objectID = 2000
    case composite = 2100
}

package struct Attribute: Hashable, Sendable {
    package var name: String
    package var type: AttributeType
    package var isOptional: Bool
    package var isTransient: Bool
    package var defaultValue: StoredValue
    /// Bounds in the model's units: numbers, lengths of strings, seconds since 2001 for dates.
    package var minimum: Double?
    package var maximum: Double?
    package var regularExpression: String?
    package var allowsExternalBinaryDataStorage: Bool
    package var allowsCloudEncryption: Bool
    package var preservesValueInHistoryOnDeletion: Bool
    package var usesScalarValueType: Bool
    package var valueTransformerName: String?
    package var valueClassName: String?
    package var derivationExpression: String?
    /// The name of a composite attribute's composite in ``Model/composites``.
    package var compositeName: String?
    /// The attributes of a composite attribute without a composite name.
    package var elements: [Attribute]
    package var isIndexedBySpotlight: Bool
    package var userInfo: [String: String]
    package var renamingIdentifier: String?
    package var versionHashModifier: String?

    package init(name: String, type: AttributeType, isOptional: Bool = true, defaultValue: StoredValue = .null) {
        self.name = name
        self.type = type
        self.isOptional = isOptional
        self.defaultValue = defaultValue
        isTransient = false
        allowsExternalBinaryDataStorage = false
        allowsCloudEncryption = false
        preservesValueInHistoryOnDeletion = false
        usesScalarValueType = false
        isIndexedBySpotlight = false
        elements = []
        userInfo = [:]
    }
}

/// Raw values are those of `NSDeleteRule`.
package enum DeleteRule: Int, Hashable, Sendable, Codable {
    case noAction = 0
    case nullify = 1
    case cascade = 2
    case deny = 3
}

package struct Relationship: Hashable, Sendable {
    package var name: String
    package var destination: String
    package var inverse: String?
    package var isOptional: Bool
    package var isToMany: Bool
    package var isOrdered: Bool
    package var minimumCount: Int
    /// 1 for a to-one relationship, 0 for an unbounded to-many relationship.
    package var maximumCount: Int
    package var deleteRule: DeleteRule
    package var isTransient: Bool
    package var isIndexedBySpotlight: Bool
    package var userInfo: [String: String]
    package var renamingIdentifier: String?
    package var versionHashModifier: String?

    package init(
        name: String, destination: String, inverse: String? = nil, isToMany: Bool = false, isOrdered: Bool = false,
        isOptional: Bool = true, deleteRule: DeleteRule = .nullify
    ) {
        self.name = name
        self.destination = destination
        self.inverse = inverse
        self.isOptional = isOptional
        self.isToMany = isToMany
        self.isOrdered = isOrdered
        self.deleteRule = deleteRule
        minimumCount = 0
        maximumCount = isToMany ? 0 : 1
        isTransient = false
        isIndexedBySpotlight = false
        userInfo = [:]
    }
}

package struct FetchIndex: Hashable, Sendable {
    package struct Element: Hashable, Sendable {
        /// Empty for a computed element.
        package var property: String
        package var isAscending: Bool
        package var isRTree: Bool
        /// The computed expression, instead of a property.
        package var expressionFormat: String?
        /// The type of the computed expression.
        package var expressionType: AttributeType

        package init(property: String, isAscending: Bool = true, isRTree: Bool = false) {
            self.property = property
            self.isAscending = isAscending
            self.isRTree = isRTree
            expressionType = .undefined
        }
    }

    package var name: String
    package var elements: [Element]
    /// The condition on indexed rows.
    package var partialPredicateFormat: String?

    package init(name: String, elements: [Element]) {
        self.name = name
        self.elements = elements
    }
}

/// A fetch request in a model file; omitted values have a new request's defaults.
package struct FetchTemplate: Hashable, Sendable {
    package var name: String
    package var entity: String
    package var predicateFormat: String?
    package var fetchLimit: Int
    package var fetchBatchSize: Int
    /// Raw value of `NSFetchRequestResultType` in model files: 0 objects, 1 identifiers, 2 dictionaries.
    package var resultType: Int
    package var includesSubentities: Bool
    package var includesPropertyValues: Bool
    package var includesPendingChanges: Bool
    package var returnsObjectsAsFaults: Bool
    package var returnsDistinctResults: Bool

    package init(name: String, entity: String, predicateFormat: String? = nil, fetchLimit: Int = 0) {
        self.name = name
        self.entity = entity
        self.predicateFormat = predicateFormat
        self.fetchLimit = fetchLimit
        fetchBatchSize = 0
        resultType = 0
        includesSubentities = true
        includesPropertyValues = true
        includesPendingChanges = true
        returnsObjectsAsFaults = true
        returnsDistinctResults = false
    }
}

/// A property with the result of a request as its value; `$FETCH_SOURCE` is the object.
package struct FetchedProperty: Hashable, Sendable {
    package var name: String
    package var isOptional: Bool
    package var request: FetchTemplate
    package var userInfo: [String: String]
    package var renamingIdentifier: String?
    package var versionHashModifier: String?

    package init(name: String, request: FetchTemplate, isOptional: Bool = true) {
        self.name = name
        self.request = request
        self.isOptional = isOptional
        userInfo = [:]
    }
}

/// A named group of attributes, which may be composites themselves.
package struct Composite: Hashable, Sendable {
    package var name: String
    package var attributes: [Attribute]

    package init(name: String, attributes: [Attribute] = []) {
        self.name = name
        self.attributes = attributes
    }
}
