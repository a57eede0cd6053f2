// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// One persisted operation in this process, which holds its folder locked until the operation is forgotten.
///
/// Several objects may represent it: the one that the app added, and those that were fetched by its identifier. They
/// execute it in turns, each with the journaled responses of the earlier ones. If no object of the app executes it, it
/// runs silently.
final class PersistedOperation: Sendable {
    private static let archiveName = "operation"
    private static let endDateName = "done"

    private struct State {
        /// Whether an execution is running.
        var isTaken: Bool
        var waiting: [CheckedContinuation<Void, Never>] = []
        var operations: [Weak] = []
        var silentExecution: Task<Void, Never>?
        /// When a silent execution ended that no object of the app has reported.
        var endDate: Date?
        /// Whether its end is being reported, or it was removed.
        var isOver = false
    }

    private struct Weak {
        weak var operation: CKOperation?
    }

    let archive: PersistedOperationArchive
    let store: LongLivedOperationStore
    private let folder: PersistedOperationFolder
    private let journal: OperationJournal
    private let copies: [String: URL]
    private let state: Mutex<State>

    var id: CKOperation.ID { archive.operationID }

    /// Persists an operation that is about to start. It has the first turn.
    ///
    /// - Throws: ``CKError`` if it can never run with its inputs, or the error of the file system.
    init(
        _ operation: CKOperation, _ kind: PersistedOperationKind, _ settings: OperationSettings,
        in store: LongLivedOperationStore
    ) throws {
        var archive: PersistedOperationArchive?
        var copies: [String: URL] = [:]
        folder = try PersistedOperationFolder.create(operation.operationID, in: store.folder) { folder in
            let assets = PersistedAssets(folder)
            let archived = try PersistedOperationArchive(operation, kind, settings, creationDate: store.now(), assets: assets)
            try folder.write(archived.data, to: Self.archiveName)
            archive = archived
            copies = assets.copies
        }
        guard let archive else { throw CKError(.internalError) }
        self.archive = archive
        self.copies = copies
        self.store = store
        journal = OperationJournal(folder)
        state = Mutex(State(isTaken: true, operations: [Weak(operation: operation)]))
    }

    /// Reads the persisted operation of an earlier process.
    ///
    /// - Throws: ``PersistedOperationFolder/Unreadable``, or the error of the file system.
    init(reading folder: PersistedOperationFolder, in store: LongLivedOperationStore) throws {
        guard let data = try folder.read(Self.archiveName) else { throw PersistedOperationFolder.Unreadable() }
        archive = try PersistedOperationArchive(data)
        guard archive.operationID == folder.url.lastPathComponent else { throw PersistedOperationFolder.Unreadable() }
        self.folder = folder
        self.store = store
        copies = [:]
        journal = try OperationJournal(reading: folder)
        let endDate = try folder.read(Self.endDateName).map { data in
            guard let seconds = Double(String(decoding: data, as: UTF8.self)) else { throw PersistedOperationFolder.Unreadable() }
            return Date(timeIntervalSince1970: seconds)
        }
        state = Mutex(State(isTaken: false, endDate: endDate))
    }

    /// `nil` while it isn't done.
    var endDate: Date? { state.withLock { $0.endDate } }
    var isTaken: Bool { state.withLock { $0.isTaken } }
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Creates an object for the app. It runs when it is added.
    ///
    /// - Throws: ``PersistedOperationFolder/Unreadable``.
    func makeOperation(in container: CKContainer) throws -> CKOperation {
        let operation = try archive.makeOperation(in: container)
        operation.persisted = self
        return operation
    }

    // MARK: Turns

    /// Waits for the other executions. A silent one is cancelled.
    func takeTurn(_ operation: CKOperation) async {
        let silentExecution = state.withLock { state in
            state.operations.append(Weak(operation: operation))
            return state.silentExecution
        }
        silentExecution?.cancel()
        await withCheckedContinuation { continuation in
            let isFree = state.withLock { state in
                if state.isTaken {
                    state.waiting.append(continuation)
                    return false
                }
                state.isTaken = true
                return true
            }
            if isFree { continuation.resume() }
        }
    }

    func endTurn() {
        let next = state.withLock { state -> CheckedContinuation<Void, Never>? in
            state.isTaken = !state.waiting.isEmpty
            return state.isTaken ? state.waiting.removeFirst() : nil
        }
        next?.resume()
    }

    /// Adds the journal and the remaining time to the settings.
    func addJournal(to settings: inout OperationSettings, isSilent: Bool, while mayRequest: @escaping @Sendable () -> Bool = { true }) {
        let all = settings.timeoutForResource ?? OperationSettings.resourceSeconds
        settings.timeoutForResource = max(0, all - max(0, store.now().timeIntervalSince(archive.creationDate)))
        settings.journal = JournaledExecution(journal, copies: copies, isSilent: isSilent, while: mayRequest)
    }

    // MARK: Silent execution

    /// Runs without an object of the app, unless one is running or it is done.
    func resume(in container: CKContainer) {
        let store = store
        let mayRequest: @Sendable () -> Bool = { (try? container.connection().longLived) === store && !store.isAbandoned }
        state.withLock { state in
            guard !state.isTaken, !state.isOver, state.endDate == nil else { return }
            state.isTaken = true
            state.silentExecution = Task {
                await self.carryOut(in: container, while: mayRequest)
                self.state.withLock { $0.silentExecution = nil }
                self.endTurn()
            }
        }
    }

    private func carryOut(in container: CKContainer, while mayRequest: @escaping @Sendable () -> Bool) async {
        // The execution belongs to one account, even if another signs in later.
        guard mayRequest(), let container = try? container.boundToPresentConnection(),
            let operation = try? archive.makeOperation(in: container)
        else {
            return
        }
        var settings = operation.settings
        // No caller could decide to retry, so it retries by itself.
        if !settings.isDiscretionary { settings.qualityOfService = .utility }
        addJournal(to: &settings, isSilent: true, while: mayRequest)
        do { try await operation.carryOut(settings) } catch {}
        guard !Task.isCancelled, mayRequest(), settings.journal?.journalFailed == false else { return }
        let now = store.now()
        state.withLock { $0.endDate = now }
        // If the file is lost, the next execution replays the journal without requests.
        try? folder.write(Data(String(now.timeIntervalSince1970).utf8), to: Self.endDateName)
    }

    /// Waits until the silent execution ends.
    func waitUntilIdle() async { await state.withLock { $0.silentExecution }?.value }

    // MARK: The end

    /// From here on it isn't listed: its end is being reported.
    func beginEnd() { state.withLock { $0.isOver = true } }

    func forget() {
        drop()
        store.remove(self)
    }

    /// Removes the files. Called by its store.
    func drop() {
        beginEnd()
        folder.remove()
    }

    /// Removes it, and cancels all objects that represent it.
    func cancel() {
        let (operations, silentExecution) = state.withLock { state -> ([Weak], Task<Void, Never>?) in
            if state.isOver { return ([], nil) }
            state.isOver = true
            return (state.operations, state.silentExecution)
        }
        silentExecution?.cancel()
        for operation in operations { operation.operation?.cancel() }
        forget()
    }

    /// Simulates the end of the process: no more blocks are called, and another process may resume.
    func simulateProcessEnd() {
        folder.release()
        let (operations, silentExecution) = state.withLock { ($0.operations, $0.silentExecution) }
        silentExecution?.cancel()
        for operation in operations { operation.operation?.silence() }
    }
}
