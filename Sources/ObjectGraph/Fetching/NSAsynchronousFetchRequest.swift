// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import Foundation

/// What a request that goes on in the background answers with at once.
///
/// Used on the queue of its context, but for ``cancel()`` and ``progress``, which any thread may use.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentstoreasynchronousresult
open class NSPersistentStoreAsynchronousResult: NSPersistentStoreResult {
    open private(set) var managedObjectContext: NSManagedObjectContext
    /// Why there is no result, once the request is done.
    open fileprivate(set) var operationError: (any Error)?
    /// How far the request is: in rows, of the estimate. Part of the progress that was current when it was begun.
    open private(set) var progress: Progress?

    fileprivate init(_ context: NSManagedObjectContext, _ progress: Progress?) {
        managedObjectContext = context
        self.progress = progress
    }

    /// Stops the request as soon as it can be. Its completion is called, with ``operationError`` and without result.
    open func cancel() { progress?.cancel() }
}

/// The results of a fetch that goes on in the background, once they are there.
///
/// Source: developer.apple.com/documentation/coredata/nsasynchronousfetchresult
open class NSAsynchronousFetchResult<ResultType>: NSPersistentStoreAsynchronousResult {
    /// The request; nil for the result of a plain fetch request.
    open private(set) var fetchRequest: NSAsynchronousFetchRequest<ResultType>?
    /// nil until the fetch is done, and when it failed or was cancelled.
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

/// A fetch that reads in the background, while the context's queue is free.
///
///     try context.execute(NSAsynchronousFetchRequest(fetchRequest: request) { result in show(result.finalResult) })
///
/// Objects of SQLite stores are read on another thread. Anything else, and what has to be put together with unsaved
/// changes, is fetched on the context's queue, later.
///
/// Source: developer.apple.com/documentation/coredata/nsasynchronousfetchrequest
open class NSAsynchronousFetchRequest<ResultType>: NSPersistentStoreRequest {
    open private(set) var fetchRequest: NSFetchRequest<ResultType>
    /// Called on the context's queue, once.
    open private(set) var completionBlock: ((NSAsynchronousFetchResult<ResultType>) -> Void)?
    /// What the progress counts to until the number is known; 0 for a progress without end.
    open var estimatedResultCount = 0

    public init(fetchRequest request: NSFetchRequest<ResultType>, completionBlock blk: ((NSAsynchronousFetchResult<ResultType>) -> Void)? = nil) {
        fetchRequest = request
        completionBlock = blk
    }
}

extension NSFetchRequest: ExecutableRequest {
    /// Fetches at once.
    package func execute(in context: NSManagedObjectContext) throws -> NSPersistentStoreResult {
        let result = NSAsynchronousFetchResult<ResultType>(nil, context, nil)
        result.finish(.success(try context.fetch(self)))
        return result
    }
}
