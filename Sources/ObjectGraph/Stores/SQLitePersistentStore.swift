// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore

/// A SQLite store: a file, or a database in memory.
final class SQLitePersistentStore: NSPersistentStore, @unchecked Sendable {
    // Unchecked, like its superclass: set while the store is added or moved.
    private var plan: StorePlan?

    override func open(_ plan: StorePlan) throws {
        self.plan = plan
        let isInMemory = plan.description.type == NSInMemoryStoreType
        let opened: SQLiteStore
        do {
            opened = try SQLiteStore(
                url: isInMemory ? nil : url, model: plan.model, configuration: plan.description.configuration, number: plan.number,
                options: SQLiteStore.Options(plan))
        } catch {
            throw Self.cocoaError(error, plan)
        }
        sqlite = opened
        var metadata = try translated { try opened.read { try $0.metadata() } }
        if isInMemory { metadata[NSStoreTypeKey] = NSInMemoryStoreType }
        adoptMetadata(metadata)
        if !plan.description.isHistoryTracked, try hasHistory() { isReadOnly = true }
    }

    /// Whether the store has a history. A save that does not continue it would leave a gap that readers of the history
    /// cannot detect, so such a store is opened read-only.
    ///
    /// Source: core-data-api, "Persistent history" (the framework's log says that it forces the store read-only).
    private func hasHistory() throws -> Bool { try translated { try storage.read { try $0.latestTransaction() } > 0 } }

    /// The metadata have the store's version, for the app.
    private static func cocoaError(_ error: StoreError, _ plan: StorePlan) -> CocoaError {
        let cocoa = CocoaError(error)
        guard error.code == .incompatibleModel, let url = plan.description.url, let metadata = try? SQLiteStore.metadata(at: url) else {
            return cocoa
        }
        return CocoaError(cocoa.code, userInfo: cocoa.userInfo.merging(["metadata": metadata, "reason": "\(error.summary)"]) { $1 })
    }

    override func close() { sqlite?.close() }

    override func relocate(to url: URL) -> Bool {
        guard let plan, plan.description.type == NSSQLiteStoreType, FileManager.default.fileExists(atPath: url.path) else { return false }
        let (oldURL, oldFile) = (self.url, sqlite)
        self.url = url
        do {
            try open(plan)
        } catch {
            (self.url, sqlite) = (oldURL, oldFile)
            return false
        }
        oldFile?.close()
        return true
    }

    override func fetch(_ query: StoreQuery) throws -> [Row] { try translated { try storage.read { try $0.fetch(query) } } }
    override func fetchKeys(_ query: StoreQuery) throws -> [RowKey] { try translated { try storage.read { try $0.fetchKeys(query) } } }
    override func count(_ query: StoreQuery) throws -> Int { try translated { try storage.read { try $0.count(query) } } }
    override func row(_ key: RowKey) throws -> Row? { try translated { try storage.row(key) } }
    override func rows(_ keys: [RowKey]) throws -> [Row] { try translated { try storage.read { try $0.rows(keys) } } }

    override func destinations(of key: RowKey, toMany index: Int) throws -> [RowKey] {
        try translated { try storage.read { try $0.destinations(of: key, toMany: index) } }
    }

    override func allocateKeys(for objects: [NSManagedObject], entity: Int) throws -> [RowKey] {
        try translated { try storage.write { try $0.allocateKeys(for: entity, count: objects.count) } }
    }

    override func save(_ changes: StoreChanges, of objects: [NSManagedObject], in context: NSManagedObjectContext?) throws {
        guard isMetadataChanged else {
            _ = try storage.save(changes)
            return
        }
        let metadata = metadata ?? [:]
        try storage.write { writer in
            try writer.setMetadata(metadata)
            try writer.apply(changes)
        }
        metadataWasSaved()
    }

    override func saveMetadata(in context: NSManagedObjectContext?) throws {
        let metadata = metadata ?? [:]
        try translated { try storage.write { try $0.setMetadata(metadata) } }
        metadataWasSaved()
    }

    override class func metadataForPersistentStore(with url: URL) throws -> [String: Any] {
        do { return try SQLiteStore.metadata(at: url) } catch { throw CocoaError(error) }
    }

    override class func setMetadata(_ metadata: [String: Any]?, forPersistentStoreAt url: URL) throws {
        do { try SQLiteStore.setMetadata(metadata ?? [:], at: url) } catch { throw CocoaError(error) }
    }
}

extension SQLiteStore.Options {
    init(_ plan: StorePlan) {
        self.init(clock: { Date().timeIntervalSinceReferenceDate }, makeIdentifier: { UUID() })
        let description = plan.description
        processID = "\(ProcessInfo.processInfo.processIdentifier)"
        bundleID = ProcessInfo.processInfo.processName
        isReadOnly = description.isReadOnly
        isHistoryEnabled = description.isHistoryTracked
        busyTimeout = .seconds(description.timeout)
        pragmas = description.sqlitePragmas.compactMapValues { ($0 as? NSString).map { $0 as String } ?? ($0 as? NSNumber)?.stringValue }
        analyzes = description.isOn(NSSQLiteAnalyzeOption)
        vacuums = description.isOn(NSSQLiteManualVacuumOption)
        versionHashes = plan.versionHashes
        earlierVersionHashes = plan.earlierVersionHashes
        versionIdentifiers = plan.versionIdentifiers
        versionChecksum = plan.versionChecksum
        modelChanges =
            !description.shouldMigrateStoreAutomatically
            ? .refuse : description.shouldInferMappingModelAutomatically ? .infer : .requireMapping
        defersDrops = description.isOn(NSPersistentStoreDeferredLightweightMigrationOptionKey)
        isSynced = description.isSynced
        sourceModels = { ModelLookup.known() }
        ignoresVersions = description.ignoresVersions
        readerCount = (description.options[NSPersistentStoreConnectionPoolMaxSizeKey] as? NSNumber)?.intValue
    }
}
