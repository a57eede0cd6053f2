// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// The result of a request that executes in the background.
///
/// Used on the queue of its context, except for ``cancel()`` and ``progress``, which any thread may use.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentstoreasynchronousresult
open class NSPersistentStoreAsynchronousResult: NSPersistentStoreResult {
    /// The context that executes the request.
    open private(set) var managedObjectContext: NSManagedObjectContext
    /// The error of a finished request that has no result.
    open fileprivate(set) var operationError: (any Error)?
    /// The request's progress: rows read, of the estimate. A child of the progress that was current when it began.
    open private(set) var progress: Progress?

    fileprivate init(_ context: NSManagedObjectContext, _ progress: Progress?) {
        managedObjectContext = context
        self.progress = progress
    }

    /// Cancels the request as soon as possible. The completion is called with ``operationError`` and without a result.
    open func cancel() { progress?.cancel() }
}

/// The result of an asynchronous fetch.
///
/// Source: developer.apple.com/documentation/coredata/nsasynchronousfetchresult
open class NSAsynchronousFetchResult<ResultType>: NSPersistentStoreAsynchronousResult {
    /// The request; nil for the result of a plain fetch request.
    open private(set) var fetchRequest: NSAsynchronousFetchRequest<ResultType>?
    /// The fetched objects; nil until the fetch is done, and when it failed or was cancelled.
    open fileprivate(set) var finalResult: [ResultType]?

    init(_ request: NSAsynchronousFetchRequest<ResultType>?, _ context: NSManagedObjectContext, _ progress: Progress?) {
        fetchRequest = request
        super.init(context, progress)
    }

    func finish(_ result: Result<[ResultType], any Error>) {
        switch result {
        case .success(let objects):
            finalResult = objects
            progress?.totalUnitCount = Int64(objects.count)
            progress?.completedUnitCount = Int64(objects.count)
        case .failure(let error): operationError = error
        }
    }
}

/// A fetch that reads in the background without blocking the context's queue.
///
///     try context.execute(NSAsynchronousFetchRequest(fetchRequest: request) { result in show(result.finalResult) })
///
/// Rows of SQLite stores are read on another thread. Other stores, and results that must be combined with unsaved
/// changes, are fetched on the context's queue, later.
///
/// Source: developer.apple.com/documentation/coredata/nsasynchronousfetchrequest
open class NSAsynchronousFetchRequest<ResultType>: NSPersistentStoreRequest {
    /// The fetch to execute.
    open private(set) var fetchRequest: NSFetchRequest<ResultType>
    /// Called once, on the context's queue.
    open private(set) var completionBlock: ((NSAsynchronousFetchResult<ResultType>) -> Void)?
    /// The total of the progress until the number of rows is known; 0 for an indeterminate progress.
    open var estimatedResultCount = 0

    /// Creates an asynchronous fetch.
    ///
    /// - Parameter blk: Called once, on the context's queue.
    public init(
        fetchRequest request: NSFetchRequest<ResultType>, completionBlock blk: ((NSAsynchronousFetchResult<ResultType>) -> Void)? = nil
    ) {
        fetchRequest = request
        completionBlock = blk
    }
}

extension NSFetchRequest: ExecutableRequest {
    /// Fetches synchronously.
    package func execute(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
        let result = NSAsynchronousFetchResult<ResultType>(nil, context, nil)
        result.finish(.success(try context.fetch(self)))
        return result
    }
}
