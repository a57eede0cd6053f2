// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import CloudWire
import Foundation
import ManagedModel
import MirroringCore

/// The app's store and its sync metadata. Each function gathers facts, lets `MirroringCore` decide, and stores the decision.
///
/// The two files have no common transaction. Changes of the metadata alone are one save; changes of both go through a journal:
///
///     metadata   journal J: the changes to come ──┐                    ┌── the changes, without J
///     app                                         └── rows, named J ───┘
///
/// A process that ends before the rows are saved finds no transaction named J in history, and drops the journal: the page is fetched again.
/// One that ends behind that finds it, and applies the journal. If the app deleted that part of history, the objects that the journal adds
/// show whether the rows were saved: their IDs were assigned for it, and no other object has them. Exports need no journal: names of new
/// records are saved before anything is sent, in one save with the history token that they follow from.
///
/// Calls block their thread: they are made on the mirror's own queue.
///
/// Unchecked: everything but constants is used inside ``transaction(_:)``, on the queues of both contexts.
final class MirroredStore: @unchecked Sendable {
    let container: NSPersistentContainer
    let store: NSPersistentStore
    let mapping: RecordMapping
    let metadata: MetadataFile
    let containerIdentifier: String
    let environment: MirrorEnvironment
    let context: NSManagedObjectContext
    let keys: KeyTable
    /// Whether an earlier transaction may have left a journal.
    private var mayHaveJournal = true
    /// Whether ``begin()`` was stored.
    private var hasBegun = false
    /// Whether the metadata may name objects as an earlier version of the model does.
    private var mayHaveEarlierNames = true
    /// The number of items that are to be sent; nil if something other than sending may have changed it. Counting takes time proportional
    /// to the number, and a first upload has many batches.
    var knownPendingCount: Int?
    /// Whether the server may have rejected items permanently.
    var mayHaveRejections = true

    init(
        container: NSPersistentContainer, store: NSPersistentStore, mapping: RecordMapping, metadata: MetadataFile,
        containerIdentifier: String, environment: MirrorEnvironment
    ) {
        self.container = container
        self.store = store
        self.mapping = mapping
        self.metadata = metadata
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        keys = KeyTable(coordinator: container.persistentStoreCoordinator, metadata: metadata, model: mapping.model)
        context = container.newBackgroundContext()
        context.undoManager = nil
        context.automaticallyMergesChangesFromParent = false
        // A save of the app between a read and the mirror's save: the mirror reads again.
        context.mergePolicy = NSMergePolicy.error
        context.transactionAuthor = MirrorNames.importAuthor
    }

    /// Seconds since 2001.
    var now: Double { environment.now().timeIntervalSinceReferenceDate }

    // MARK: Transactions

    /// Runs a closure on both contexts, and saves the metadata. If it throws, unsaved changes of both are dropped.
    func transaction<Value>(_ body: () throws -> Value) throws -> Value {
        try context.performAndWait {
            try metadata.context.performAndWait {
                do {
                    context.reset()
                    keys.trim()
                    if mayHaveJournal { try finishJournal() }
                    if mayHaveEarlierNames { try renameObjects() }
                    let value = try body()
                    try metadata.save()
                    return value
                } catch {
                    context.rollback()
                    metadata.context.rollback()
                    metadata.context.reset()
                    keys.trim(always: true)
                    metadata.knownConflictCount = nil
                    metadata.knownQuarantinedCount = nil
                    knownPendingCount = nil
                    mayHaveRejections = true
                    throw error
                }
            }
        }
    }

    /// Saves changes of rows together with changes of the metadata.
    ///
    /// - Parameter changes: The whole changes of the metadata, the state included.
    /// - Throws: The error of the save: nothing is changed then. The changes made to objects before the call are dropped.
    func save(with changes: MetadataChanges) throws {
        guard context.hasChanges else {
            knownPendingCount = nil
            try metadata.apply(changes)
            return try metadata.save()
        }
        let identifier = environment.makeName()
        try metadata.writeJournal(changes, identifier: identifier)
        try metadata.save()
        mayHaveJournal = true
        try environment.reached(.journalWritten)
        context.name = Self.journalPrefix + identifier
        do {
            try context.save()
        } catch {
            let failure = Self.validationFailure(error) ?? error
            context.rollback()
            try metadata.removeJournal()
            try metadata.save()
            mayHaveJournal = false
            throw failure
        }
        try environment.reached(.rowsSaved)
        try finish(changes)
    }

    /// The failure of a save of values that the app's validation rejects; nil for other errors. It names the property, and no value.
    private static func validationFailure(_ error: any Error) -> CloudFailure? {
        guard let error = error as? CocoaError, 1550..<1700 ~= error.code.rawValue else { return nil }
        let first = (error.userInfo[NSDetailedErrorsKey] as? [any Error])?.first as? CocoaError ?? error
        let entity = (first.userInfo[NSValidationObjectErrorKey] as? NSManagedObject)?.entity.name ?? "an object"
        let property = (first.userInfo[NSValidationKeyErrorKey] as? String).map { ".\($0)" } ?? ""
        return CloudFailure(
            .internalError,
            "\(entity)\(property) from another device fails the app's validation (Core Data's error \(first.code.rawValue)), so sync waits; "
                + "permit the value in the model or the class, or change it on the other device")
    }

    private static let journalPrefix = "tarn.mirror."

    private func finish(_ changes: MetadataChanges) throws {
        knownPendingCount = nil
        try metadata.apply(changes)
        try metadata.removeJournal()
        try metadata.save()
        mayHaveJournal = false
    }

    /// Applies or drops the journal that a process left behind.
    private func finishJournal() throws {
        guard let (identifier, changes) = try metadata.journal() else {
            mayHaveJournal = false
            return
        }
        let isSaved =
            try hasTransaction(named: Self.journalPrefix + identifier, after: try metadata.state()) ?? hasObjects(addedBy: changes)
        if isSaved { return try finish(changes) }
        try metadata.removeJournal()
        try metadata.save()
        mayHaveJournal = false
    }

    /// Whether the store has one of the objects that the metadata get by changes. A save has all of them or none; the app may have deleted
    /// some since.
    private func hasObjects(addedBy changes: MetadataChanges) throws -> Bool {
        let uris = changes.records.map(\.uri).filter { !$0.isEmpty }
        let known = Set(try metadata.records(ofObjects: uris).map(\.uri))
        return try hasObjects(at: uris.filter { !known.contains($0) })
    }

    /// Names objects as the present model does: their URIs contain the name of the entity, which a new version of the app may rename.
    ///
    /// Before anything looks up an object, and again until ``open()`` has stored the names of the present model.
    private func renameObjects() throws {
        if let known = try metadata.state().serverNames {
            let lines = Set(known.split(separator: "\n"))
            for entity in mapping.entities.values where !lines.contains("\(entity.entity.name) \(entity.name)") {
                let records = NSPredicate(format: "entityName == %@", argumentArray: [entity.name])
                for object in try metadata.objects(.record, where: records) {
                    guard let uri = object.text("uri"), let renamed = keys.uri(uri, renamedTo: entity.entity.name), renamed != uri else {
                        continue
                    }
                    object.setValue(renamed, forKey: "uri")
                }
            }
            try metadata.save()
        }
        mayHaveEarlierNames = false
    }

    // MARK: Set-up

    /// The account and zone of the last sync.
    struct Memory: Sendable {
        var owner: StoreOwner
        /// nil before the first sync with the zone.
        var databaseToken: String?
    }

    /// Checks that the metadata are this store's, and handles a change of the model.
    ///
    /// - Throws: `CloudFailure` with `.badContainer` for metadata of another container or another store, and for a model that gives parts
    ///   other names on the server.
    func open() throws -> Memory {
        try transaction {
            var state = try metadata.state()
            if let known = state.container, known != containerIdentifier {
                throw CloudFailure(
                    .badContainer,
                    "this store was synced with the container \(known) and cannot be synced with \(containerIdentifier); use another file")
            }
            if let known = state.store, known != store.identifier {
                throw CloudFailure(
                    .badContainer,
                    "the sync metadata belong to another store; a replaced store is synced with a new file of metadata, as a new device")
            }
            let names = ServerNames(mapping)
            if let loss = state.serverNames.flatMap({ ServerNames(text: $0).losses(to: names).first }) {
                throw CloudFailure(.badContainer, loss.reason)
            }
            if let known = state.fingerprint, known != mapping.fingerprint {
                // Records may have fields that only this version of the model has.
                state.beginFullFetch(expectsHistory: true)
            }
            (state.container, state.store) = (containerIdentifier, store.identifier)
            (state.serverNames, state.fingerprint) = (names.text, mapping.fingerprint)
            try metadata.set(state)
            return Memory(owner: StoreOwner(user: state.user, server: state.server), databaseToken: state.databaseToken)
        }
    }

    /// Begins a launch: requests of an earlier one are in doubt, and rejected changes are retried once. Later calls have no effect.
    ///
    /// Requests are sent after it: a request that is not marked is dropped if the server is busy, although it may have been executed.
    func begin() throws {
        try transaction {
            if hasBegun { return }
            try environment.reached(.launchBegun)
            knownPendingCount = nil
            try metadata.doubtRequests()
            try metadata.clearRejections()
            try metadata.save()
            hasBegun = true
        }
    }

    func remember(_ owner: StoreOwner) throws {
        try transaction {
            var state = try metadata.state()
            // A server that did not identify itself is the known one.
            (state.user, state.server) = (owner.user ?? state.user, owner.server ?? state.server)
            try metadata.set(state)
        }
    }

    func remember(databaseToken token: String) throws {
        try transaction {
            var state = try metadata.state()
            state.databaseToken = token
            try metadata.set(state)
        }
    }

    func state() throws -> MirrorState { try transaction { try metadata.state() } }

    func recordName(of id: NSManagedObjectID) throws -> String? {
        try transaction { try metadata.records(ofObjects: [KeyTable.uri(of: id)]).first?.name }
    }

    /// Reads history, and returns the number of items that are to be sent.
    func pendingCount() throws -> Int {
        try transaction {
            try scan()
            return try countPending()
        }
    }

    /// Counts the items that are to be sent, unless the number is known.
    func countPending() throws -> Int {
        let count = try knownPendingCount ?? metadata.pendingCount()
        knownPendingCount = count
        return count
    }
}

extension MirrorState {
    /// Forgets the change token of the zone.
    ///
    /// - Parameter expectsHistory: Whether the server's history must contain what the token stands for: a restored server may lack it, and
    ///   a record that it lacks then is not a deleted one.
    mutating func beginFullFetch(expectsHistory: Bool) {
        exportedToken = expectsHistory ? exportedToken ?? token : nil
        token = nil
        generation += 1
        isFullFetch = true
    }
}
