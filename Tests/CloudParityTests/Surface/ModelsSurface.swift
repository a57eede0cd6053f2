// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Generated from Tests/Surface/Models.txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests

import CoreData
import Foundation
import Testing

@Suite struct ModelsSurfaceTests {
    @Test func constantsHaveTheirDocumentedValues() {
        expectDocumented("NSAttributeType.undefinedAttributeType", NSAttributeType.undefinedAttributeType, 0)
        expectDocumented("NSAttributeType.integer16AttributeType", NSAttributeType.integer16AttributeType, 100)
        expectDocumented("NSAttributeType.integer32AttributeType", NSAttributeType.integer32AttributeType, 200)
        expectDocumented("NSAttributeType.integer64AttributeType", NSAttributeType.integer64AttributeType, 300)
        expectDocumented("NSAttributeType.decimalAttributeType", NSAttributeType.decimalAttributeType, 400)
        expectDocumented("NSAttributeType.doubleAttributeType", NSAttributeType.doubleAttributeType, 500)
        expectDocumented("NSAttributeType.floatAttributeType", NSAttributeType.floatAttributeType, 600)
        expectDocumented("NSAttributeType.stringAttributeType", NSAttributeType.stringAttributeType, 700)
        expectDocumented("NSAttributeType.booleanAttributeType", NSAttributeType.booleanAttributeType, 800)
        expectDocumented("NSAttributeType.dateAttributeType", NSAttributeType.dateAttributeType, 900)
        expectDocumented("NSAttributeType.binaryDataAttributeType", NSAttributeType.binaryDataAttributeType, 1000)
        expectDocumented("NSAttributeType.UUIDAttributeType", NSAttributeType.UUIDAttributeType, 1100)
        expectDocumented("NSAttributeType.URIAttributeType", NSAttributeType.URIAttributeType, 1200)
        expectDocumented("NSAttributeType.transformableAttributeType", NSAttributeType.transformableAttributeType, 1800)
        expectDocumented("NSAttributeType.objectIDAttributeType", NSAttributeType.objectIDAttributeType, 2000)
        expectDocumented("NSAttributeType.compositeAttributeType", NSAttributeType.compositeAttributeType, 2100)
        expectDocumented("NSDeleteRule.noActionDeleteRule", NSDeleteRule.noActionDeleteRule, 0)
        expectDocumented("NSDeleteRule.nullifyDeleteRule", NSDeleteRule.nullifyDeleteRule, 1)
        expectDocumented("NSDeleteRule.cascadeDeleteRule", NSDeleteRule.cascadeDeleteRule, 2)
        expectDocumented("NSDeleteRule.denyDeleteRule", NSDeleteRule.denyDeleteRule, 3)
        expectDocumented("NSFetchIndexElementType.binary", NSFetchIndexElementType.binary, 0)
        expectDocumented("NSFetchIndexElementType.rTree", NSFetchIndexElementType.rTree, 1)
    }

    @Test func membersHaveTheirDocumentedTypes() {
        Self.usesNSManagedObjectModel()
        Self.usesNSEntityDescription()
        Self.usesNSPropertyDescription()
        Self.usesNSAttributeDescription()
        Self.usesNSAttributeType()
        Self.usesNSRelationshipDescription()
        Self.usesNSDeleteRule()
        Self.usesNSDerivedAttributeDescription()
        Self.usesNSCompositeAttributeDescription()
        Self.usesNSFetchedPropertyDescription()
        Self.usesNSExpressionDescription()
        Self.usesNSFetchIndexDescription()
        Self.usesNSFetchIndexElementDescription()
        Self.usesNSFetchIndexElementType()
    }

    private static func usesNSManagedObjectModel() {
        _ = { (x: NSManagedObjectModel) -> NSObject in x }
        _ = { (x: NSManagedObjectModel) -> any NSSecureCoding in x }
        _ = { (x: NSManagedObjectModel) -> any NSCopying in x }
        _ = { () -> NSManagedObjectModel in NSManagedObjectModel() }
        _ = { (a0: URL) -> NSManagedObjectModel? in NSManagedObjectModel(contentsOf: a0) }
        _ = { (a0: [NSManagedObjectModel]?) -> NSManagedObjectModel? in NSManagedObjectModel(byMerging: a0) }
        _ = { (a0: [NSManagedObjectModel], a1: [String: Any]) -> NSManagedObjectModel? in NSManagedObjectModel(byMerging: a0, forStoreMetadata: a1) }
        _ = { (a0: [Bundle]?) -> NSManagedObjectModel? in NSManagedObjectModel.mergedModel(from: a0) }
        _ = { (a0: [Bundle]?, a1: [String: Any]) -> NSManagedObjectModel? in NSManagedObjectModel.mergedModel(from: a0, forStoreMetadata: a1) }
        _ = { (a0: URL) throws -> [String: String] in try NSManagedObjectModel.checksumsForVersionedModel(at: a0) }
        let _: ReferenceWritableKeyPath<NSManagedObjectModel, [NSEntityDescription]> = \.entities
        let _: KeyPath<NSManagedObjectModel, [String: NSEntityDescription]> = \.entitiesByName
        let _: KeyPath<NSManagedObjectModel, [String]> = \.configurations
        _ = { (x: NSManagedObjectModel, a0: String?) -> [NSEntityDescription]? in x.entities(forConfigurationName: a0) }
        _ = { (x: NSManagedObjectModel, a0: [NSEntityDescription], a1: String) -> Void in x.setEntities(a0, forConfigurationName: a1) }
        let _: KeyPath<NSManagedObjectModel, [String: NSFetchRequest<any NSFetchRequestResult>]> = \.fetchRequestTemplatesByName
        _ = { (x: NSManagedObjectModel, a0: String) -> NSFetchRequest<any NSFetchRequestResult>? in x.fetchRequestTemplate(forName: a0) }
        _ = { (x: NSManagedObjectModel, a0: NSFetchRequest<any NSFetchRequestResult>?, a1: String) -> Void in x.setFetchRequestTemplate(a0, forName: a1) }
        _ = { (x: NSManagedObjectModel, a0: String, a1: [String: Any]) -> NSFetchRequest<any NSFetchRequestResult>? in x.fetchRequestFromTemplate(withName: a0, substitutionVariables: a1) }
        let _: ReferenceWritableKeyPath<NSManagedObjectModel, [String: String]?> = \.localizationDictionary
        let _: ReferenceWritableKeyPath<NSManagedObjectModel, Set<AnyHashable>> = \.versionIdentifiers
        let _: KeyPath<NSManagedObjectModel, String> = \.versionChecksum
        let _: KeyPath<NSManagedObjectModel, [String: Data]> = \.entityVersionHashesByName
        _ = { (x: NSManagedObjectModel, a0: String?, a1: [String: Any]) -> Bool in x.isConfiguration(withName: a0, compatibleWithStoreMetadata: a1) }
    }

    private static func usesNSEntityDescription() {
        _ = { (x: NSEntityDescription) -> NSObject in x }
        _ = { (x: NSEntityDescription) -> any NSSecureCoding in x }
        _ = { (x: NSEntityDescription) -> any NSCopying in x }
        _ = { () -> NSEntityDescription in NSEntityDescription() }
        _ = { (a0: String, a1: NSManagedObjectContext) -> NSEntityDescription? in NSEntityDescription.entity(forEntityName: a0, in: a1) }
        _ = { (a0: String, a1: NSManagedObjectContext) -> NSManagedObject in NSEntityDescription.insertNewObject(forEntityName: a0, into: a1) }
        let _: ReferenceWritableKeyPath<NSEntityDescription, String?> = \.name
        let _: ReferenceWritableKeyPath<NSEntityDescription, String?> = \.managedObjectClassName
        let _: KeyPath<NSEntityDescription, NSManagedObjectModel> = \.managedObjectModel
        let _: ReferenceWritableKeyPath<NSEntityDescription, Bool> = \.isAbstract
        let _: ReferenceWritableKeyPath<NSEntityDescription, [NSEntityDescription]> = \.subentities
        let _: KeyPath<NSEntityDescription, [String: NSEntityDescription]> = \.subentitiesByName
        let _: KeyPath<NSEntityDescription, NSEntityDescription?> = \.superentity
        let _: ReferenceWritableKeyPath<NSEntityDescription, [NSPropertyDescription]> = \.properties
        let _: KeyPath<NSEntityDescription, [String: NSPropertyDescription]> = \.propertiesByName
        let _: KeyPath<NSEntityDescription, [String: NSAttributeDescription]> = \.attributesByName
        let _: KeyPath<NSEntityDescription, [String: NSRelationshipDescription]> = \.relationshipsByName
        _ = { (x: NSEntityDescription, a0: NSEntityDescription) -> [NSRelationshipDescription] in x.relationships(forDestination: a0) }
        _ = { (x: NSEntityDescription, a0: NSEntityDescription) -> Bool in x.isKindOf(entity: a0) }
        let _: ReferenceWritableKeyPath<NSEntityDescription, [AnyHashable: Any]?> = \.userInfo
        let _: KeyPath<NSEntityDescription, Data> = \.versionHash
        let _: ReferenceWritableKeyPath<NSEntityDescription, String?> = \.versionHashModifier
        let _: ReferenceWritableKeyPath<NSEntityDescription, String?> = \.renamingIdentifier
        let _: ReferenceWritableKeyPath<NSEntityDescription, [NSFetchIndexDescription]> = \.indexes
        let _: ReferenceWritableKeyPath<NSEntityDescription, [[Any]]> = \.uniquenessConstraints
    }

    @available(*, deprecated)
    private static func usesDeprecatedNSEntityDescription() {
        let _: ReferenceWritableKeyPath<NSEntityDescription, [[Any]]> = \.compoundIndexes
    }

    private static func usesNSPropertyDescription() {
        _ = { (x: NSPropertyDescription) -> NSObject in x }
        _ = { (x: NSPropertyDescription) -> any NSSecureCoding in x }
        _ = { (x: NSPropertyDescription) -> any NSCopying in x }
        let _: KeyPath<NSPropertyDescription, NSEntityDescription?> = \.entity
        let _: ReferenceWritableKeyPath<NSPropertyDescription, String> = \.name
        let _: ReferenceWritableKeyPath<NSPropertyDescription, Bool> = \.isOptional
        let _: ReferenceWritableKeyPath<NSPropertyDescription, Bool> = \.isTransient
        let _: ReferenceWritableKeyPath<NSPropertyDescription, [AnyHashable: Any]?> = \.userInfo
        let _: KeyPath<NSPropertyDescription, Data> = \.versionHash
        let _: ReferenceWritableKeyPath<NSPropertyDescription, String?> = \.versionHashModifier
        let _: ReferenceWritableKeyPath<NSPropertyDescription, String?> = \.renamingIdentifier
        let _: ReferenceWritableKeyPath<NSPropertyDescription, Bool> = \.isIndexedBySpotlight
        let _: KeyPath<NSPropertyDescription, [NSPredicate]> = \.validationPredicates
        let _: KeyPath<NSPropertyDescription, [Any]> = \.validationWarnings
        _ = { (x: NSPropertyDescription, a0: [NSPredicate]?, a1: [String]?) -> Void in x.setValidationPredicates(a0, withValidationWarnings: a1) }
    }

    @available(*, deprecated)
    private static func usesDeprecatedNSPropertyDescription() {
        let _: ReferenceWritableKeyPath<NSPropertyDescription, Bool> = \.isIndexed
        let _: ReferenceWritableKeyPath<NSPropertyDescription, Bool> = \.isStoredInExternalRecord
    }

    private static func usesNSAttributeDescription() {
        _ = { (x: NSAttributeDescription) -> NSPropertyDescription in x }
        _ = { () -> NSAttributeDescription in NSAttributeDescription() }
        let _: ReferenceWritableKeyPath<NSAttributeDescription, NSAttributeType> = \.attributeType
        let _: ReferenceWritableKeyPath<NSAttributeDescription, NSAttributeDescription.AttributeType> = \.type
        let _: ReferenceWritableKeyPath<NSAttributeDescription, String?> = \.attributeValueClassName
        let _: ReferenceWritableKeyPath<NSAttributeDescription, Any?> = \.defaultValue
        let _: ReferenceWritableKeyPath<NSAttributeDescription, String?> = \.valueTransformerName
        let _: ReferenceWritableKeyPath<NSAttributeDescription, Bool> = \.allowsExternalBinaryDataStorage
        let _: ReferenceWritableKeyPath<NSAttributeDescription, Bool> = \.preservesValueInHistoryOnDeletion
        let _: ReferenceWritableKeyPath<NSAttributeDescription, Bool> = \.allowsCloudEncryption
    }

    private static func usesNSAttributeType() {
        _ = NSAttributeType.self
        _ = { () -> NSAttributeType in .undefinedAttributeType }
        _ = { () -> NSAttributeType in .integer16AttributeType }
        _ = { () -> NSAttributeType in .integer32AttributeType }
        _ = { () -> NSAttributeType in .integer64AttributeType }
        _ = { () -> NSAttributeType in .decimalAttributeType }
        _ = { () -> NSAttributeType in .doubleAttributeType }
        _ = { () -> NSAttributeType in .floatAttributeType }
        _ = { () -> NSAttributeType in .stringAttributeType }
        _ = { () -> NSAttributeType in .booleanAttributeType }
        _ = { () -> NSAttributeType in .dateAttributeType }
        _ = { () -> NSAttributeType in .binaryDataAttributeType }
        _ = { () -> NSAttributeType in .UUIDAttributeType }
        _ = { () -> NSAttributeType in .URIAttributeType }
        _ = { () -> NSAttributeType in .transformableAttributeType }
        _ = { () -> NSAttributeType in .objectIDAttributeType }
        _ = { () -> NSAttributeType in .compositeAttributeType }
    }

    private static func usesNSRelationshipDescription() {
        _ = { (x: NSRelationshipDescription) -> NSPropertyDescription in x }
        _ = { () -> NSRelationshipDescription in NSRelationshipDescription() }
        let _: ReferenceWritableKeyPath<NSRelationshipDescription, NSEntityDescription?> = \.destinationEntity
        let _: ReferenceWritableKeyPath<NSRelationshipDescription, NSRelationshipDescription?> = \.inverseRelationship
        let _: ReferenceWritableKeyPath<NSRelationshipDescription, Int> = \.minCount
        let _: ReferenceWritableKeyPath<NSRelationshipDescription, Int> = \.maxCount
        let _: KeyPath<NSRelationshipDescription, Bool> = \.isToMany
        let _: ReferenceWritableKeyPath<NSRelationshipDescription, Bool> = \.isOrdered
        let _: ReferenceWritableKeyPath<NSRelationshipDescription, NSDeleteRule> = \.deleteRule
    }

    private static func usesNSDeleteRule() {
        _ = NSDeleteRule.self
        _ = { () -> NSDeleteRule in .noActionDeleteRule }
        _ = { () -> NSDeleteRule in .nullifyDeleteRule }
        _ = { () -> NSDeleteRule in .cascadeDeleteRule }
        _ = { () -> NSDeleteRule in .denyDeleteRule }
    }

    private static func usesNSDerivedAttributeDescription() {
        _ = { (x: NSDerivedAttributeDescription) -> NSAttributeDescription in x }
        _ = { () -> NSDerivedAttributeDescription in NSDerivedAttributeDescription() }
        let _: ReferenceWritableKeyPath<NSDerivedAttributeDescription, NSExpression?> = \.derivationExpression
    }

    private static func usesNSCompositeAttributeDescription() {
        _ = { (x: NSCompositeAttributeDescription) -> NSAttributeDescription in x }
        _ = { () -> NSCompositeAttributeDescription in NSCompositeAttributeDescription() }
        let _: ReferenceWritableKeyPath<NSCompositeAttributeDescription, [NSAttributeDescription]> = \.elements
    }

    private static func usesNSFetchedPropertyDescription() {
        _ = { (x: NSFetchedPropertyDescription) -> NSPropertyDescription in x }
        _ = { () -> NSFetchedPropertyDescription in NSFetchedPropertyDescription() }
        let _: ReferenceWritableKeyPath<NSFetchedPropertyDescription, NSFetchRequest<any NSFetchRequestResult>?> = \.fetchRequest
    }

    private static func usesNSExpressionDescription() {
        _ = { (x: NSExpressionDescription) -> NSPropertyDescription in x }
        _ = { () -> NSExpressionDescription in NSExpressionDescription() }
        let _: ReferenceWritableKeyPath<NSExpressionDescription, NSExpression?> = \.expression
        let _: ReferenceWritableKeyPath<NSExpressionDescription, NSAttributeType> = \.expressionResultType
        let _: ReferenceWritableKeyPath<NSExpressionDescription, NSAttributeDescription.AttributeType> = \.resultType
    }

    private static func usesNSFetchIndexDescription() {
        _ = { (x: NSFetchIndexDescription) -> NSObject in x }
        _ = { (x: NSFetchIndexDescription) -> any NSCopying in x }
        _ = { (a0: String, a1: [NSFetchIndexElementDescription]?) -> NSFetchIndexDescription in NSFetchIndexDescription(name: a0, elements: a1) }
        let _: ReferenceWritableKeyPath<NSFetchIndexDescription, String> = \.name
        let _: ReferenceWritableKeyPath<NSFetchIndexDescription, [NSFetchIndexElementDescription]> = \.elements
        let _: KeyPath<NSFetchIndexDescription, NSEntityDescription?> = \.entity
        let _: ReferenceWritableKeyPath<NSFetchIndexDescription, NSPredicate?> = \.partialIndexPredicate
    }

    private static func usesNSFetchIndexElementDescription() {
        _ = { (x: NSFetchIndexElementDescription) -> NSObject in x }
        _ = { (x: NSFetchIndexElementDescription) -> any NSCopying in x }
        _ = { (a0: NSPropertyDescription, a1: NSFetchIndexElementType) -> NSFetchIndexElementDescription in NSFetchIndexElementDescription(property: a0, collationType: a1) }
        let _: KeyPath<NSFetchIndexElementDescription, NSPropertyDescription?> = \.property
        let _: KeyPath<NSFetchIndexElementDescription, String?> = \.propertyName
        let _: ReferenceWritableKeyPath<NSFetchIndexElementDescription, NSFetchIndexElementType> = \.collationType
        let _: ReferenceWritableKeyPath<NSFetchIndexElementDescription, Bool> = \.isAscending
        let _: KeyPath<NSFetchIndexElementDescription, NSFetchIndexDescription?> = \.indexDescription
    }

    private static func usesNSFetchIndexElementType() {
        _ = NSFetchIndexElementType.self
        _ = { () -> NSFetchIndexElementType in .binary }
        _ = { () -> NSFetchIndexElementType in .rTree }
    }

    static var propertiesOfNSManagedObjectModel: [(name: String, path: PartialKeyPath<NSManagedObjectModel>)] {
        [
            ("entities", \.entities),
            ("entitiesByName", \.entitiesByName),
            ("configurations", \.configurations),
            ("fetchRequestTemplatesByName", \.fetchRequestTemplatesByName),
            ("localizationDictionary", \.localizationDictionary),
            ("versionIdentifiers", \.versionIdentifiers),
            ("versionChecksum", \.versionChecksum),
            ("entityVersionHashesByName", \.entityVersionHashesByName),
        ]
    }

    static var propertiesOfNSEntityDescription: [(name: String, path: PartialKeyPath<NSEntityDescription>)] {
        [
            ("name", \.name),
            ("managedObjectClassName", \.managedObjectClassName),
            ("managedObjectModel", \.managedObjectModel),
            ("isAbstract", \.isAbstract),
            ("subentities", \.subentities),
            ("subentitiesByName", \.subentitiesByName),
            ("superentity", \.superentity),
            ("properties", \.properties),
            ("propertiesByName", \.propertiesByName),
            ("attributesByName", \.attributesByName),
            ("relationshipsByName", \.relationshipsByName),
            ("userInfo", \.userInfo),
            ("versionHash", \.versionHash),
            ("versionHashModifier", \.versionHashModifier),
            ("renamingIdentifier", \.renamingIdentifier),
            ("indexes", \.indexes),
            ("uniquenessConstraints", \.uniquenessConstraints),
        ]
    }

    static var propertiesOfNSPropertyDescription: [(name: String, path: PartialKeyPath<NSPropertyDescription>)] {
        [
            ("entity", \.entity),
            ("name", \.name),
            ("isOptional", \.isOptional),
            ("isTransient", \.isTransient),
            ("userInfo", \.userInfo),
            ("versionHash", \.versionHash),
            ("versionHashModifier", \.versionHashModifier),
            ("renamingIdentifier", \.renamingIdentifier),
            ("isIndexedBySpotlight", \.isIndexedBySpotlight),
            ("validationPredicates", \.validationPredicates),
            ("validationWarnings", \.validationWarnings),
        ]
    }

    static var propertiesOfNSAttributeDescription: [(name: String, path: PartialKeyPath<NSAttributeDescription>)] {
        [
            ("attributeType", \.attributeType),
            ("type", \.type),
            ("attributeValueClassName", \.attributeValueClassName),
            ("defaultValue", \.defaultValue),
            ("valueTransformerName", \.valueTransformerName),
            ("allowsExternalBinaryDataStorage", \.allowsExternalBinaryDataStorage),
            ("preservesValueInHistoryOnDeletion", \.preservesValueInHistoryOnDeletion),
            ("allowsCloudEncryption", \.allowsCloudEncryption),
        ]
    }

    static var propertiesOfNSRelationshipDescription: [(name: String, path: PartialKeyPath<NSRelationshipDescription>)] {
        [
            ("destinationEntity", \.destinationEntity),
            ("inverseRelationship", \.inverseRelationship),
            ("minCount", \.minCount),
            ("maxCount", \.maxCount),
            ("isToMany", \.isToMany),
            ("isOrdered", \.isOrdered),
            ("deleteRule", \.deleteRule),
        ]
    }

    static var propertiesOfNSDerivedAttributeDescription: [(name: String, path: PartialKeyPath<NSDerivedAttributeDescription>)] {
        [
            ("derivationExpression", \.derivationExpression),
        ]
    }

    static var propertiesOfNSCompositeAttributeDescription: [(name: String, path: PartialKeyPath<NSCompositeAttributeDescription>)] {
        [
            ("elements", \.elements),
        ]
    }

    static var propertiesOfNSFetchedPropertyDescription: [(name: String, path: PartialKeyPath<NSFetchedPropertyDescription>)] {
        [
            ("fetchRequest", \.fetchRequest),
        ]
    }

    static var propertiesOfNSExpressionDescription: [(name: String, path: PartialKeyPath<NSExpressionDescription>)] {
        [
            ("expression", \.expression),
            ("expressionResultType", \.expressionResultType),
            ("resultType", \.resultType),
        ]
    }

    static var propertiesOfNSFetchIndexDescription: [(name: String, path: PartialKeyPath<NSFetchIndexDescription>)] {
        [
            ("name", \.name),
            ("elements", \.elements),
            ("entity", \.entity),
            ("partialIndexPredicate", \.partialIndexPredicate),
        ]
    }

    static var propertiesOfNSFetchIndexElementDescription: [(name: String, path: PartialKeyPath<NSFetchIndexElementDescription>)] {
        [
            ("property", \.property),
            ("propertyName", \.propertyName),
            ("collationType", \.collationType),
            ("isAscending", \.isAscending),
            ("indexDescription", \.indexDescription),
        ]
    }
}
