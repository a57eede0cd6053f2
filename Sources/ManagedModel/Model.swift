// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// A data model as its author declared it: the value behind `NSManagedObjectModel` and model files.
///
/// Nothing is looked up here; names are text. ``ResolvedModel`` checks it and turns names into indices.
package struct Model: Hashable, Sendable, Codable {
    package var entities: [Entity]
    /// Configuration name to entity names. The default configuration, which has all entities, is implicit.
    package var configurations: [String: [String]]
    package var versionIdentifiers: [String]
    package var fetchTemplates: [FetchTemplate]

    package init(
        entities: [Entity] = [], configurations: [String: [String]] = [:],
        versionIdentifiers: [String] = [], fetchTemplates: [FetchTemplate] = []
    ) {
        self.entities = entities
        self.configurations = configurations
        self.versionIdentifiers = versionIdentifiers
        self.fetchTemplates = fetchTemplates
    }
}

package struct Entity: Hashable, Sendable, Codable {
    package var name: String
    /// Class name without module, `NSManagedObject` when the model names none.
    package var className: String
    /// The module that the model names for the class, if it names one.
    package var classModule: String?
    package var superentity: String?
    package var isAbstract: Bool
    package var attributes: [Attribute]
    package var relationships: [Relationship]
    package var indexes: [FetchIndex]
    /// Each constraint is a list of attribute names whose values together are unique.
    package var uniquenessConstraints: [[String]]
    package var userInfo: [String: String]
    package var renamingIdentifier: String?
    package var versionHashModifier: String?
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
        indexes = []
        uniquenessConstraints = []
        userInfo = [:]
        codeGeneration = .manual
    }
}

/// What the model's author asked the model compiler to write for an entity.
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

package struct Attribute: Hashable, Sendable, Codable {
    package var name: String
    package var type: AttributeType
    package var isOptional: Bool
    package var isTransient: Bool
    package var defaultValue: StoredValue
    /// Bounds as the model writes them: numbers, lengths of strings, seconds since 2001 for dates.
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

package struct Relationship: Hashable, Sendable, Codable {
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
        userInfo = [:]
    }
}

package struct FetchIndex: Hashable, Sendable, Codable {
    package struct Element: Hashable, Sendable, Codable {
        package var property: String
        package var isAscending: Bool
        package var isRTree: Bool

        package init(property: String, isAscending: Bool = true, isRTree: Bool = false) {
            self.property = property
            self.isAscending = isAscending
            self.isRTree = isRTree
        }
    }

    package var name: String
    package var elements: [Element]

    package init(name: String, elements: [Element]) {
        self.name = name
        self.elements = elements
    }
}

package struct FetchTemplate: Hashable, Sendable, Codable {
    package var name: String
    package var entity: String
    package var predicateFormat: String?
    package var fetchLimit: Int

    package init(name: String, entity: String, predicateFormat: String? = nil, fetchLimit: Int = 0) {
        self.name = name
        self.entity = entity
        self.predicateFormat = predicateFormat
        self.fetchLimit = fetchLimit
    }
}

// Written out because row keys have no meaning outside a process: only values that a model can declare are coded.
extension StoredValue: Codable {
    private enum Kind: String, Codable { case null, int, double, decimal, string, date, data, uuid, url }
    private enum Key: String, CodingKey { case kind, value }

    package init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Key.self)
        switch try container.decode(Kind.self, forKey: .kind) {
        case .null: self = .null
        case .int: self = .int(try container.decode(Int64.self, forKey: .value))
        case .double: self = .double(try container.decode(Double.self, forKey: .value))
        case .decimal: self = .decimal(try container.decode(Decimal.self, forKey: .value))
        case .string: self = .string(try container.decode(String.self, forKey: .value))
        case .date: self = .date(try container.decode(Double.self, forKey: .value))
        case .data: self = .data(try container.decode(Data.self, forKey: .value))
        case .uuid: self = .uuid(try container.decode(UUID.self, forKey: .value))
        case .url: self = .url(try container.decode(String.self, forKey: .value))
        }
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        func put(_ kind: Kind, _ value: (any Encodable)?) throws {
            try container.encode(kind, forKey: .kind)
            if let value { try container.encode(value, forKey: .value) }
        }
        switch self {
        case .null: try put(.null, nil)
        case .int(let value): try put(.int, value)
        case .double(let value): try put(.double, value)
        case .decimal(let value): try put(.decimal, value)
        case .string(let value): try put(.string, value)
        case .date(let value): try put(.date, value)
        case .data(let value): try put(.data, value)
        case .uuid(let value): try put(.uuid, value)
        case .url(let value): try put(.url, value)
        case .reference:
            throw EncodingError.invalidValue(
                self, .init(codingPath: encoder.codingPath, debugDescription: "a row key cannot be a model's default value"))
        }
    }
}
