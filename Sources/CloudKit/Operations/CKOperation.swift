// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Dispatch
public import Foundation

/// Work that is carried out once, when it is added to a database, a container or an operation queue.
///
/// Blocks for single items are called before the final block, one at a time, on a queue of the operation's own. The
/// final block is called exactly once, also after `cancel()`, and before `completionBlock`.
///
/// A long-lived operation is kept on this device when it starts, before anything is asked for it, with copies of the assets that
/// it sends. If the process ends before the final block returned, the next one goes on: see
/// ``CKContainer/allLongLivedOperationIDs()``. What was asked is not done twice, as long as the server remembers it, which is a
/// day. Blocks are called again for what was told already to a process that ended. If the disk does not take the operation, it
/// ends with `.internalError`. While nobody is signed in nothing is kept; ``CKFetchWebAuthTokenOperation``, whose result is a
/// secret, and the deprecated operations that ask no server are not, either.
///
/// Source: Apple's documentation of `CKOperation`. Differs: a long-lived operation waits while no process of the app is there.
open class CKOperation: Operation, @unchecked Sendable {
    // @unchecked: properties are set before the operation is started and only read afterwards; what changes while it
    // runs is behind the lock of `progress`.
    public typealias ID = String

    private struct Progress {
        var isExecuting = false
        var isFinished = false
        var task: Task<Void, Never>?
        var kept: KeptOperation?
        /// Whether it is the one of several objects for a kept operation that is at work.
        var hasTurn = false
        /// Whether blocks are not called any more.
        var isSilenced = false
    }

    /// That of a long-lived operation is the same in later processes.
    public internal(set) var operationID: ID = UUID().uuidString
    /// Setting it takes a copy, and nil is a new one; what is read can be changed in place.
    public var configuration: Configuration! {
        get { configured }
        set { configured = newValue.map { Configuration($0.settings) } ?? Configuration() }
    }
    private var configured = Configuration()
    public var group: CKOperationGroup?

    /// Called once a long-lived operation was kept, before anything else is told; not for one that was fetched.
    @preconcurrency public var longLivedOperationWasPersistedBlock: (@Sendable () -> Void)?

    private let progress = Locked(Progress())
    private let callbacks = DispatchQueue(label: "CloudKit.operation")
    /// Set by the container the operation is added to, if its configuration names none.
    var addedToContainer: CKContainer?

    public override init() { super.init() }

    // MARK: What subclasses say

    /// Does the work, and tells of single items by `tell`.
    func carryOut(_ settings: OperationSettings) async throws {}

    /// Calls the final block.
    func conclude(_ result: Result<Void, any Error>) {}

    /// Runs blocks of the app, one after the other.
    final func tell(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            callbacks.async {
                if !self.progress.value.isSilenced { body() }
                continuation.resume()
            }
        }
    }

    var container_: CKContainer { configuration?.container ?? addedToContainer ?? .default() }

    final var settings: OperationSettings {
        var settings = OperationSettings(configuration, under: group)
        settings.groupID = group?.operationGroupID
        return settings
    }

    // MARK: Operation

    open override var isAsynchronous: Bool { true }
    open override var isExecuting: Bool { progress.value.isExecuting }
    open override var isFinished: Bool { progress.value.isFinished }

    open override var qualityOfService: QualityOfService {
        get { configuration?.qualityOfService ?? .default }
        set { configuration?.qualityOfService = newValue }
    }

    open override func start() {
        willChangeValue(for: \.isExecuting)
        progress.update { $0.isExecuting = true }
        didChangeValue(for: \.isExecuting)
        let task = Task {
            let result = await self.outcome()
            if self.hasTurn { self.kept?.beginEnd() }
            await self.tell { self.conclude(result) }
            self.endKept()
            self.finish()
        }
        progress.update { $0.task = task }
        if isCancelled { task.cancel() }
    }

    open override func cancel() {
        super.cancel()
        let progress = progress.value
        progress.task?.cancel()
        progress.kept?.cancel()
    }

    /// What this object stands for, if that is kept.
    final var kept: KeptOperation? {
        get { progress.value.kept }
        set { progress.update { $0.kept = newValue } }
    }

    final var hasTurn: Bool {
        get { progress.value.hasTurn }
        set { progress.update { $0.hasTurn = newValue } }
    }

    /// Ends without a word.
    final func fallSilent() {
        progress.update { $0.isSilenced = true }
        completionBlock = nil
        progress.value.task?.cancel()
    }

    private func outcome() async -> Result<Void, any Error> {
        do {
            if isCancelled { throw CKError(.operationCancelled) }
            try await carryOut(try await prepared())
            return .success(())
        } catch {
            return .failure(isCancelled ? CKError(.operationCancelled) : CKError(transportFailure: error))
        }
    }

    private func finish() {
        willChangeValue(for: \.isExecuting)
        willChangeValue(for: \.isFinished)
        progress.update { progress in
            progress.isExecuting = false
            progress.isFinished = true
            progress.task = nil
        }
        didChangeValue(for: \.isExecuting)
        didChangeValue(for: \.isFinished)
    }
}

/// Work on one database.
///
/// Source: Apple's documentation of `CKDatabaseOperation`.
open class CKDatabaseOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    /// Where the work is done; nil before the operation is added means the private database of its container.
    public var database: CKDatabase?

    final var target: CKDatabase {
        let database = database ?? container_.privateCloudDatabase
        // One that was kept belongs to the database it was made for, whatever it was added to.
        guard let scope = kept?.form.scope, scope != database.databaseScope else { return database }
        return database.container.database(with: scope)
    }

    /// What the work is done with.
    final func run(_ settings: OperationSettings) throws(CKError) -> DatabaseRun {
        try DatabaseRun(target, settings)
    }
}

extension CKOperation {
    @available(*, deprecated, message: "use configuration.container")
    public var container: CKContainer? {
        get { configuration?.container }
        set { configuration?.container = newValue }
    }
    @available(*, deprecated, message: "use configuration.allowsCellularAccess")
    public var allowsCellularAccess: Bool {
        get { configuration?.allowsCellularAccess ?? true }
        set { configuration?.allowsCellularAccess = newValue }
    }
    @available(*, deprecated, message: "use configuration.timeoutIntervalForRequest")
    public var timeoutIntervalForRequest: TimeInterval {
        get { configuration?.timeoutIntervalForRequest ?? OperationSettings.requestSeconds }
        set { configuration?.timeoutIntervalForRequest = newValue }
    }
    @available(*, deprecated, message: "use configuration.timeoutIntervalForResource")
    public var timeoutIntervalForResource: TimeInterval {
        get { configuration?.timeoutIntervalForResource ?? OperationSettings.resourceSeconds }
        set { configuration?.timeoutIntervalForResource = newValue }
    }
}
