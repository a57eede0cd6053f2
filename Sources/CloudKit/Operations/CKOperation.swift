// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Dispatch
public import Foundation

/// A task that runs once, after it is added to a database, a container or an operation queue.
///
/// Blocks for single items are called before the final block, one at a time, on the operation's own queue. The final
/// block is called exactly once, also after `cancel()`, and before `completionBlock`.
///
/// A long-lived operation is persisted on this device when it starts, before its first request, with copies of the
/// assets to send. If the process ends before the final block returned, the next process resumes the operation: see
/// ``CKContainer/allLongLivedOperationIDs()``. Requests are idempotent as long as the server stores their keys, which
/// is one day. Blocks may be called again with results that an ended process has received already. If the disk cannot
/// store the operation, it fails with `.internalError`. Nothing is persisted if no user is signed in.
/// ``CKFetchWebAuthTokenOperation``, which returns a secret, and the deprecated operations that send no requests are
/// not persisted, either.
///
/// Source: Apple's documentation of `CKOperation`. Differs: a long-lived operation pauses while no process of the app
/// runs.
open class CKOperation: Operation, @unchecked Sendable {
    // @unchecked: properties are set before the operation starts and only read afterwards. State that changes later is
    // behind the lock of `progress`.
    /// The type of an operation's identifier.
    public typealias ID = String

    private struct Progress {
        var isExecuting = false
        var isFinished = false
        var task: Task<Void, Never>?
        var persisted: PersistedOperation?
        /// Whether this object executes the persisted operation, which several objects may represent.
        var hasTurn = false
        /// Whether the calls of blocks have ended.
        var isSilenced = false
    }

    /// The identifier. A long-lived operation has the same one in later processes.
    public internal(set) var operationID: ID = UUID().uuidString
    /// How the operation runs. The setter copies, `nil` resets it; the returned object can be changed in place.
    public var configuration: Configuration! {
        get { configured }
        set { configured = newValue.map { Configuration($0.settings) } ?? Configuration() }
    }
    private var configured = Configuration()
    /// The group of the operation.
    public var group: CKOperationGroup?

    /// Called when a long-lived operation was persisted, before its other blocks. Not called for a fetched operation.
    @preconcurrency public var longLivedOperationWasPersistedBlock: (@Sendable () -> Void)?

    private let progress = Locked(Progress())
    private let callbacks = DispatchQueue(label: "CloudKit.operation")
    /// The container that the operation was added to, if its configuration names none.
    var addedToContainer: CKContainer?

    /// Creates an operation.
    public override init() { super.init() }

    // MARK: Subclasses

    /// Sends the requests, and calls the item blocks through `callBlock`.
    func carryOut(_ settings: OperationSettings) async throws {}

    /// Calls the final block.
    func conclude(_ result: Result<Void, any Error>) {}

    /// Calls blocks of the app, one at a time.
    final func callBlock(_ body: @escaping @Sendable () -> Void) async {
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

    /// Always `true`.
    open override var isAsynchronous: Bool { true }
    /// Whether the operation was started and has not ended.
    open override var isExecuting: Bool { progress.value.isExecuting }
    /// Whether the operation has ended.
    open override var isFinished: Bool { progress.value.isFinished }

    /// The priority of the operation, from its configuration.
    open override var qualityOfService: QualityOfService {
        get { configuration?.qualityOfService ?? .default }
        set { configuration?.qualityOfService = newValue }
    }

    /// Starts the operation. Called by the queue.
    open override func start() {
        willChangeValue(for: \.isExecuting)
        progress.update { $0.isExecuting = true }
        didChangeValue(for: \.isExecuting)
        let task = Task {
            let result = await self.outcome()
            if self.hasTurn { self.persisted?.beginEnd() }
            await self.callBlock { self.conclude(result) }
            self.endPersistedOperation()
            self.finish()
        }
        progress.update { $0.task = task }
        if isCancelled { task.cancel() }
    }

    /// Cancels the operation. It ends with `.operationCancelled`; requests in flight may have changed data.
    open override func cancel() {
        super.cancel()
        let progress = progress.value
        progress.task?.cancel()
        progress.persisted?.cancel()
    }

    /// The persisted operation that this object represents, if any.
    final var persisted: PersistedOperation? {
        get { progress.value.persisted }
        set { progress.update { $0.persisted = newValue } }
    }

    final var hasTurn: Bool {
        get { progress.value.hasTurn }
        set { progress.update { $0.hasTurn = newValue } }
    }

    /// Ends without calling blocks.
    final func silence() {
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

/// An operation on one database.
///
/// Source: Apple's documentation of `CKDatabaseOperation`.
open class CKDatabaseOperation: CKOperation, @unchecked Sendable {  // As its superclass.
    /// The database. If `nil` when the operation is added, it is the private database of its container.
    public var database: CKDatabase?

    final var target: CKDatabase {
        let database = database ?? container_.privateCloudDatabase
        // A persisted operation belongs to the database of its first start.
        guard let scope = persisted?.archive.scope, scope != database.databaseScope else { return database }
        return database.container.database(with: scope)
    }

    /// Performs the operation's requests.
    final func run(_ settings: OperationSettings) throws(CKError) -> DatabaseRequests {
        try DatabaseRequests(target, settings)
    }
}

extension CKOperation {
    /// The container, from the configuration.
    @available(*, deprecated, message: "use configuration.container")
    public var container: CKContainer? {
        get { configuration?.container }
        set { configuration?.container = newValue }
    }
    /// Whether cellular networks may be used. Has no effect.
    @available(*, deprecated, message: "use configuration.allowsCellularAccess")
    public var allowsCellularAccess: Bool {
        get { configuration?.allowsCellularAccess ?? true }
        set { configuration?.allowsCellularAccess = newValue }
    }
    /// Timeout of one response in seconds, from the configuration.
    @available(*, deprecated, message: "use configuration.timeoutIntervalForRequest")
    public var timeoutIntervalForRequest: TimeInterval {
        get { configuration?.timeoutIntervalForRequest ?? OperationSettings.requestSeconds }
        set { configuration?.timeoutIntervalForRequest = newValue }
    }
    /// Timeout of the whole operation in seconds, from the configuration.
    @available(*, deprecated, message: "use configuration.timeoutIntervalForResource")
    public var timeoutIntervalForResource: TimeInterval {
        get { configuration?.timeoutIntervalForResource ?? OperationSettings.resourceSeconds }
        set { configuration?.timeoutIntervalForResource = newValue }
    }
}
