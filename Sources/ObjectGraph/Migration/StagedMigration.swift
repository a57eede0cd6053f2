// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore

/// Migrates a file through the stages between its version and the model's.
///
/// A stage changes the tables in one transaction, before its `didMigrateHandler` converts their content. So the file's
/// metadata names a stage until its handler has ended, and the handler is called again at the next opening (unverified
/// for Apple's).
struct StagedMigration {
    let manager: NSStagedMigrationManager
    let description: NSPersistentStoreDescription
    let url: URL
    let target: NSManagedObjectModel

    /// - Throws: `CocoaError` 134504 for a version that no stage names, 134505 for a store without a version, 134506
    ///   when the model is older than the store; a handler's error; errors of migration.
    func run() throws {
        guard FileManager.default.fileExists(atPath: url.path) else { return }
        let metadata: [String: Any]
        do { metadata = try SQLiteStore.metadata(at: url) } catch { throw CocoaError(error) }
        guard var checksum = metadata[NSPersistentStoreModelVersionChecksumKey] as? String, metadata[tarnHashVersionKey] != nil else {
            throw CocoaError(
                .stagedMigrationFrameworkVersionMismatch,
                sentence: "The store at \(url.path) does not say which version of the model it was made with; open it once without stages.")
        }
        try finishStage(endingAt: checksum, metadata)
        if checksum == target.versionChecksum || checksum == target.earlierVersionChecksum { return }
        let (start, end) = (try position(of: checksum, "store"), try position(of: target.versionChecksum, "model of the coordinator"))
        guard start <= end else {
            throw CocoaError(
                .stagedMigrationBackwardMigration,
                sentence: "The store at \(url.path) was made with a later version of the model; stages lead forward only.")
        }
        for case let stage as NSCustomMigrationStage in manager.stages[start.stage..<max(start.stage, end.stage)] {
            if checksum != stage.currentModel.versionChecksum { try open(stage.currentModel) { _ in } }
            if let handler = stage.willMigrateHandler { try open(stage.currentModel) { _ in try handler(manager, stage) } }
            checksum = stage.nextModel.versionChecksum
            try markUnfinished(stage.didMigrateHandler == nil ? nil : checksum)
            try finish(stage)
        }
    }

    /// The metadata key of the version whose `didMigrateHandler` has not ended: the tables have that version before the
    /// handler converts their content.
    private static let unfinishedKey = "TarnUnfinishedMigrationStage"

    /// Calls a handler again that failed, or that the end of the process interrupted.
    private func finishStage(endingAt checksum: String, _ metadata: [String: Any]) throws {
        guard metadata[Self.unfinishedKey] as? String == checksum else { return }
        let stages = manager.stages.compactMap { $0 as? NSCustomMigrationStage }
        guard let stage = stages.first(where: { $0.nextModel.versionChecksum == checksum }) else { return }
        try finish(stage)
    }

    private func finish(_ stage: NSCustomMigrationStage) throws {
        try open(stage.nextModel) { _ in try stage.didMigrateHandler?(manager, stage) }
        try markUnfinished(nil)
    }

    private func markUnfinished(_ checksum: String?) throws {
        do {
            var metadata = try SQLiteStore.metadata(at: url)
            guard metadata[Self.unfinishedKey] as? String != checksum else { return }
            metadata[Self.unfinishedKey] = checksum
            try SQLiteStore.setMetadata(metadata, at: url)
        } catch { throw CocoaError(error) }
    }

    private struct Position: Comparable {
        /// The first stage that has not run yet.
        var stage: Int
        /// Index among the versions of a lightweight stage.
        var version: Int

        static func < (a: Position, b: Position) -> Bool { (a.stage, a.version) < (b.stage, b.version) }
    }

    private func position(of checksum: String, _ whose: String) throws -> Position {
        let positions = manager.stages.enumerated().compactMap { index, stage -> Position? in
            switch stage {
            case let stage as NSCustomMigrationStage:
                if stage.nextModel.versionChecksum == checksum { return Position(stage: index + 1, version: 0) }
                return stage.currentModel.versionChecksum == checksum ? Position(stage: index, version: 0) : nil
            case let stage as NSLightweightMigrationStage:
                return stage.versionChecksums.firstIndex(of: checksum).map { Position(stage: index, version: $0) }
            default: return nil
            }
        }
        guard let position = positions.max() else {
            throw CocoaError(
                .modelReferenceNotFound,
                sentence: "No migration stage has the version of the \(whose) with the checksum \(checksum); add it to a stage.")
        }
        return position
    }

    /// Opens the store with a version of the model, which migrates a store of another version.
    private func open(_ reference: NSManagedObjectModelReference, _ body: (NSPersistentContainer) throws -> Void) throws {
        let container = NSPersistentContainer(
            name: url.deletingPathExtension().lastPathComponent, managedObjectModel: try reference.resolve().withoutClasses())
        guard let copy = description.copy() as? NSPersistentStoreDescription else { return }
        copy.setOption(nil, forKey: NSPersistentStoreStagedMigrationManagerOptionKey)
        copy.shouldAddStoreAsynchronously = false
        copy.shouldMigrateStoreAutomatically = true
        copy.shouldInferMappingModelAutomatically = true
        let store = try container.persistentStoreCoordinator.add(copy)
        manager.container = container
        defer {
            manager.container = nil
            try? container.persistentStoreCoordinator.remove(store)
        }
        try body(container)
    }
}

extension NSManagedObjectModel {
    /// The model with plain objects: an object of the old version is not an instance of the new version's class.
    func withoutClasses() -> NSManagedObjectModel {
        var value = value
        for index in value.entities.indices {
            value.entities[index].className = "NSManagedObject"
            value.entities[index].classModule = nil
        }
        return NSManagedObjectModel(value)
    }
}
