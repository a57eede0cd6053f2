// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// The code of each reason to refuse a migration, and the state in which the store is left.
@Suite struct RefusalCodeTests {
    private typealias Change = @Sendable ([String: NSEntityDescription]) -> Void

    private func code(_ url: URL, _ model: NSManagedObjectModel, _ options: [AnyHashable: Any]? = Versions.automatically) -> Int? {
        Depot.code { try Versions.open(url, model, options: options) { _ in } }
    }

    private static let changes: [(String, Change, Int)] = [
        ("Note.title", { Versions.attribute($0["Note"], "title")?.attributeType = .dateAttributeType }, 134_190),
        ("Note.must", { $0["Note"]?.properties.append(Library.attribute("must", .stringAttributeType, isOptional: false)) }, 134_110),
        ("Note.title", { Versions.attribute($0["Note"], "title")?.isOptional = false }, 134_110),
        ("Note", { $0["Note"]?.isAbstract = true }, 134_110),
        ("Folder.notes", { $0["Folder"]?.relationshipsByName["notes"]?.maxCount = 1 }, 134_110),
    ]

    @Test(arguments: changes.indices)
    func changesAreRefusedByTheirCode(_ index: Int) throws {
        let (name, change, expected) = Self.changes[index]
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.fill(url)
            let version = Versions.changed { entities, _ in change(entities) }
            do {
                try Versions.open(url, version) { _ in }
                Issue.record("\(name) was migrated")
            } catch {
                #expect((error as NSError).code == expected, "\(name)")
                #expect((error as NSError).localizedDescription.contains(name), "\(name)")
            }
            try Versions.open(url, Versions.first(), options: nil) { context throws in
                #expect(try Versions.fetch("Note", context).count == 3)
            }
        }
    }

    @Test func inferenceIsRefusedByItsCode() {
        let wrong = Versions.changed { entities, _ in Versions.attribute(entities["Note"], "title")?.attributeType = .dateAttributeType }
        #expect(
            Depot.code { _ = try NSMappingModel.inferredMappingModel(forSourceModel: Versions.first(), destinationModel: wrong) } == 134_190
        )
    }

    @Test func mappingModelFilesAreNotRead() {
        let (old, new) = (Versions.first(), Versions.changed { entities, _ in Versions.remove("kind", from: entities["Note"]) })
        #expect(NSMappingModel(from: [.main], forSourceModel: old, destinationModel: new) == nil)
        #expect(NSMappingModel(from: nil, forSourceModel: old, destinationModel: new) == nil)
        #expect(NSMappingModel(contentsOf: URL(fileURLWithPath: "/tmp/Model.cdm")) == nil)
    }

    @Test func aManagerReportsItsProgress() throws {
        try Versions.withFolder { folder in
            let (old, new) = (folder.appendingPathComponent("a.sqlite"), folder.appendingPathComponent("b.sqlite"))
            try Versions.fill(old)
            let version = Versions.changed { entities, _ in Versions.remove("kind", from: entities["Note"]) }
            let manager = NSMigrationManager(sourceModel: Versions.first(), destinationModel: version)
            manager.usesStoreSpecificMigrationManager = false
            nonisolated(unsafe) var reports: [Float] = []
            manager.progressHandler = { reports.append($0) }
            try manager.migrateStore(
                from: old, type: .sqlite, options: nil,
                mapping: NSMappingModel.inferredMappingModel(forSourceModel: Versions.first(), destinationModel: version), to: new,
                type: .sqlite, options: nil)
            #expect(reports == reports.sorted())
            #expect(reports.last == 1)
            #expect(reports.count > 1)
        }
    }

    // MARK: Stages

    private static func reference(_ model: NSManagedObjectModel) -> NSManagedObjectModelReference {
        NSManagedObjectModelReference(model: model, versionChecksum: model.versionChecksum)
    }

    private static func second() -> NSManagedObjectModel {
        Versions.changed { entities, _ in entities["Note"]?.properties.append(Library.attribute("upper", .stringAttributeType)) }
    }

    private func options(_ stages: [NSMigrationStage]) -> [AnyHashable: Any] {
        Versions.automatically.merging([NSPersistentStoreStagedMigrationManagerOptionKey: NSStagedMigrationManager(stages)]) { $1 }
    }

    @Test func stagesAreRefusedByTheirCode() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.open(url, Self.second()) { _ in }
            let lightweight = NSLightweightMigrationStage([Versions.first().versionChecksum, Self.second().versionChecksum])
            #expect(code(url, Versions.first(), options([lightweight])) == 134_506)
            let other = Versions.changed { entities, _ in Versions.remove("kind", from: entities["Note"]) }
            #expect(code(url, other, options([lightweight])) == 134_504)
            let wrong = NSManagedObjectModelReference(model: Self.second(), versionChecksum: Versions.first().versionChecksum)
            let custom = NSCustomMigrationStage(migratingFrom: wrong, to: Self.reference(Self.second()))
            let old = folder.appendingPathComponent("b.sqlite")
            try Versions.fill(old)
            custom.willMigrateHandler = { _, _ in }
            #expect(code(old, Self.second(), options([custom])) == 134_504)
        }
    }

    /// The conversion of a stage that failed is repeated: the store must not stay half converted.
    @Test func aStageThatFailedIsRepeated() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.fill(url)
            nonisolated(unsafe) var isFailing = true
            nonisolated(unsafe) var calls: [String] = []
            let custom = NSCustomMigrationStage(
                migratingFrom: Self.reference(Versions.first()), to: Self.reference(Self.second()))
            custom.willMigrateHandler = { _, _ in calls.append("will") }
            custom.didMigrateHandler = { manager, _ in
                calls.append("did")
                if isFailing { throw CocoaError(.userCancelled) }
                let context = try #require(manager.container?.newBackgroundContext())
                try context.performAndWait {
                    for note in try Versions.fetch("Note", context) {
                        note.setValue((note.value(forKey: "title") as? String)?.uppercased(), forKey: "upper")
                    }
                    try context.save()
                }
            }
            #expect(code(url, Self.second(), options([custom])) == CocoaError.Code.userCancelled.rawValue)
            #expect(calls == ["will", "did"])
            isFailing = false
            for _ in 0..<2 {
                try Versions.open(url, Self.second(), options: options([custom])) { context throws in
                    #expect(try Versions.values("Note", "upper", by: "count", context, as: String.self) == ["A", "B", nil])
                }
            }
            #expect(calls == ["will", "did", "did"])
        }
    }

    /// Columns that the model no longer has stay in the table until the deferred work is done.
    @Test func deferredColumnsStayInTheFile() throws {
        try Versions.withFolder { folder in
            let url = folder.appendingPathComponent("a.sqlite")
            try Versions.fill(url)
            let version = Versions.changed { entities, _ in Versions.remove("kind", from: entities["Note"]) }
            let coordinator = NSPersistentStoreCoordinator(managedObjectModel: version)
            let options = Versions.automatically.merging([NSPersistentStoreDeferredLightweightMigrationOptionKey: true]) { $1 }
            let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
            func hasColumn() throws -> Bool {
                let bytes = try ["", "-wal"].reduce(into: Data()) { bytes, suffix in
                    let path = url.path + suffix
                    if FileManager.default.fileExists(atPath: path) { bytes += try Data(contentsOf: URL(fileURLWithPath: path)) }
                }
                return bytes.range(of: Data("ZKIND VARCHAR".utf8)) != nil
            }
            #expect(try hasColumn())
            try coordinator.finishDeferredLightweightMigration()
            #expect(coordinator.metadata(for: store)[NSPersistentStoreDeferredLightweightMigrationOptionKey] == nil)
            try coordinator.remove(store)
        }
    }
}
