// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import Foundation
import SQLiteStore

extension NSAsynchronousFetchRequest: ExecutableRequest {
    /// - Throws: `CocoaError` for an invalid request. The completion receives later errors.
    package func execute(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
        let progress = Progress(totalUnitCount: estimatedResultCount > 0 ? Int64(estimatedResultCount) : -1)
        let result = NSAsynchronousFetchResult(self, context, progress)
        let fetch = try AsynchronousFetch<ResultType>(NSFetchRequest(copying: fetchRequest), affectedStores, in: context, progress)
        let done = completionBlock
        fetch.start { outcome in
            result.finish(outcome)
            done?(result)
        }
        return result
    }
}

/// One asynchronous fetch: rows are read on another thread, objects are created on the context's queue.
private final class AsynchronousFetch<ResultType>: @unchecked Sendable {
    // Unchecked: constant; a hop hands it from the context's queue to another thread and back.
    private let request: NSFetchRequest<ResultType>
    private let parameters: FetchParameters
    private let plan: FetchPlan
    private let context: NSManagedObjectContext
    private let progress: Progress

    init(
        _ request: NSFetchRequest<ResultType>, _ stores: [NSPersistentStore]?, in context: NSManagedObjectContext, _ progress: Progress
    ) throws {
        if let stores { request.affectedStores = stores }
        self.request = request
        self.context = context
        self.progress = progress
        parameters = request.parameters
        plan = try FetchPlan(parameters, coordinator: context.requireCoordinator())
        _ = try context.prefetchPlan(parameters, plan)
    }

    /// Whether another thread can read the rows: they are of one state of one file, in the requested order.
    private var readsElsewhere: Bool {
        parameters.resultType == .managedObjectResultType && context.parent == nil && context.isUnpinned && !parameters.leavesRows
            && !plan.filtersObjects && plan.stores.count == 1 && plan.stores[0].sqlite != nil
    }

    /// - Parameter completion: Called on the context's queue.
    func start(_ completion: @escaping (Result<[ResultType], any Error>) -> Void) {
        let completion = Unchecked(completion)
        context.processPendingChanges()
        guard readsElsewhere, !context.overlays(plan) else {
            context.perform { completion.value(Result { try self.fetchHere() }) }
            return
        }
        DispatchQueue.global(qos: .userInitiated).async {
            let chunks = Unchecked(Result { try self.read() })
            self.context.perform { completion.value(Result { try self.objects(try chunks.value.get()) }) }
        }
    }

    private func read() throws -> [RowChunk] {
        try checkCancellation()
        let chunks = try plan.stores[0].fetchPacked(plan.query) { count in
            self.progress.completedUnitCount = Int64(count)
            return !self.progress.isCancelled
        }
        guard let chunks else { throw CocoaError(.userCancelled) }
        return chunks
    }

    private func objects(_ chunks: [RowChunk]) throws -> [ResultType] {
        try checkCancellation()
        context.processPendingChanges()
        // Concurrent changes may move an object out of the window, so the window is fetched again.
        if context.overlays(plan), parameters.limit > 0 || parameters.offset > 0 { return try fetchHere() }
        let objects = context.overlay(pending: plan, on: context.register(chunks, parameters))
        try context.prefetch(context.prefetchPlan(parameters, plan), for: objects)
        return try context.cast(objects, of: request)
    }

    private func fetchHere() throws -> [ResultType] {
        try checkCancellation()
        return try context.fetch(request)
    }

    private func checkCancellation() throws { if progress.isCancelled { throw CocoaError(.userCancelled) } }
}
