// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Generated from Tests/Surface/Migration.txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests

import CoreData
import Foundation
import Testing

@Suite struct MigrationSurfaceTests {
    @Test func constantsHaveTheirDocumentedValues() {
        expectDocumented("NSEntityMappingType.undefinedEntityMappingType", NSEntityMappingType.undefinedEntityMappingType, 0)
        expectDocumented("NSEntityMappingType.customEntityMappingType", NSEntityMappingType.customEntityMappingType, 1)
        expectDocumented("NSEntityMappingType.addEntityMappingType", NSEntityMappingType.addEntityMappingType, 2)
        expectDocumented("NSEntityMappingType.removeEntityMappingType", NSEntityMappingType.removeEntityMappingType, 3)
        expectDocumented("NSEntityMappingType.copyEntityMappingType", NSEntityMappingType.copyEntityMappingType, 4)
        expectDocumented("NSEntityMappingType.transformEntityMappingType", NSEntityMappingType.transformEntityMappingType, 5)
    }

    @Test func membersHaveTheirDocumentedTypes() {
        Self.usesNSMappingModel()
        Self.usesNSEntityMapping()
        Self.usesNSPropertyMapping()
        Self.usesNSEntityMappingType()
        Self.usesNSEntityMigrationPolicy()
        Self.usesNSMigrationManager()
        Self.usesNSStagedMigrationManager()
        Self.usesNSMigrationStage()
        Self.usesNSLightweightMigrationStage()
        Self.usesNSCustomMigrationStage()
        Self.usesNSManagedObjectModelReference()
    }

    private static func usesNSMappingModel() {
        _ = { (x: NSMappingModel) -> NSObject in x }
        _ = { (a0: [Bundle]?, a1: NSManagedObjectModel?, a2: NSManagedObjectModel?) -> NSMappingModel? in NSMappingModel(from: a0, forSourceModel: a1, destinationModel: a2) }
        _ = { (a0: URL?) -> NSMappingModel? in NSMappingModel(contentsOf: a0) }
        _ = { (a0: NSManagedObjectModel, a1: NSManagedObjectModel) throws -> NSMappingModel in try NSMappingModel.inferredMappingModel(forSourceModel: a0, destinationModel: a1) }
        let _: ReferenceWritableKeyPath<NSMappingModel, [NSEntityMapping]?> = \.entityMappings
        let _: KeyPath<NSMappingModel, [String: NSEntityMapping]> = \.entityMappingsByName
    }

    private static func usesNSEntityMapping() {
        _ = { (x: NSEntityMapping) -> NSObject in x }
        _ = { () -> NSEntityMapping in NSEntityMapping() }
        let _: ReferenceWritableKeyPath<NSEntityMapping, String?> = \.name
        let _: ReferenceWritableKeyPath<NSEntityMapping, NSEntityMappingType> = \.mappingType
        let _: ReferenceWritableKeyPath<NSEntityMapping, String?> = \.sourceEntityName
        let _: ReferenceWritableKeyPath<NSEntityMapping, Data?> = \.sourceEntityVersionHash
        let _: ReferenceWritableKeyPath<NSEntityMapping, String?> = \.destinationEntityName
        let _: ReferenceWritableKeyPath<NSEntityMapping, Data?> = \.destinationEntityVersionHash
        let _: ReferenceWritableKeyPath<NSEntityMapping, [NSPropertyMapping]?> = \.attributeMappings
        let _: ReferenceWritableKeyPath<NSEntityMapping, [NSPropertyMapping]?> = \.relationshipMappings
        let _: ReferenceWritableKeyPath<NSEntityMapping, NSExpression?> = \.sourceExpression
        let _: ReferenceWritableKeyPath<NSEntityMapping, [AnyHashable: Any]?> = \.userInfo
        let _: ReferenceWritableKeyPath<NSEntityMapping, String?> = \.entityMigrationPolicyClassName
    }

    private static func usesNSPropertyMapping() {
        _ = { (x: NSPropertyMapping) -> NSObject in x }
        _ = { () -> NSPropertyMapping in NSPropertyMapping() }
        let _: ReferenceWritableKeyPath<NSPropertyMapping, String?> = \.name
        let _: ReferenceWritableKeyPath<NSPropertyMapping, NSExpression?> = \.valueExpression
        let _: ReferenceWritableKeyPath<NSPropertyMapping, [AnyHashable: Any]?> = \.userInfo
    }

    private static func usesNSEntityMappingType() {
        _ = NSEntityMappingType.self
        _ = { () -> NSEntityMappingType in .undefinedEntityMappingType }
        _ = { () -> NSEntityMappingType in .customEntityMappingType }
        _ = { () -> NSEntityMappingType in .addEntityMappingType }
        _ = { () -> NSEntityMappingType in .removeEntityMappingType }
        _ = { () -> NSEntityMappingType in .copyEntityMappingType }
        _ = { () -> NSEntityMappingType in .transformEntityMappingType }
    }

    private static func usesNSEntityMigrationPolicy() {
        _ = { (x: NSEntityMigrationPolicy) -> NSObject in x }
        _ = { (x: NSEntityMigrationPolicy, a0: NSEntityMapping, a1: NSMigrationManager) throws -> Void in try x.begin(a0, with: a1) }
        _ = { (x: NSEntityMigrationPolicy, a0: NSManagedObject, a1: NSEntityMapping, a2: NSMigrationManager) throws -> Void in try x.createDestinationInstances(forSource: a0, in: a1, manager: a2) }
        _ = { (x: NSEntityMigrationPolicy, a0: NSEntityMapping, a1: NSMigrationManager) throws -> Void in try x.endInstanceCreation(forMapping: a0, manager: a1) }
        _ = { (x: NSEntityMigrationPolicy, a0: NSManagedObject, a1: NSEntityMapping, a2: NSMigrationManager) throws -> Void in try x.createRelationships(forDestination: a0, in: a1, manager: a2) }
        _ = { (x: NSEntityMigrationPolicy, a0: NSEntityMapping, a1: NSMigrationManager) throws -> Void in try x.endRelationshipCreation(forMapping: a0, manager: a1) }
        _ = { (x: NSEntityMigrationPolicy, a0: NSEntityMapping, a1: NSMigrationManager) throws -> Void in try x.performCustomValidation(forMapping: a0, manager: a1) }
        _ = { (x: NSEntityMigrationPolicy, a0: NSEntityMapping, a1: NSMigrationManager) throws -> Void in try x.end(a0, manager: a1) }
    }

    private static func usesNSMigrationManager() {
        _ = { (x: NSMigrationManager) -> NSObject in x }
        _ = { (a0: NSManagedObjectModel, a1: NSManagedObjectModel) -> NSMigrationManager in NSMigrationManager(sourceModel: a0, destinationModel: a1) }
        _ = { (x: NSMigrationManager, a0: URL, a1: String, a2: [AnyHashable: Any]?, a3: NSMappingModel?, a4: URL, a5: String, a6: [AnyHashable: Any]?) throws -> Void in try x.migrateStore(from: a0, sourceType: a1, options: a2, with: a3, toDestinationURL: a4, destinationType: a5, destinationOptions: a6) }
        _ = { (x: NSMigrationManager, a0: URL, a1: String, a3: NSMappingModel?, a4: URL, a5: String) throws -> Void in try x.migrateStore(from: a0, sourceType: a1, with: a3, toDestinationURL: a4, destinationType: a5) }
        let _: ReferenceWritableKeyPath<NSMigrationManager, Bool> = \.usesStoreSpecificMigrationManager
        _ = { (x: NSMigrationManager) -> Void in x.reset() }
        let _: KeyPath<NSMigrationManager, NSMappingModel> = \.mappingModel
        let _: KeyPath<NSMigrationManager, NSManagedObjectModel> = \.sourceModel
        let _: KeyPath<NSMigrationManager, NSManagedObjectModel> = \.destinationModel
        let _: KeyPath<NSMigrationManager, NSManagedObjectContext> = \.sourceContext
        let _: KeyPath<NSMigrationManager, NSManagedObjectContext> = \.destinationContext
        _ = { (x: NSMigrationManager, a0: NSEntityMapping) -> NSEntityDescription? in x.sourceEntity(for: a0) }
        _ = { (x: NSMigrationManager, a0: NSEntityMapping) -> NSEntityDescription? in x.destinationEntity(for: a0) }
        _ = { (x: NSMigrationManager, a0: NSManagedObject, a1: NSManagedObject, a2: NSEntityMapping) -> Void in x.associate(sourceInstance: a0, withDestinationInstance: a1, for: a2) }
        _ = { (x: NSMigrationManager, a0: String, a1: [NSManagedObject]?) -> [NSManagedObject] in x.destinationInstances(forEntityMappingName: a0, sourceInstances: a1) }
        _ = { (x: NSMigrationManager, a0: String, a1: [NSManagedObject]?) -> [NSManagedObject] in x.sourceInstances(forEntityMappingName: a0, destinationInstances: a1) }
        let _: KeyPath<NSMigrationManager, NSEntityMapping> = \.currentEntityMapping
        let _: KeyPath<NSMigrationManager, Float> = \.migrationProgress
        let _: ReferenceWritableKeyPath<NSMigrationManager, [AnyHashable: Any]?> = \.userInfo
        _ = { (x: NSMigrationManager, a0: any Error) -> Void in x.cancelMigrationWithError(a0) }
    }

    private static func usesNSStagedMigrationManager() {
        _ = { (x: NSStagedMigrationManager) -> NSObject in x }
        _ = { (a0: [NSMigrationStage]) -> NSStagedMigrationManager in NSStagedMigrationManager(a0) }
        let _: KeyPath<NSStagedMigrationManager, [NSMigrationStage]> = \.stages
        let _: KeyPath<NSStagedMigrationManager, NSPersistentContainer?> = \.container
    }

    private static func usesNSMigrationStage() {
        _ = { (x: NSMigrationStage) -> NSObject in x }
        let _: ReferenceWritableKeyPath<NSMigrationStage, String?> = \.label
    }

    private static func usesNSLightweightMigrationStage() {
        _ = { (x: NSLightweightMigrationStage) -> NSMigrationStage in x }
        _ = { (a0: [String]) -> NSLightweightMigrationStage in NSLightweightMigrationStage(a0) }
        let _: KeyPath<NSLightweightMigrationStage, [String]> = \.versionChecksums
    }

    private static func usesNSCustomMigrationStage() {
        _ = { (x: NSCustomMigrationStage) -> NSMigrationStage in x }
        _ = { (a0: NSManagedObjectModelReference, a1: NSManagedObjectModelReference) -> NSCustomMigrationStage in NSCustomMigrationStage(migratingFrom: a0, to: a1) }
        let _: KeyPath<NSCustomMigrationStage, NSManagedObjectModelReference> = \.currentModel
        let _: KeyPath<NSCustomMigrationStage, NSManagedObjectModelReference> = \.nextModel
        let _: ReferenceWritableKeyPath<NSCustomMigrationStage, ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)?> = \.willMigrateHandler
        let _: ReferenceWritableKeyPath<NSCustomMigrationStage, ((NSStagedMigrationManager, NSCustomMigrationStage) throws -> Void)?> = \.didMigrateHandler
    }

    private static func usesNSManagedObjectModelReference() {
        _ = { (x: NSManagedObjectModelReference) -> NSObject in x }
        _ = { (a0: NSManagedObjectModel, a1: String) -> NSManagedObjectModelReference in NSManagedObjectModelReference(model: a0, versionChecksum: a1) }
        _ = { (a0: URL, a1: String) -> NSManagedObjectModelReference in NSManagedObjectModelReference(fileURL: a0, versionChecksum: a1) }
        _ = { (a0: [AnyHashable: Any], a1: Bundle?, a2: String) -> NSManagedObjectModelReference in NSManagedObjectModelReference(entityVersionHashes: a0, in: a1, versionChecksum: a2) }
        _ = { (a0: String, a1: Bundle?, a2: String) -> NSManagedObjectModelReference in NSManagedObjectModelReference(name: a0, in: a1, versionChecksum: a2) }
        let _: KeyPath<NSManagedObjectModelReference, NSManagedObjectModel> = \.resolvedModel
        let _: KeyPath<NSManagedObjectModelReference, String> = \.versionChecksum
    }

    static var propertiesOfNSMappingModel: [(name: String, path: PartialKeyPath<NSMappingModel>)] {
        [
            ("entityMappings", \.entityMappings),
            ("entityMappingsByName", \.entityMappingsByName),
        ]
    }

    static var propertiesOfNSEntityMapping: [(name: String, path: PartialKeyPath<NSEntityMapping>)] {
        [
            ("name", \.name),
            ("mappingType", \.mappingType),
            ("sourceEntityName", \.sourceEntityName),
            ("sourceEntityVersionHash", \.sourceEntityVersionHash),
            ("destinationEntityName", \.destinationEntityName),
            ("destinationEntityVersionHash", \.destinationEntityVersionHash),
            ("attributeMappings", \.attributeMappings),
            ("relationshipMappings", \.relationshipMappings),
            ("sourceExpression", \.sourceExpression),
            ("userInfo", \.userInfo),
            ("entityMigrationPolicyClassName", \.entityMigrationPolicyClassName),
        ]
    }

    static var propertiesOfNSPropertyMapping: [(name: String, path: PartialKeyPath<NSPropertyMapping>)] {
        [
            ("name", \.name),
            ("valueExpression", \.valueExpression),
            ("userInfo", \.userInfo),
        ]
    }

    static var propertiesOfNSMigrationManager: [(name: String, path: PartialKeyPath<NSMigrationManager>)] {
        [
            ("usesStoreSpecificMigrationManager", \.usesStoreSpecificMigrationManager),
            ("mappingModel", \.mappingModel),
            ("sourceModel", \.sourceModel),
            ("destinationModel", \.destinationModel),
            ("sourceContext", \.sourceContext),
            ("destinationContext", \.destinationContext),
            ("currentEntityMapping", \.currentEntityMapping),
            ("migrationProgress", \.migrationProgress),
            ("userInfo", \.userInfo),
        ]
    }

    static var propertiesOfNSStagedMigrationManager: [(name: String, path: PartialKeyPath<NSStagedMigrationManager>)] {
        [
            ("stages", \.stages),
            ("container", \.container),
        ]
    }

    static var propertiesOfNSMigrationStage: [(name: String, path: PartialKeyPath<NSMigrationStage>)] {
        [
            ("label", \.label),
        ]
    }

    static var propertiesOfNSLightweightMigrationStage: [(name: String, path: PartialKeyPath<NSLightweightMigrationStage>)] {
        [
            ("versionChecksums", \.versionChecksums),
        ]
    }

    static var propertiesOfNSCustomMigrationStage: [(name: String, path: PartialKeyPath<NSCustomMigrationStage>)] {
        [
            ("currentModel", \.currentModel),
            ("nextModel", \.nextModel),
            ("willMigrateHandler", \.willMigrateHandler),
            ("didMigrateHandler", \.didMigrateHandler),
        ]
    }

    static var propertiesOfNSManagedObjectModelReference: [(name: String, path: PartialKeyPath<NSManagedObjectModelReference>)] {
        [
            ("resolvedModel", \.resolvedModel),
            ("versionChecksum", \.versionChecksum),
        ]
    }
}
