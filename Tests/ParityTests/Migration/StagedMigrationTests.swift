// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

@Suite struct StagedMigrationTests {
    /// The title in two parts, and then no title any more.
    private static func second() -> NSManagedObjectModel {
        Versions.changed { entities, _ in
            entities["Note"]?.properties += [
                Library.attribute("upper", .stringAttributeType), Library.attribute("size", .integer32AttributeType),
            ]
        }
    }

    private static func third() -> NSManagedObjectModel {
        Versions.changed { entities, _ in
            entities["Note"]?.properties += [
                Library.attribute("upper", .stringAttributeType), Library.attribute("size", .integer32AttributeType),
            ]
            Versions.remove("title", from: entities["Note"])
        }
    }

    private static func reference(_ model: NSManagedObjectModel) -> NSManagedObjectModelReference {
        NSManagedObjectModelReference(model: model, versionChecksum: model.versionChecksum)
    }

    /// Records the handlers' calls, which are sequential.
    private final class Log: @unchecked Sendable {
        var lines: [String] = []
    }

    private func stages(_ log: Log, failing: Bool = false) -> [NSMigrationStage] {
        let custom = NSCustomMigrationStage(migratingFrom: Self.reference(Versions.first()), to: Self.reference(Self.second()))
        custom.label = "parts"
        custom.willMigrateHandler = { manager, stage in
            let context = try #require(manager.container?.newBackgroundContext())
            let count = try context.performAndWait { try Versions.fetch("Note", context).count }
            log.lines.append("will \(stage.label ?? "") \(count)")
        }
        custom.didMigrateHandler = { manager, stage in
            if failing { throw CocoaError(.userCancelled) }
            let context = try #require(manager.container?.newBackgroundContext())
            try context.performAndWait {
                for note in try Versions.fetch("Note", context) {
                    let title = note.value(forKey: "title") as? String
                    note.setValue(title?.uppercased(), forKey: "upper")
                    note.setValue(title?.count ?? 0, forKey: "size")
                }
                try context.save()
            }
            log.lines.append("did \(stage.label ?? "")")
        }
        let last = NSLightweightMigrationStage([Self.second().versionChecksum, Self.third().versionChecksum])
        last.label = "no title"
        return [custom, last]
    }

    private func options(_ manager: NSStagedMigrationManager) -> [AnyHashable: Any] {
        Versions.automatically.merging([NSPersistentStoreStagedMigrationManagerOptionKey: manager]) { $1 }
    }

    @Test func aStoreRunsEachMigrationStageOnce() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.fill(url)
            let log = Log()
            let manager = NSStagedMigrationManager(stages(log))
            #expect(manager.stages.count == 2)
            for _ in 0..<2 {
                try Versions.open(url, Self.third(), options: options(manager)) { context throws in
                    #expect(try Versions.values("Note", "upper", by: "count", context, as: String.self) == ["A", "B", nil])
                    #expect(try Versions.values("Note", "size", by: "count", context, as: Int.self) == [1, 1, 0])
                }
            }
            #expect(log.lines == ["will parts 3", "did parts"])
        }
    }

    @Test func aStoreOfAnIntermediateVersionRunsTheRemainingStages() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.fill(url)
            try Versions.open(url, Self.second()) { _ in }
            let log = Log()
            try Versions.open(url, Self.third(), options: options(NSStagedMigrationManager(stages(log)))) { context throws in
                #expect(try Versions.values("Note", "upper", by: "count", context, as: String.self) == [nil, nil, nil])
            }
            #expect(log.lines.isEmpty)
        }
    }

    @Test func aHandlerThatThrowsEndsTheMigration() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.fill(url)
            #expect(throws: (any Error).self) {
                try Versions.open(url, Self.third(), options: self.options(NSStagedMigrationManager(self.stages(Log(), failing: true)))) {
                    _ in
                }
            }
        }
    }

    @Test func aVersionOutsideOfAllStagesIsRejected() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            let other = Versions.changed { entities, _ in Versions.remove("kind", from: entities["Note"]) }
            try Versions.open(url, other) { _ in }
            #expect(throws: (any Error).self) {
                try Versions.open(url, Self.third(), options: self.options(NSStagedMigrationManager(self.stages(Log())))) { _ in }
            }
        }
    }

    @Test func migrationStagesKeepTheirArguments() {
        let reference = Self.reference(Self.second())
        #expect(reference.resolvedModel.versionChecksum == Self.second().versionChecksum)
        #expect(reference.versionChecksum == Self.second().versionChecksum)
        #expect(Versions.first().versionChecksum != Self.second().versionChecksum)
        let custom = NSCustomMigrationStage(migratingFrom: reference, to: Self.reference(Self.third()))
        #expect(custom.currentModel === reference)
        #expect(custom.willMigrateHandler == nil)
        #expect(custom.didMigrateHandler == nil)
        #expect(NSLightweightMigrationStage(["a", "b"]).versionChecksums == ["a", "b"])
        #expect(NSStagedMigrationManager([custom]).container == nil)
    }

    @Test func deferredMigrationIsMarkedAndCompleted() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.fill(url)
            let version = Versions.changed { entities, _ in
                Versions.remove("kind", from: entities["Note"])
                Versions.remove("title", from: entities["Note"])
            }
            let coordinator = NSPersistentStoreCoordinator(managedObjectModel: version)
            let options = Versions.automatically.merging([NSPersistentStoreDeferredLightweightMigrationOptionKey: true]) { $1 }
            let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
            let key = NSPersistentStoreDeferredLightweightMigrationOptionKey
            #expect(coordinator.metadata(for: store)[key] != nil)
            try coordinator.finishDeferredLightweightMigrationTask()
            try coordinator.finishDeferredLightweightMigration()
            try coordinator.remove(store)
            let metadata = try NSPersistentStoreCoordinator.metadataForPersistentStore(ofType: NSSQLiteStoreType, at: url, options: nil)
            #expect(metadata[key] == nil)
            try Versions.open(url, version, options: nil) { context throws in
                #expect(try Versions.values("Note", "count", by: "count", context, as: Int.self) == [1, 2, 3])
            }
        }
    }
}
