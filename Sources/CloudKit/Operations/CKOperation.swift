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
/// Source: Apple's documentation of `CKOperation`. Differs: no operation outlives its process.
open class CKOperation: Operation, @unchecked Sendable {
    // @unchecked: properties are set before the operation is started and only read afterwards; what changes while it
    // runs is behind the lock of `progress`.
    public typealias ID = String

    private struct Progress {
        var isExecuting = false
        var isFinished = false
        var task: Task<Void, Never>?
    }

    public let operationID: ID = UUID().uuidString
    /// Setting it takes a copy, and nil is a new one; what is read can be changed in place.
    public var configuration: Configuration! {
        get { configured }
        set { configured = newValue.map { Configuration($0.settings) } ?? Configuration() }
    }
    private var configured = Configuration()
    public var group: CKOperationGroup?

    /// Never called: nothing of an operation outlives its process.
    @available(*, deprecated, message: "never called: operations end with their process")
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
                body()
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
            await self.tell { self.conclude(result) }
            self.finish()
        }
        progress.update { $0.task = task }
        if isCancelled { task.cancel() }
    }

    open override func cancel() {
        super.cancel()
        progress.value.task?.cancel()
    }

    private func outcome() async -> Result<Void, any Error> {
        do {
            if isCancelled { throw CKError(.operationCancelled) }
            try await carryOut(settings)
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

    final var target: CKDatabase { database ?? container_.privateCloudDatabase }

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
