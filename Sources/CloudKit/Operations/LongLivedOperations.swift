// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Operations that the system goes on with after an app has ended. No part of a Linux system would do so: operations end with
// their process, whether they are called long-lived or not. Code that asks for more compiles, and is told by a warning; code
// that looks for operations of an earlier process finds none, which is how it is.
//
// Source: Apple's documentation of `CKOperation.Configuration.isLongLived`.

extension CKOperation {
    @available(*, deprecated, message: "without effect: operations end with their process")
    public var isLongLived: Bool {
        get { configuration.isLongLived }
        set { configuration.isLongLived = newValue }
    }
}

extension CKContainer {
    /// None: no operation outlives its process.
    @preconcurrency
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {
        answer(completionHandler) { try await self.allLongLivedOperationIDs() }
    }

    /// None: no operation outlives its process.
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] { [] }

    /// Nil: no operation outlives its process.
    @preconcurrency
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID, completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {
        answer({ (operation: CKOperation??, error) in completionHandler(operation ?? nil, error) }) {
            try await self.longLivedOperation(for: operationID)
        }
    }

    /// Nil: no operation outlives its process.
    public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? { nil }
}
