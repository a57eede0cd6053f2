// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import MirroringCore
import Synchronization

/// The store of the sync metadata, next to the app's store.
///
/// Unchecked: used on the context's queue only.
final class MetadataFile: @unchecked Sendable {
    let context: NSManagedObjectContext
    private let container: NSPersistentContainer
    private let path: String
    /// The number of entries in the conflict log; nil if it may have changed since they were counted.
    var knownConflictCount: Int?
    /// The number of records with quarantined values; nil if it may have changed since they were counted.
    var knownQuarantinedCount: Int?

    /// Paths of the open files of this process: two mirrors of one store would send each change twice.
    private static let open = Mutex<Set<String>>([])
    /// Whether this object has removed its path: the path may be that of a later mirror since.
    private let isClosed = Mutex(false)

    /// Opens the file, and creates it if it is missing.
    ///
    /// - Throws: ``TarnMirror/Failure`` with `.metadata`, and `.unsupportedStore` if another mirror of this process has it open.
    init(beside store: NSPersistentStore, at url: URL?) throws {
        guard let url = url ?? store.url.map({ Self.defaultURL(of: $0) }) else {
            throw TarnMirror.Failure(.metadata, "the store has no file, so its sync metadata have none; name one in the options")
        }
        let path = url.standardizedFileURL.path
        self.path = path
        guard Self.open.withLock({ $0.insert(path).inserted }) else {
            throw TarnMirror.Failure(.unsupportedStore, "another mirror of this process syncs the store; stop it first")
        }
        container = NSPersistentContainer(name: "TarnMirror", managedObjectModel: MetadataModel.model)
        let description = NSPersistentStoreDescription(url: url)
        description.shouldAddStoreAsynchronously = false
        container.persistentStoreDescriptions = [description]
        let failure = LoadFailure()
        container.loadPersistentStores { _, error in failure.error = error }
        if let error = failure.error {
            let code = (error as NSError).code
            _ = Self.open.withLock { $0.remove(path) }
            throw TarnMirror.Failure(
                .metadata,
                "the sync metadata in \(url.lastPathComponent) cannot be opened (\(code)); is the folder writable?")
        }
        context = container.newBackgroundContext()
        context.undoManager = nil
    }

    deinit { releasePath() }

    private func releasePath() {
        let isFirst = isClosed.withLock { isClosed in
            defer { isClosed = true }
            return !isClosed
        }
        if isFirst { _ = Self.open.withLock { $0.remove(path) } }
    }

    /// Unchecked: written before the load returns, since stores are added synchronously.
    private final class LoadFailure: @unchecked Sendable {
        var error: (any Error)?
    }

    static func defaultURL(of store: URL) -> URL { store.appendingPathExtension("tarn-mirror") }

    /// Closes the file.
    func close() throws {
        defer { releasePath() }
        context.performAndWait { context.reset() }
        for store in container.persistentStoreCoordinator.persistentStores { try container.persistentStoreCoordinator.remove(store) }
    }

    // MARK: Objects

    func objects(
        _ entity: MetadataModel.Entity, where predicate: NSPredicate? = nil, sortedBy keys: [String] = [], limit: Int = 0
    ) throws -> [NSManagedObject] {
        let request = NSFetchRequest<NSManagedObject>(entityName: entity.rawValue)
        request.predicate = predicate
        request.sortDescriptors = keys.map { NSSortDescriptor(key: $0, ascending: true) }
        request.fetchLimit = limit
        request.returnsObjectsAsFaults = false
        return try context.fetch(request)
    }

    func count(_ entity: MetadataModel.Entity, where predicate: NSPredicate? = nil) throws -> Int {
        let request = NSFetchRequest<NSManagedObject>(entityName: entity.rawValue)
        request.predicate = predicate
        return try context.count(for: request)
    }

    /// Whether a table has a row.
    func has(_ entity: MetadataModel.Entity) throws -> Bool {
        let request = NSFetchRequest<NSManagedObject>(entityName: entity.rawValue)
        request.fetchLimit = 1
        return try context.count(for: request) > 0
    }

    func insert(_ entity: MetadataModel.Entity) -> NSManagedObject {
        NSEntityDescription.insertNewObject(forEntityName: entity.rawValue, into: context)
    }

    /// The greatest value of a numeric column; 0 for an empty table.
    func maximum(of column: String, in entity: MetadataModel.Entity) throws -> Int64 {
        let request = NSFetchRequest<NSManagedObject>(entityName: entity.rawValue)
        request.sortDescriptors = [NSSortDescriptor(key: column, ascending: false)]
        request.fetchLimit = 1
        return try context.fetch(request).first?.number(column) ?? 0
    }

    /// Saves, and releases the objects.
    func save() throws {
        if context.hasChanges { try context.save() }
        context.reset()
    }

    // MARK: State

    /// - Throws: ``TarnMirror/Failure`` with `.metadata` for a file of a later version of this library.
    func state() throws -> MirrorState {
        guard let content = try objects(.state, limit: 1).first?.bytes("content") else { return MirrorState() }
        let state = try JSONDecoder().decode(MirrorState.self, from: content)
        guard state.format <= MirrorState.currentFormat else {
            throw TarnMirror.Failure(.metadata, "the sync metadata were written by a later version of TarnMirror; update the app")
        }
        return state
    }

    func set(_ state: MirrorState) throws {
        let object = try objects(.state, limit: 1).first ?? insert(.state)
        object.setValue(try JSONEncoder().encode(state), forKey: "content")
    }
}

extension NSManagedObject {
    func text(_ key: String) -> String? { value(forKey: key) as? String }

    func number(_ key: String) -> Int64 { optionalNumber(key) ?? 0 }

    func optionalNumber(_ key: String) -> Int64? { (value(forKey: key) as? NSNumber)?.int64Value }

    func bytes(_ key: String) -> Data? { value(forKey: key) as? Data }

    func set(_ key: String, _ number: Int64?) { setValue(number.map { NSNumber(value: $0) }, forKey: key) }
}
