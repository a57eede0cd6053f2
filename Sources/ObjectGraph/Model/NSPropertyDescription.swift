// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation
import ManagedModel

/// What attributes and relationships have in common.
///
/// Source: developer.apple.com/documentation/coredata/nspropertydescription
open class NSPropertyDescription: NSObject {
    open internal(set) weak var entity: NSEntityDescription?
    open var name = ""
    open var isOptional = true
    open var isTransient = false
    open var userInfo: [AnyHashable: Any]? = [:]
    open var renamingIdentifier: String?
    open var versionHashModifier: String?
    /// What a value has to match, and for each predicate an error code or a text for the one who reads the error.
    open private(set) var validationPredicates: [NSPredicate] = []
    open private(set) var validationWarnings: [Any] = []

    /// - Parameter warnings: Numbers of error codes, or texts; as many as there are predicates, or fewer.
    open func setValidationPredicates(_ predicates: [NSPredicate]?, withValidationWarnings warnings: [String]?) {
        validationPredicates = predicates ?? []
        validationWarnings = warnings ?? []
    }
}

/// Raw values are Apple's.
public enum NSAttributeType: UInt, Sendable {
    case undefinedAttributeType = 0
    case integer16AttributeType = 100
    case integer32AttributeType = 200
    case integer64AttributeType = 300
    case decimalAttributeType = 400
    case doubleAttributeType = 500
    case floatAttributeType = 600
    case stringAttributeType = 700
    case booleanAttributeType = 800
    case dateAttributeType = 900
    case binaryDataAttributeType = 1000
    case UUIDAttributeType = 1100
    case URIAttributeType = 1200
    case transformableAttributeType = 1800
    case objectIDAttributeType = 2000
    case compositeAttributeType = 2100
}

/// Source: developer.apple.com/documentation/coredata/nsattributedescription
open class NSAttributeDescription: NSPropertyDescription {
    open var attributeType: NSAttributeType = .undefinedAttributeType
    open var attributeValueClassName: String?
    open var defaultValue: Any?
    open var valueTransformerName: String?
    open var allowsExternalBinaryDataStorage = false
    open var preservesValueInHistoryOnDeletion = false
    open var allowsCloudEncryption = false
    private var declared = Attribute(name: "", type: .undefined)

    public override init() { super.init() }

    init(_ attribute: Attribute) {
        super.init()
        declared = attribute
        name = attribute.name
        isOptional = attribute.isOptional
        isTransient = attribute.isTransient
        userInfo = attribute.userInfo
        renamingIdentifier = attribute.renamingIdentifier
        versionHashModifier = attribute.versionHashModifier
        attributeType = NSAttributeType(rawValue: UInt(attribute.type.rawValue)) ?? .undefinedAttributeType
        attributeValueClassName = attribute.valueClassName
        defaultValue = AttributeCoding.value(attribute.defaultValue, of: attribute)
        valueTransformerName = attribute.valueTransformerName
        allowsExternalBinaryDataStorage = attribute.allowsExternalBinaryDataStorage
        preservesValueInHistoryOnDeletion = attribute.preservesValueInHistoryOnDeletion
        allowsCloudEncryption = attribute.allowsCloudEncryption
    }

    /// What the API does not show (bounds, derivation) stays as the model file had it.
    var value: Attribute {
        var attribute = declared
        attribute.name = name
        attribute.type = AttributeType(rawValue: Int(attributeType.rawValue)) ?? .undefined
        attribute.isOptional = isOptional
        attribute.isTransient = isTransient
        attribute.defaultValue = AttributeCoding.stored(defaultValue, as: attribute.type) ?? .null
        attribute.userInfo = strings(of: userInfo)
        attribute.renamingIdentifier = renamingIdentifier
        attribute.versionHashModifier = versionHashModifier
        attribute.valueClassName = attributeValueClassName
        attribute.valueTransformerName = valueTransformerName
        attribute.allowsExternalBinaryDataStorage = allowsExternalBinaryDataStorage
        attribute.preservesValueInHistoryOnDeletion = preservesValueInHistoryOnDeletion
        attribute.allowsCloudEncryption = allowsCloudEncryption
        return attribute
    }
}

/// Raw values are Apple's.
public enum NSDeleteRule: UInt, Sendable {
    case noActionDeleteRule = 0
    case nullifyDeleteRule = 1
    case cascadeDeleteRule = 2
    case denyDeleteRule = 3
}

/// Source: developer.apple.com/documentation/coredata/nsrelationshipdescription
open class NSRelationshipDescription: NSPropertyDescription {
    open weak var destinationEntity: NSEntityDescription? {
        didSet { if let destinationEntity { destinationName = destinationEntity.name } }
    }
    open var minCount = 0
    /// 1 makes the relationship to-one; 0 means without bound.
    open var maxCount = 0
    open var isOrdered = false
    open var deleteRule: NSDeleteRule = .nullifyDeleteRule
    private(set) var destinationName: String?
    private var inverseName: String?
    private weak var explicitInverse: NSRelationshipDescription?

    open var isToMany: Bool { maxCount != 1 }

    open var inverseRelationship: NSRelationshipDescription? {
        get { explicitInverse ?? inverseName.flatMap { destinationEntity?.relationshipsByName[$0] } }
        set {
            explicitInverse = newValue
            inverseName = newValue?.name
        }
    }

    public override init() { super.init() }

    init(_ relationship: Relationship) {
        super.init()
        name = relationship.name
        isOptional = relationship.isOptional
        isTransient = relationship.isTransient
        userInfo = relationship.userInfo
        renamingIdentifier = relationship.renamingIdentifier
        versionHashModifier = relationship.versionHashModifier
        minCount = relationship.minimumCount
        maxCount = relationship.maximumCount
        isOrdered = relationship.isOrdered
        deleteRule = NSDeleteRule(rawValue: UInt(relationship.deleteRule.rawValue)) ?? .nullifyDeleteRule
        destinationName = relationship.destination
        inverseName = relationship.inverse
    }

    var value: Relationship {
        var relationship = Relationship(
            name: name, destination: destinationEntity?.name ?? destinationName ?? "",
            inverse: explicitInverse?.name ?? inverseName, isToMany: isToMany, isOrdered: isOrdered,
            isOptional: isOptional, deleteRule: DeleteRule(rawValue: Int(deleteRule.rawValue)) ?? .nullify)
        relationship.minimumCount = minCount
        relationship.maximumCount = maxCount
        relationship.isTransient = isTransient
        relationship.userInfo = strings(of: userInfo)
        relationship.renamingIdentifier = renamingIdentifier
        relationship.versionHashModifier = versionHashModifier
        return relationship
    }
}
