// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Operations that go on after the process which began them has ended.
//
// Source: Apple's documentation of `CKOperation.Configuration.isLongLived`, `CKOperation` and `CKContainer`.

extension CKOperation {
    @available(*, deprecated, message: "use configuration.isLongLived")
    public var isLongLived: Bool {
        get { configuration.isLongLived }
        set { configuration.isLongLived = newValue }
    }
}

extension CKContainer {
    /// Identifiers of the long-lived operations whose end nobody was told of yet, the oldest first: those of this process, and
    /// those of earlier ones, under the account that is signed in. One that another process is at, is left out.
    ///
    /// What an earlier process left goes on by itself from the first use of the container on, without telling anybody. To hear
    /// of it, fetch the operation, set its blocks and add it. Results that nobody fetched are dropped after seven days.
    ///
    /// Differs: no part of the system goes on with operations while no process of the app is there.
    ///
    /// - Throws: ``CKError`` with `.badContainer` and a sentence that says what to configure.
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] {
        try connection().longLived?.all().map(\.id) ?? []
    }

    /// Older form of ``allLongLivedOperationIDs()``.
    @preconcurrency
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.allLongLivedOperationIDs() }
    }

    /// An operation of ``allLongLivedOperationIDs()``, with its inputs and without blocks; nil if there is none.
    ///
    /// Once its blocks are set it is to be added to its container or database. Then they are called with everything that came
    /// so far, and with what comes. When the final block returns, the operation is forgotten, and the files of assets that it sent
    /// are removed: copy them before. An operation of an app's own class is one of the class of this framework. `cancel()` removes
    /// an operation, also one that was not added.
    ///
    /// - Throws: ``CKError`` with `.badContainer` and a sentence that says what to configure.
    public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? {
        guard let kept = try connection().longLived?.all().first(where: { $0.id == operationID }) else { return nil }
        return try? kept.makeOperation(in: self)
    }

    /// Older form of ``longLivedOperation(for:)``.
    @preconcurrency
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID, completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        answer({ (operation: CKOperation??, error) in completionHandler(operation ?? nil, error) }) {
            try await self.longLivedOperation(for: operationID)
        }
    }
}
