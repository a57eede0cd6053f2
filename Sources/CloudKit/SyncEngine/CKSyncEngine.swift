// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Keeps records of an app and those of a database in step: the app says which records changed and gives them out when
/// they are sent; the engine fetches, sends, and tries again.
///
/// There is one engine for a database. With `automaticallySync` it fetches when a push says so and sends when changes are
/// added; the two methods do it at once and return when the delegate has handled all that came of it. They throw if they
/// are called from within a delegate's method, which would wait for itself.
///
/// Source: Apple's documentation of `CKSyncEngine`. Differs: "when the system sees fit" is at once.
public final class CKSyncEngine: Sendable {
    public let database: CKDatabase
    public let state: State
    let configuration: Configuration
    /// One fetch or send at a time.
    let runs = Gate()
    /// One call of the delegate at a time.
    private let calls = Gate()
    private let current = Locked<[UUID: Task<Void, any Error>]>([:])
    let schedule: SyncSchedule

    @TaskLocal static var isInsideDelegate = false

    public init(_ configuration: Configuration) {
        precondition(configuration.database.databaseScope != .public, "the public database cannot be kept in step")
        database = configuration.database
        state = State(configuration.stateSerialization)
        self.configuration = configuration
        schedule = SyncSchedule()
        state.onChange { [weak self] in self?.stateChanged() }
        if configuration.automaticallySync { schedule.start(self) }
    }

    deinit { schedule.stop() }

    /// Fetches what changed on the server.
    ///
    /// - Throws: ``CKError``; what was fetched before stays fetched.
    public func fetchChanges(_ options: FetchChangesOptions = FetchChangesOptions()) async throws {
        try await run { try await self.fetch(options, .manual, from: $0) }
    }

    /// Sends pending changes.
    ///
    /// - Throws: ``CKError`` if a request failed as a whole; what failed alone is in the events.
    public func sendChanges(_ options: SendChangesOptions = SendChangesOptions()) async throws {
        try await run { try await self.send(options, .manual, to: $0) }
    }

    /// Cancels fetches and sends that are under way. What was not sent stays pending.
    public func cancelOperations() async {
        for task in current.value.values { task.cancel() }
    }

    // MARK: Runs

    /// Fetches or sends as whoever is signed in. If somebody else is before it is done, it begins again as them.
    ///
    /// - Parameter body: Is given the database as the account whose state this is has it.
    func run(_ body: @escaping @Sendable (CKDatabase) async throws -> Void) async throws {
        guard !Self.isInsideDelegate else {
            throw CKError(
                .invalidArguments, "a delegate's method must not fetch or send: it would wait for itself; start a task instead")
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
                await self.runs.leave()
                throw CKError(transportFailure: error)
            }
            await self.runs.leave()
        }
        current.update { $0[id] = task }
        defer { current.update { $0[id] = nil } }
        try await withTaskCancellationHandler { try await task.value } onCancel: { task.cancel() }
    }

    // MARK: Delegate

    func post(_ event: Event) async {
        await ask { await $0.handleEvent(event, syncEngine: self) }
    }

    func postState() async { await post(.stateUpdate(Event.StateUpdate(stateSerialization: state.serialization))) }

    /// Calls the delegate, if it is still there.
    @discardableResult
    func ask<Answer: Sendable>(_ question: @Sendable (any CKSyncEngineDelegate) async -> Answer) async -> Answer? {
        guard let delegate = configuration.delegate else { return nil }
        await calls.enter()
        let answer = await Self.$isInsideDelegate.withValue(true) { await question(delegate) }
        await calls.leave()
        return answer
    }

    private func stateChanged() {
        schedule.stateChanged(self)
    }

    // MARK: Account

    /// Compares who is signed in with who was, and starts anew if it is somebody else.
    ///
    /// - Returns: The database as that account has it, whoever signs in later.
    /// - Throws: ``CKError`` with `.notAuthenticated` if nobody is.
    func checkAccount() async throws -> CKDatabase {
        let previous = state.stored.value.userRecordName
        do {
            let container = try database.container.asNow()
            let theirs = CKDatabase(container: container, scope: database.databaseScope, defaults: database.defaults)
            let user = try await container.userRecordID().recordName
            guard user != previous else { return theirs }
            // A first start keeps what the app added before it.
            if previous != nil { state.stored.update { $0 = State.Content() } }
            state.stored.update { $0.userRecordName = user }
            await post(.accountChange(Event.AccountChange(changeType: Self.change(from: previous, to: user))))
            await postState()
            return theirs
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

    /// What is to be sent was asked of an app that may have changed accounts with the device: before each request it is seen
    /// whether the account is still the one that the run began with.
    func checkAccount(of theirs: CKDatabase) throws {
        guard isAccount(of: theirs) else { throw CKError(.operationCancelled, "somebody else is signed in by now") }
    }

    private func isAccount(of theirs: CKDatabase) -> Bool { database.container.hasConnection(of: theirs.container) }

    private static func change(from previous: String?, to user: String) -> Event.AccountChange.ChangeType {
        let current = CKRecord.ID(recordName: user)
        guard let previous else { return .signIn(currentUser: current) }
        return .switchAccounts(previousUser: CKRecord.ID(recordName: previous), currentUser: current)
    }
}

/// Lets one task in at a time, in the order in which they came.
actor Gate {
    private var isTaken = false
    private var waiting: [CheckedContinuation<Void, Never>] = []

    func enter() async {
        guard isTaken else {
            isTaken = true
            return
        }
        await withCheckedContinuation { waiting.append($0) }
    }

    func leave() {
        if waiting.isEmpty { isTaken = false } else { waiting.removeFirst().resume() }
    }
}
