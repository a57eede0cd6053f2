// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Long-lived operations.
//
// Source: Apple's documentation of `CKOperation.Configuration.isLongLived`, `CKOperation` and `CKContainer`.

extension CKOperation {
    /// Whether the operation continues in later processes, from the configuration.
    @available(*, deprecated, message: "use configuration.isLongLived")
    public var isLongLived: Bool {
        get { configuration.isLongLived }
        set { configuration.isLongLived = newValue }
    }
}

extension CKContainer {
    /// Lists the long-lived operations with an end that was not reported to the app yet, the oldest first: of this process and
    /// of earlier ones, under the signed-in account. Operations that another process executes are omitted.
    ///
    /// The first use of the container resumes the operations of earlier processes without calling blocks. To receive
    /// the results, fetch the operation, set its blocks and add it. Results that the app did not fetch are removed
    /// after seven days.
    ///
    /// Differs: the system does not execute operations while no process of the app runs.
    ///
    /// - Throws: ``CKError`` with `.badContainer`, with the setting to change.
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] {
        try connection().longLived?.all().map(\.id) ?? []
    }

    /// Older form of ``allLongLivedOperationIDs()``.
    @preconcurrency
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        complete(completionHandler) { try await self.allLongLivedOperationIDs() }
    }

    /// Returns an operation of ``allLongLivedOperationIDs()``, with its inputs and without blocks. `nil` if it does not
    /// exist.
    ///
    /// Set its blocks and add it to its container or database. The blocks are then called with all results, earlier
    /// ones included. When the final block returns, the operation is forgotten and its copies of asset files are
    /// removed, so copy them before. An operation of an app's own class is returned as its superclass in this
    /// framework. `cancel()` removes an operation, even if it was not added.
    ///
    /// - Throws: ``CKError`` with `.badContainer`, with the setting to change.
    public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? {
        guard let persisted = try connection().longLived?.all().first(where: { $0.id == operationID }) else { return nil }
        return try? persisted.makeOperation(in: self)
    }

    /// Older form of ``longLivedOperation(for:)``.
    @preconcurrency
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID, completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        complete({ (operation: CKOperation??, error) in completionHandler(operation ?? nil, error) }) {
            try await self.longLivedOperation(for: operationID)
        }
    }
}
