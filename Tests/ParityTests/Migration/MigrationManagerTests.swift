// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Joins the title and the count, and counts its calls.
final class JoiningPolicy: NSEntityMigrationPolicy {
    override func begin(_ mapping: NSEntityMapping, with manager: NSMigrationManager) throws {
        var info = manager.userInfo ?? [:]
        info["steps"] = (info["steps"] as? [String] ?? []) + ["begin"]
        manager.userInfo = info
    }

    override func createDestinationInstances(
        forSource sInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager
    ) throws {
        try super.createDestinationInstances(forSource: sInstance, in: mapping, manager: manager)
        guard let made = manager.destinationInstances(forEntityMappingName: mapping.name, sourceInstances: [sInstance]).first else {
            return
        }
        let title = sInstance.value(forKey: "title") as? String ?? "-"
        made.setValue("\(title)\(sInstance.value(forKey: "count") as? Int ?? 0)", forKey: "label")
    }

    override func end(_ mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        var info = manager.userInfo ?? [:]
        info["steps"] = (info["steps"] as? [String] ?? []) + ["end"]
        manager.userInfo = info
    }
}

final class FailingPolicy: NSEntityMigrationPolicy {
    override func createRelationships(forDestination dInstance: NSManagedObject, in mapping: NSEntityMapping, manager: NSMigrationManager)
        throws
    {
        throw CocoaError(.userCancelled)
    }
}

final class CancellingPolicy: NSEntityMigrationPolicy {
    override func endInstanceCreation(forMapping mapping: NSEntityMapping, manager: NSMigrationManager) throws {
        manager.cancelMigrationWithError(CocoaError(.userCancelled))
    }
}

@Suite struct MigrationManagerTests {
    private func target() -> NSManagedObjectModel {
        Versions.changed { entities, _ in
            for name in ["title", "count"] { Versions.remove(name, from: entities["Note"]) }
            entities["Note"]?.properties.append(Library.attribute("label", .stringAttributeType))
        }
    }

    private func mapping(_ policy: NSEntityMigrationPolicy.Type) throws -> NSMappingModel {
        let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: Versions.first(), destinationModel: target())
        let note = try #require(mapping.entityMappings.first { $0.destinationEntityName == "Note" })
        note.mappingType = .customEntityMappingType
        note.entityMigrationPolicyClassName = NSStringFromClass(policy)
        return mapping
    }

    @Test(arguments: [NSSQLiteStoreType, NSBinaryStoreType])
    func anEntityMigrationPolicyComputesValues(_ type: String) throws {
        try Versions.withFolder { folder in
            let (old, new) = (folder.appendingPathComponent("a.store"), folder.appendingPathComponent("b.store"))
            try Versions.fill(old, type: type)
            let manager = NSMigrationManager(sourceModel: Versions.first(), destinationModel: target())
            #expect(manager.migrationProgress == 0)
            try manager.migrateStore(
                from: old, sourceType: type, options: nil, with: try mapping(JoiningPolicy.self), toDestinationURL: new,
                destinationType: type, destinationOptions: nil)
            #expect(manager.migrationProgress == 1)
            #expect(manager.userInfo?["steps"] as? [String] == ["begin", "end"])
            try Versions.open(new, target(), type: type, options: nil) { context throws in
                #expect(try Versions.values("Note", "label", by: "label", context, as: String.self) == ["-3", "a1", "b2"])
                let home = try Versions.fetch("Folder", context, sortedBy: "name")[0]
                #expect(Versions.names(home.value(forKey: "notes"), "label").sorted() == ["a1", "b2"])
                #expect(try Versions.values("Note", "kind", by: "label", context, as: String.self) == [nil, "k", nil])
            }
            // The source is unchanged.
            try Versions.open(old, Versions.first(), type: type, options: nil) { context throws in
                #expect(try Versions.fetch("Note", context).count == 3)
            }
        }
    }

    @Test func aMigrationManagerUsesAnInferredMapping() throws {
        let version = Versions.changed { entities, _ in
            Versions.attribute(entities["Note"], "title")?.renamingIdentifier = "title"
            Versions.attribute(entities["Note"], "title")?.name = "headline"
            Versions.attribute(entities["Note"], "kind")?.isOptional = false
            Versions.attribute(entities["Note"], "kind")?.defaultValue = "none"
            entities["Folder"]?.relationshipsByName["notes"]?.isOrdered = true
        }
        for isSpecific in [true, false] {
            try Versions.withFolder { folder in
                let (old, new) = (folder.appendingPathComponent("a.sqlite"), folder.appendingPathComponent("b.sqlite"))
                try Versions.fill(old)
                let mapping = try NSMappingModel.inferredMappingModel(forSourceModel: Versions.first(), destinationModel: version)
                let manager = NSMigrationManager(sourceModel: Versions.first(), destinationModel: version)
                manager.usesStoreSpecificMigrationManager = isSpecific
                try manager.migrateStore(
                    from: old, type: .sqlite, options: nil, mapping: mapping, to: new, type: .sqlite, options: nil)
                try Versions.open(new, version, options: nil) { context throws in
                    #expect(try Versions.values("Note", "headline", by: "count", context, as: String.self) == ["a", "b", nil])
                    #expect(try Versions.values("Note", "kind", by: "count", context, as: String.self) == ["k", "none", "none"])
                    let home = try Versions.fetch("Folder", context, sortedBy: "name")[0]
                    #expect(Set(Versions.names(home.value(forKey: "notes"), "headline")) == ["a", "b"])
                }
            }
        }
    }

    @Test func mappingExpressionsComputeValues() throws {
        try Versions.withFolder { folder in
            let (old, new) = (folder.appendingPathComponent("a.sqlite"), folder.appendingPathComponent("b.sqlite"))
            try Versions.fill(old)
            let note = NSEntityMapping()
            note.name = "NoteToNote"
            note.mappingType = .customEntityMappingType
            note.sourceEntityName = "Note"
            note.destinationEntityName = "Note"
            let label = NSPropertyMapping()
            label.name = "label"
            label.valueExpression = NSExpression(format: "uppercase($source.title)")
            let kind = NSPropertyMapping()
            kind.name = "kind"
            kind.valueExpression = NSExpression(forConstantValue: "constant")
            note.attributeMappings = [label, kind]
            let home = NSPropertyMapping()
            home.name = "folder"
            home.valueExpression = NSExpression(
                format: "FUNCTION($manager, 'destinationInstancesForEntityMappingNamed:sourceInstances:', 'FolderToFolder', $source.folder)"
            )
            note.relationshipMappings = [home]
            let place = NSEntityMapping()
            place.name = "FolderToFolder"
            place.mappingType = .copyEntityMappingType
            place.sourceEntityName = "Folder"
            place.destinationEntityName = "Folder"
            let name = NSPropertyMapping()
            name.name = "name"
            name.valueExpression = NSExpression(format: "$source.name")
            place.attributeMappings = [name]
            let mapping = NSMappingModel()
            mapping.entityMappings = [note, place]
            let manager = NSMigrationManager(sourceModel: Versions.first(), destinationModel: target())
            try manager.migrateStore(
                from: old, sourceType: NSSQLiteStoreType, options: nil, with: mapping, toDestinationURL: new,
                destinationType: NSSQLiteStoreType, destinationOptions: nil)
            try Versions.open(new, target(), options: nil) { context throws in
                let notes = try Versions.fetch("Note", context, sortedBy: "label")
                #expect(notes.map { $0.value(forKey: "label") as? String } == [nil, "A", "B"])
                #expect(notes.map { $0.value(forKey: "kind") as? String } == ["constant", "constant", "constant"])
                #expect(
                    notes.map { ($0.value(forKey: "folder") as? NSManagedObject)?.value(forKey: "name") as? String } == [
                        nil, "home", "home",
                    ])
            }
        }
    }

    @Test func aFailedMigrationLeavesNoDestination() throws {
        for policy in [FailingPolicy.self, CancellingPolicy.self] as [NSEntityMigrationPolicy.Type] {
            try Versions.withFolder { folder in
                let (old, new) = (folder.appendingPathComponent("a.sqlite"), folder.appendingPathComponent("b.sqlite"))
                try Versions.fill(old)
                let manager = NSMigrationManager(sourceModel: Versions.first(), destinationModel: target())
                #expect(throws: (any Error).self) {
                    try manager.migrateStore(
                        from: old, sourceType: NSSQLiteStoreType, options: nil, with: try self.mapping(policy), toDestinationURL: new,
                        destinationType: NSSQLiteStoreType, destinationOptions: nil)
                }
                #expect(manager.migrationProgress < 1)
                try Versions.open(old, Versions.first(), options: nil) { context throws in
                    #expect(try Versions.fetch("Note", context).count == 3)
                }
            }
        }
    }
}
