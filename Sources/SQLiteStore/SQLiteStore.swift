// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
import GRDB
package import ManagedModel
import Synchronization

/// A SQLite file, or a database in memory, that keeps rows of a model in Core Data's table layout.
///
/// Readers see one consistent snapshot each and never wait for the writer. Writes take turns: in this process on the
/// connection pool's writer queue, among processes by a lock file beside the store. A call may come from any thread
/// and blocks it; a call from inside the closure of another call on the same store traps.
package final class SQLiteStore: Sendable {
    /// What becomes of a store of another version of the model.
    package enum ModelChanges: Sendable {
        case refuse
        /// Somebody has to say how, and nobody did.
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
        /// Gives a new store its identifier.
        package var makeIdentifier: @Sendable () -> UUID
        /// Recorded with each history transaction.
        package var processID: String?
        package var bundleID: String?
        /// Pragmas for each connection, by name.
        package var pragmas: [String: String] = [:]
        /// How many connections may read at the same time; nil leaves it to the pool.
        package var readerCount: Int?
        /// Whether opening gathers statistics for SQLite's planner.
        package var analyzes = false
        /// Whether opening rebuilds the file.
        package var vacuums = false
        /// What the metadata says about the model, by entity; empty leaves versions alone.
        package var versionHashes: [String: Data] = [:]
        /// Version hashes of the same entities in the form that earlier releases wrote.
        package var earlierVersionHashes: [String: Data] = [:]
        package var versionIdentifiers: [String] = []
        /// One text for all entities of the model.
        package var versionChecksum: String?
        package var modelChanges = ModelChanges.infer
        package var ignoresVersions = false
        /// Whether a migration leaves for later what means to write a table anew.
        package var defersDrops = false
        /// Whether other devices have the same rows, with the old version of the model perhaps.
        package var isSynced = false
        /// Models that a store without a record of its own, such as one of Apple's, may have been made for.
        package var sourceModels: @Sendable () -> [Model] = { [] }
        /// A store in memory is never opened again, and keeps no model.
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
    /// nil for a store in memory.
    package let url: URL?
    package let options: Options
    let layout: StoreLayout
    let database: any DatabaseWriter
    private let lock: StoreLock?
    /// Keeps the temporary copy of an inspected file, if there is one.
    private let inspected: StoreFile?
    /// nil for a store in memory, and for a file that keeps no log.
    let generations: GenerationKeeper?
    let watch = Mutex<FileWatch?>(nil)
    /// Files of large values that go as soon as nobody can see them any more.
    let unneededFiles = Mutex<[String]>([])
    /// nil for a store in memory, which one connection has, and for one that may only be read.
    private let points: PointReader?
    let gate = CallGate()
    /// What ``StoreReader`` found of the history's tables; nil columns where there are none.
    let historyColumns = Mutex<(schemaVersion: Int64, columns: HistoryColumns?)?>(nil)

    /// Opens a store and creates it if the file does not exist. A store of an older model is migrated.
    ///
    /// - Parameters:
    ///   - url: nil or `/dev/null` for a store in memory.
    ///   - number: What the store's row keys carry.
    /// - Throws: ``StoreError``: `.notFound` (the folder, or a read-only store's file), `.notPermitted`, `.corrupt`,
    ///   `.newerFormat`, `.incompatibleModel`, `.noMapping`, `.noSourceModel`, `.notInferable`, `.modelOfOthers` and `.migration` naming
    ///   what does not fit, `.busy`, `.diskFull`. The file is as it was.
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
        do {
            let opened = try Self.open(url, options, prepare)
            self.database = opened.database
            self.lock = opened.lock
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
        if options.vacuums, !options.isReadOnly {
            do {
                try database.writeWithoutTransaction { database in try inTurn { try removeUnnamedFiles(on: database) } }
            } catch {
                throw StoreError(error).about(url?.path ?? "store in memory")
            }
        }
    }

    deinit { close() }

    /// Ends all work on the file: waits for calls that are under way; later calls throw. Closing twice is harmless.
    package func close() {
        guard gate.close() else { return }
        watch.withLock { $0.take() }?.cancel()
        generations?.close()
        points?.close()
        // What readers kept is free now, unless other processes read it.
        if unneededFiles.withLock({ !$0.isEmpty }) {
            try? database.writeWithoutTransaction { database in try inTurn { removeFiles([], on: database) } }
        }
        // The last connection to close moves the log into the file, if it may write. The pool closes its writer first, so
        // its readers go before.
        (database as? DatabasePool)?.invalidateReadOnlyConnections()
        // Moving the log waits for its turn like any writer. When no turn comes, or the disk fails, the log is left for the
        // next opening, which is as safe.
        if let lock { try? lock.withLock { try database.close() } } else { try? database.close() }
    }

    // MARK: Reading and writing

    /// Runs `body` on one consistent snapshot: of now, or of the view that the thread's ``GenerationScope`` names. The
    /// reader must not leave the closure.
    ///
    /// - Throws: What `body` throws, or ``StoreError``.
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

    /// - Returns: The row as it was last committed; nil when there is no such row. The row's key has the concrete
    ///   entity, which may be an heir of the one asked for.
    package func row(_ key: RowKey) throws -> ManagedModel.Row? {
        guard key.store == number else { return nil }
        guard let points, GenerationScope.generation(of: number) == nil else { return try read { try $0.row(key) } }
        do throws(StoreError) {
            return try points.row(key.primaryKey, try layout.entity(key.entityIndex), layout, store: number)
        } catch {
            throw error.about(url?.path ?? "")
        }
    }

    /// Runs `body` in one transaction that no other writer interrupts. It is undone when `body` throws.
    ///
    /// - Throws: What `body` throws, or ``StoreError``.
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
                        // Of a commit that failed nobody knows what the disk has of it: then the files stay.
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
        if let lock { try lock.withLock(body) } else { try body() }
    }

    func translatingErrors<T>(_ body: () throws -> T) throws -> T {
        do { return try gate.pass(body) } catch let error as DatabaseError {
            throw StoreError(error).about(path)
        }
    }

    private var path: String { url?.path ?? "store in memory" }
}
