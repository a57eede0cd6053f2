// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// One operation that is kept, in this process, which holds its folder locked until the operation is forgotten.
///
/// Several objects may stand for it: the one that the app added, and ones that were fetched by its identifier. They take turns;
/// what a first one was answered, the next one tells again. While the app has none of them at work it goes on silently.
final class KeptOperation: Sendable {
    private static let formName = "operation"
    private static let doneName = "done"

    private struct State {
        /// Whether somebody is at work.
        var isTaken: Bool
        var waiting: [CheckedContinuation<Void, Never>] = []
        var operations: [Weak] = []
        var silent: Task<Void, Never>?
        /// When it came to an end that nobody heard of yet.
        var done: Date?
        /// Whether its end is being told, or it is gone.
        var isOver = false
    }

    private struct Weak {
        weak var operation: CKOperation?
    }

    let form: KeptForm
    let home: LongLivedHome
    private let folder: KeptFolder
    private let journal: OperationJournal
    private let copies: [String: URL]
    private let state: Mutex<State>

    var id: CKOperation.ID { form.operationID }

    /// Keeps an operation that is about to begin; it has the first turn.
    ///
    /// - Throws: ``CKError`` for inputs that it cannot be carried out with; what the file system says.
    init(_ operation: CKOperation, _ kind: KeptKind, _ settings: OperationSettings, in home: LongLivedHome) throws {
        var form: KeptForm?
        var copies: [String: URL] = [:]
        folder = try KeptFolder.create(operation.operationID, in: home.folder) { folder in
            let assets = KeptAssets(folder)
            let made = try KeptForm(operation, kind, settings, made: home.now(), assets: assets)
            try folder.write(made.data, to: Self.formName)
            form = made
            copies = assets.copies
        }
        guard let form else { throw CKError(.internalError) }
        self.form = form
        self.copies = copies
        self.home = home
        journal = OperationJournal(folder)
        state = Mutex(State(isTaken: true, operations: [Weak(operation: operation)]))
    }

    /// What an earlier process kept.
    ///
    /// - Throws: ``KeptFolder/Unreadable``, or what the file system says.
    init(reading folder: KeptFolder, in home: LongLivedHome) throws {
        guard let data = try folder.read(Self.formName) else { throw KeptFolder.Unreadable() }
        form = try KeptForm(data)
        guard form.operationID == folder.url.lastPathComponent else { throw KeptFolder.Unreadable() }
        self.folder = folder
        self.home = home
        copies = [:]
        journal = try OperationJournal(reading: folder)
        let done = try folder.read(Self.doneName).map { data in
            guard let seconds = Double(String(decoding: data, as: UTF8.self)) else { throw KeptFolder.Unreadable() }
            return Date(timeIntervalSince1970: seconds)
        }
        state = Mutex(State(isTaken: false, done: done))
    }

    /// Nil as long as it is not done.
    var done: Date? { state.withLock { $0.done } }
    var isTaken: Bool { state.withLock { $0.isTaken } }
    var isOver: Bool { state.withLock { $0.isOver } }

    /// An object for the app, which begins when it is added.
    ///
    /// - Throws: ``KeptFolder/Unreadable``.
    func makeOperation(in container: CKContainer) throws -> CKOperation {
        let operation = try form.makeOperation(in: container)
        operation.kept = self
        return operation
    }

    // MARK: Turns

    /// Waits until nobody else is at work; who works silently is stopped.
    func takeTurn(_ operation: CKOperation) async {
        let silent = state.withLock { state in
            state.operations.append(Weak(operation: operation))
            return state.silent
        }
        silent?.cancel()
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

    /// What an operation is carried out with in its turn.
    func run(_ settings: inout OperationSettings, isSilent: Bool, while mayAsk: @escaping @Sendable () -> Bool = { true }) {
        let all = settings.timeoutForResource ?? OperationSettings.resourceSeconds
        settings.timeoutForResource = max(0, all - max(0, home.now().timeIntervalSince(form.made)))
        settings.journal = JournalRun(journal, copies: copies, isSilent: isSilent, while: mayAsk)
    }

    // MARK: While nobody listens

    /// Goes on without an object of the app, unless there is one at work or it is done.
    func goOn(in container: CKContainer) {
        let home = home
        let mayAsk: @Sendable () -> Bool = { (try? container.connection().longLived) === home && !home.isAbandoned }
        state.withLock { state in
            guard !state.isTaken, !state.isOver, state.done == nil else { return }
            state.isTaken = true
            state.silent = Task {
                await self.carryOut(in: container, while: mayAsk)
                self.state.withLock { $0.silent = nil }
                self.endTurn()
            }
        }
    }

    private func carryOut(in container: CKContainer, while mayAsk: @escaping @Sendable () -> Bool) async {
        // Another account that signs in meanwhile is not meant.
        guard mayAsk(), let container = try? container.asNow(), let operation = try? form.makeOperation(in: container) else {
            return
        }
        var settings = operation.settings
        // Nobody could decide to try again.
        if !settings.isDiscretionary { settings.qualityOfService = .utility }
        run(&settings, isSilent: true, while: mayAsk)
        do { try await operation.carryOut(settings) } catch {}
        guard !Task.isCancelled, mayAsk(), settings.journal?.couldNotKeep == false else { return }
        let now = home.now()
        state.withLock { $0.done = now }
        // Who cannot read that goes through the answers once more, without asking.
        try? folder.write(Data(String(now.timeIntervalSince1970).utf8), to: Self.doneName)
    }

    /// Waits until nothing more happens by itself.
    func rest() async { await state.withLock { $0.silent }?.value }

    // MARK: The end

    /// From here on nobody finds it: its end is being told.
    func beginEnd() { state.withLock { $0.isOver = true } }

    func forget() {
        drop()
        home.forgot(self)
    }

    /// Removes what is kept; for its home.
    func drop() {
        beginEnd()
        folder.remove()
    }

    /// Removes it, and ends the work of all objects that stand for it.
    func cancel() {
        let (operations, silent) = state.withLock { state -> ([Weak], Task<Void, Never>?) in
            if state.isOver { return ([], nil) }
            state.isOver = true
            return (state.operations, state.silent)
        }
        silent?.cancel()
        for operation in operations { operation.operation?.cancel() }
        forget()
    }

    /// What the end of the process does: nothing is told any more, and another process may go on.
    func abandon() {
        folder.giveBack()
        let (operations, silent) = state.withLock { ($0.operations, $0.silent) }
        silent?.cancel()
        for operation in operations { operation.operation?.fallSilent() }
    }
}
