// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension NSPersistentStoreCoordinator {
    /// Runs a request over the coordinator's stores on behalf of a context.
    ///
    /// - Parameter context: One of this coordinator's, on whose queue the call is made.
    /// - Returns: An array of results for a fetch request, else what ``NSManagedObjectContext/execute(_:)`` returns.
    /// - Throws: What the context's `fetch` and `execute` throw.
    ///
    /// Source: developer.apple.com/documentation/coredata/nspersistentstorecoordinator/execute(_:with:)
    @discardableResult
    public func execute(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext) throws -> Any {
        precondition(context.persistentStoreCoordinator === self, "the context belongs to another coordinator")
        if let fetch = request as? any AnyFetchRequest { return try fetch.results(in: context) }
        return try context.execute(request)
    }
}

/// A fetch request of whatever results.
private protocol AnyFetchRequest {
    func results(in context: NSManagedObjectContext) throws -> [Any]
}

extension NSFetchRequest: AnyFetchRequest {
    fileprivate func results(in context: NSManagedObjectContext) throws -> [Any] { try context.fetch(self) }
}
