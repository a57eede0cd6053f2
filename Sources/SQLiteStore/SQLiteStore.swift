// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
import GRDB
package import ManagedModel
import Synchronization

/// A SQLite file, or a database in memory, with the rows of a model in Core Data's table layout.
///
/// Each reader sees one consistent snapshot and never waits for the writer. Writes are serialized: in this process by the
/// connection pool's writer queue, among processes by a lock file next to the store. A call may come from any thread and
/// blocks it; a call from inside the closure of another call on the same store traps.
package final class SQLiteStore: Sendable {
    /// The treatment of a store of another version of the model.
    package enum ModelChanges: Sendable {
        case refuse
        /// A mapping is required, and none was given.
        case requireMapping
        case infer
    }

    package struct Options: Sendable {
        package var isReadOnly = false
        package var isHistoryEnabled = true
        /// How long a write waits for other processes before it fails with `.busy`.
        package var busyTimeout: Duration = .seconds(10)
        /// Seconds since 2001-01-01 UTC, for history and `now()`.
        package var clock: @Sendable () -> Double
        /// Creates the identifier of a new store.
        package var makeIdentifier: @Sendable () -> UUID
        /// Recorded with each history transaction.
        package var processID: String?
        package var bundleID: String?
        /// Pragmas for each connection, by name.
        package var pragmas: [String: String] = [:]
        /// The number of connections that may read concurrently; nil for the pool's default.
        package var readerCount: Int?
        /// Whether opening gathers statistics for SQLite's planner.
        package var analyzes = false
        /// Whether opening rebuilds the file.
        package var vacuums = false
        /// The model's version hashes in the metadata, by entity; empty leaves versions unchanged.
        package var versionHashes: [String: Data] = [:]
        /// Version hashes of the same entities in the form of earlier releases.
        package var earlierVersionHashes: [String: Data] = [:]
        package var versionIdentifiers: [String] = []
        /// A checksum over all entities of the model.
        package var versionChecksum: String?
        package var modelChanges = ModelChanges.infer
        package var ignoresVersions = false
        /// Whether a migration defers steps that would rewrite a table.
        package var defersDrops = false
        /// Whether other devices have the same rows, possibly with the old version of the model.
        package var isSynced = false
        /// Candidate models for a store without its own record, such as one of Apple's.
        package var sourceModels: @Sendable () -> [Model] = { [] }
        /// Whether the store is never reopened, so that it needs no model record.
        var isTransient = false
        /// Opens without changing anything in the store's folder, with any model that has the columns of its properties.
        var isInspection = false

        package init(clock: @escaping @Sendable () -> Double, makeIdentifier: @escaping @Sendable () -> UUID) {
            self.clock = clock
            self.makeIdentifier = makeIdentifier
        }
    }

    /// The store's UUID, upper case: the host of every object URI.
    package let identifier: String
    package let number: UInt16
    /// nil for an in-memory store.
    package let url: URL?
    package let options: Options
    let layout: StoreLayout
    let database: any DatabaseWriter
    /// nil for a store without one, and for a closed store: its file is closed with the others, although contexts may still have the store.
    private let lock: Mutex<StoreLock?>
    /// Retains the temporary copy of an inspected file, if any.
    private let inspected: StoreFile?
    /// nil for an in-memory store, and for a file without a log.
    let generations: GenerationKeeper?
    let watch = Mutex<FileWatch?>(nil)
    /// External files to remove once no reader can see them any more.
    let unneededFiles = Mutex<[String]>([])
    /// nil for an in-memory store, which has only one connection, and for a read-only one.
    private let points: PointReader?
    let gate = CallGate()
    /// The history columns that ``StoreReader`` found; nil columns without history tables.
    let historyColumns = Mutex<(schemaVersion: Int64, columns: HistoryColumns?)?>(nil)

    /// Opens a store and creates it if the file does not exist. A store of an older model is migrated.
    ///
    /// - Parameters:
    ///   - url: nil or `/dev/null` for an in-memory store.
    ///   - number: The store number in row keys.
    /// - Throws: ``StoreError``: `.notFound` (the folder, or a read-only store's file), `.notPermitted`, `.corrupt`,
    ///   `.newerFormat`, `.incompatibleModel`, `.noMapping`, `.noSourceModel`, `.notInferable`, `.modelOfOthers` and `.migration`
    ///   that name the obstacle, `.busy`, `.diskFull`. The file is unchanged then.
    package init(
        url: URL?, model: ResolvedModel, configuration: String? = nil, number: UInt16, options: Options
    ) throws(StoreError) {
        let url = url?.path == "/dev/null" ? nil : url
        var options = options
        options.isTransient = url == nil
        let openOptions = options
        func prepare(_ database: Database) throws(StoreError) -> StoreOpening.Result {
            try StoreOpening(
                connection: Connection(database), model: model, configuration: configuration,
                options: openOptions
            ).open()
        }
        var droppedFiles: [String] = []
        do {
            let opened = try Self.open(url, options, prepare)
            droppedFiles = opened.result.unneededFiles
            self.database = opened.database
            self.lock = Mutex(opened.lock)
            inspected = opened.inspected
            generations = (opened.database as? DatabasePool).map(GenerationKeeper.init)
            self.identifier = opened.result.identifier
            var layout = opened.result.layout
            layout.external = url.map(ExternalFolder.init)
            self.layout = layout
            points =
                if let url, !options.isReadOnly {
                    try PointReader(path: url.path, patience: options.busyTimeout, entityCount: model.entities.count)
                } else { nil }
        } catch {
            throw StoreError(error).about(url?.path ?? "store in memory")
        }
        self.number = number
        self.url = url
        self.options = options
        if !droppedFiles.isEmpty {
            try? database.writeWithoutTransaction { [droppedFiles] database in try inTurn { removeFiles(droppedFiles, on: database) } }
        }
        if options.vacuums, !options.isReadOnly {
            do {
                try database.writeWithoutTransaction { database in try inTurn { try removeUnnamedFiles(on: database) } }
            } catch {
                throw StoreError(error).about(url?.path ?? "store in memory")
            }
        }
    }

    deinit { close() }

    /// Closes the file: waits for calls in flight; later calls throw. Idempotent.
    package func close() {
        guard gate.close() else { return }
        watch.withLock { $0.take() }?.cancel()
        generations?.close()
        points?.close()
        // Files that readers used are unneeded now, unless other processes read them.
        if unneededFiles.withLock({ !$0.isEmpty }) {
            try? database.writeWithoutTransaction { database in try inTurn { removeFiles([], on: database) } }
        }
        // The last connection to close checkpoints the log, if it may write. The pool closes its writer first, so its
        // readers are closed before.
        (database as? DatabasePool)?.invalidateReadOnlyConnections()
        // A checkpoint takes the lock like any writer. Without the lock, or when the disk fails, the log stays for the
        // next opening, which is as safe.
        if let lock = lock.withLock({ $0.take() }) { try? lock.withLock { try database.close() } } else { try? database.close() }
    }

    // MARK: Reading and writing

    /// Runs `body` on one consistent snapshot: the newest, or that of the thread's ``GenerationScope``. The reader must
    /// not leave the closure.
    ///
    /// - Throws: The error of `body`, or ``StoreError``.
    package func read<T>(_ body: (StoreReader) throws -> T) throws -> T {
        try translatingErrors {
            if let generation = GenerationScope.generation(of: number) {
                return try generation.read { database in try body(StoreReader(Connection(database), self)) }
            }
            return try database.unsafeRead { database in
                let connection = Connection(database)
                return try connection.transaction(.reading, about: path) { try body(StoreReader(connection, self)) }
            }
        }
    }

    /// - Returns: The last committed row; nil if it does not exist. The row's key has the concrete entity, which may be a
    ///   subentity of the requested one.
    package func row(_ key: RowKey) throws -> ManagedModel.Row? {
        guard key.store == number else { return nil }
        guard let points, GenerationScope.generation(of: number) == nil else { return try read { try $0.row(key) } }
        do throws(StoreError) {
            return try points.row(key.primaryKey, try layout.entity(key.entityIndex), layout, store: number)
        } catch {
            throw error.about(url?.path ?? "")
        }
    }

    /// Whether ``packedRow(_:)`` may be called: the store is a file that can be written to.
    package var readsPoints: Bool { points != nil }

    /// Reads a row in packed form, in the newest state even inside a ``GenerationScope``.
    ///
    /// - Precondition: ``readsPoints``.
    /// - Returns: The last committed row; nil if it does not exist.
    package func packedRow(_ key: RowKey) throws(StoreError) -> RowChunk? {
        guard let points, key.store == number else { preconditionFailure("the store reads no single rows") }
        do throws(StoreError) {
            return try points.packedRow(key.primaryKey, try layout.entity(key.entityIndex), layout, store: number)
        } catch {
            throw error.about(url?.path ?? "")
        }
    }

    /// Runs `body` in one transaction, isolated from other writers. Rolls back when `body` throws.
    ///
    /// - Throws: The error of `body`, or ``StoreError``.
    package func write<T>(_ body: (StoreWriter) throws -> T) throws -> T {
        if options.isReadOnly {
            throw StoreError(.notPermitted, "the store was opened read-only", detail: url?.path ?? "")
        }
        return try translatingErrors {
            try database.writeWithoutTransaction { database in
                try inTurn {
                    let connection = Connection(database)
                    var files = ExternalDraft()
                    let result: T
                    do {
                        result = try connection.transaction(.writing, about: path) {
                            let writer = StoreWriter(connection, self)
                            defer { files = writer.external }
                            let result = try body(writer)
                            try writer.finish()
                            return result
                        }
                    } catch {
                        // A failed commit may have reached the disk: then the files stay.
                        if !files.isReady { layout.external?.remove(files.made) }
                        throw error
                    }
                    if layout.hasExternalValues { removeFiles(files.dropped, on: database) }
                    return result
                }
            }
        }
    }

    /// Writes the changes in one transaction.
    ///
    /// - Returns: The number of the history transaction; nil when nothing changed or history is off.
    /// - Throws: ``StoreError``; with `.conflict` it lists every row that did not have the expected version.
    @discardableResult
    package func save(_ changes: StoreChanges) throws -> Int64? { try write { try $0.apply(changes) } }

    func inTurn<T>(_ body: () throws -> T) throws -> T {
        if let lock = lock.withLock({ $0 }) { try lock.withLock(body) } else { try body() }
    }

    func translatingErrors<T>(_ body: () throws -> T) throws -> T {
        do { return try gate.pass(body) } catch let error as DatabaseError {
            throw StoreError(error).about(path)
        }
    }

    private var path: String { url?.path ?? "store in memory" }
}
