// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Synchronizes an app's records with a database. The app reports which records changed and provides them for sending;
/// the engine fetches, sends and retries.
///
/// Use one engine for a database. With `automaticallySync` it fetches after a push and sends after changes are added.
/// ``fetchChanges(_:)`` and ``sendChanges(_:)`` run immediately, and return after the delegate has handled all
/// resulting events. Called from within a delegate's method, or from a child task of it (`async let`, a task group), they throw,
/// since they would wait for themselves. Any other task that the method starts may call them, and they run once the method has
/// returned: a method that waits for such a task, for its `value` for example, never returns.
///
/// Source: Apple's documentation of `CKSyncEngine`. Differs: the engine runs immediately instead of "when the system
/// sees fit".
public final class CKSyncEngine: Sendable {
    /// The database.
    public let database: CKDatabase
    /// The change tokens and pending changes.
    public let state: State
    let configuration: Configuration
    /// Runs one fetch or send at a time.
    let runs = Gate()
    /// Runs one call of the delegate at a time.
    private let calls = Gate()
    private let current = Locked<[UUID: Task<Void, any Error>]>([:])
    let schedule: SyncSchedule

    /// Creates an engine. With `automaticallySync` it starts immediately. The public database traps.
    public init(_ configuration: Configuration) {
        precondition(configuration.database.databaseScope != .public, "a sync engine does not support the public database")
        database = configuration.database
        state = State(configuration.stateSerialization)
        self.configuration = configuration
        schedule = SyncSchedule()
        state.onChange { [weak self] in self?.stateChanged() }
        if configuration.automaticallySync { schedule.start(self) }
    }

    deinit { schedule.stop() }

    /// Fetches the changes on the server.
    ///
    /// - Throws: ``CKError``; `.invalidArguments` from within a delegate's method. Changes that were fetched before
    ///   stay fetched.
    public func fetchChanges(_ options: FetchChangesOptions = FetchChangesOptions()) async throws {
        try await run { try await self.fetch(options, .manual, from: $0) }
    }

    /// Sends pending changes.
    ///
    /// - Throws: ``CKError`` if a request failed as a whole; `.invalidArguments` from within a delegate's method. The
    ///   errors of single items are in the events, and unsent changes stay pending.
    public func sendChanges(_ options: SendChangesOptions = SendChangesOptions()) async throws {
        try await run { try await self.send(options, .manual, to: $0) }
    }

    /// Cancels running fetches and sends. Unsent changes stay pending.
    public func cancelOperations() async {
        for task in current.value.values { task.cancel() }
    }

    // MARK: Runs

    /// Fetches or sends as the signed-in account. If the account changes before the end, it starts again.
    ///
    /// - Parameter body: Receives the database bound to the account of this state.
    func run(_ body: @escaping @Sendable (CKDatabase) async throws -> Void) async throws {
        guard !DelegateExecutor.isOfPresentTask else {
            throw CKError(
                .invalidArguments,
                "a delegate's method, or a child task of it, must not fetch or send: it would deadlock; start a task with Task { } instead")
        }
        let id = UUID()
        let task = Task {
            await self.runs.enter()
            do {
                var isDone = false
                while !isDone {
                    try Task.checkCancellation()
                    let database = try await self.checkAccount()
                    do {
                        try await body(database)
                        isDone = true
                    } catch {
                        guard !self.isAccount(of: database), !Task.isCancelled else { throw error }
                    }
                }
            } catch {
                self.runs.leave()
                throw CKError(transportFailure: error)
            }
            self.runs.leave()
        }
        current.update { $0[id] = task }
        defer { current.update { $0[id] = nil } }
        try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    // MARK: Delegate

    func post(_ event: Event) async {
        await ask { await $0.handleEvent(event, syncEngine: self) }
    }

    /// Posts the event of sent changes, which are stored as pending ones until the delegate has handled it.
    ///
    /// They end to be stored within the delegate's turn, so that no report of the state comes between.
    func postReport(_ event: Event) async {
        await ask { delegate in
            await delegate.handleEvent(event, syncEngine: self)
            self.state.stored.update { $0.endReport() }
        }
        // The delegate may have been deallocated.
        state.stored.update { $0.endReport() }
    }

    /// The state is read when it is the delegate's turn: one that was read before could replace a newer one that the delegate has stored.
    func postState() async {
        await ask { delegate in
            let update = Event.StateUpdate(stateSerialization: self.state.serialization)
            await delegate.handleEvent(.stateUpdate(update), syncEngine: self)
        }
    }

    /// Calls the delegate, unless it was deallocated.
    @discardableResult
    func ask<Answer: Sendable>(_ question: @Sendable (any CKSyncEngineDelegate) async -> Answer) async -> Answer? {
        guard let delegate = configuration.delegate else { return nil }
        await calls.enter()
        let response = await withTaskExecutorPreference(DelegateExecutor.shared) { await question(delegate) }
        calls.leave()
        return response
    }

    private func stateChanged() {
        schedule.stateChanged(self)
    }

    // MARK: Account

    /// Compares the signed-in account with the previous one, and resets the state if it changed.
    ///
    /// - Returns: The database bound to that account, even if another account signs in later.
    /// - Throws: ``CKError`` with `.notAuthenticated` if no user is signed in.
    func checkAccount() async throws -> CKDatabase {
        let previous = state.stored.value.userRecordName
        do {
            let container = try database.container.boundToPresentConnection()
            let boundDatabase = CKDatabase(container: container, scope: database.databaseScope, defaults: database.defaults)
            let user = try await container.userRecordID().recordName
            guard user != previous else { return boundDatabase }
            // The first start keeps the changes that the app added before it.
            if previous != nil { state.stored.update { $0 = State.Content() } }
            state.stored.update { $0.userRecordName = user }
            await post(.accountChange(Event.AccountChange(changeType: Self.change(from: previous, to: user))))
            await postState()
            return boundDatabase
        } catch {
            let error = CKError(transportFailure: error)
            if error.code == .notAuthenticated, let previous {
                state.stored.update { $0 = State.Content() }
                let change = Event.AccountChange.ChangeType.signOut(previousUser: CKRecord.ID(recordName: previous))
                await post(.accountChange(Event.AccountChange(changeType: change)))
                await postState()
            }
            throw error
        }
    }

    /// The account may change after the delegate provided a batch. Each request first checks that the account is still
    /// that of the run.
    func checkAccount(of boundDatabase: CKDatabase) throws {
        guard isAccount(of: boundDatabase) else { throw CKError(.operationCancelled, "another account is signed in") }
    }

    private func isAccount(of boundDatabase: CKDatabase) -> Bool { database.container.hasConnection(of: boundDatabase.container) }

    private static func change(from previous: String?, to user: String) -> Event.AccountChange.ChangeType {
        let current = CKRecord.ID(recordName: user)
        guard let previous else { return .signIn(currentUser: current) }
        return .switchAccounts(previousUser: CKRecord.ID(recordName: previous), currentUser: current)
    }
}
