// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension NSPersistentStoreCoordinator {
    @discardableResult
    func executeImplementation(_ request: NSPersistentStoreRequest, with context: NSManagedObjectContext) throws -> Any {
        precondition(context.persistentStoreCoordinator === self, "the context belongs to another coordinator")
        if let fetch = request as? any AnyFetchRequest { return try fetch.results(in: context) }
        return try context.execute(request)
    }
}

/// A fetch request with an erased result type.
private protocol AnyFetchRequest {
    func results(in context: NSManagedObjectContext) throws -> [Any]
}

extension NSFetchRequest: AnyFetchRequest {
    fileprivate func results(in context: NSManagedObjectContext) throws -> [Any] { try context.fetch(self) }
}
