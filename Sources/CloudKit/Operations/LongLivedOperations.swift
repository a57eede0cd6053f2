// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Operations that the system goes on with after an app has ended. No part of a Linux system would do so: operations end with
// their process, and code that counts on more is told when it is compiled.
//
// Source: Apple's documentation of `CKOperation.Configuration.isLongLived`.

extension CKOperation {
    @available(*, unavailable, message: "operations end with their process: leave this out")
    public var isLongLived: Bool {
        get { false }
        set {}
    }

    @available(*, unavailable, message: "operations end with their process, so nothing is persisted: leave this out")
    public var longLivedOperationWasPersistedBlock: (@Sendable () -> Void)? {
        get { nil }
        set {}
    }
}

extension CKOperation.Configuration {
    @available(*, unavailable, message: "operations end with their process: leave this out")
    public var isLongLived: Bool {
        get { false }
        set {}
    }
}

extension CKContainer {
    @available(*, unavailable, message: "operations end with their process: add them anew")
    public func fetchAllLongLivedOperationIDs(
        completionHandler: @escaping @Sendable ([CKOperation.ID]?, (any Error)?) -> Void
    ) {}

    @available(*, unavailable, message: "operations end with their process: add them anew")
    public func allLongLivedOperationIDs() async throws -> [CKOperation.ID] { [] }

    @available(*, unavailable, message: "operations end with their process: add them anew")
    public func fetchLongLivedOperation(
        withID operationID: CKOperation.ID, completionHandler: @escaping @Sendable (CKOperation?, (any Error)?) -> Void
    ) {}

    @available(*, unavailable, message: "operations end with their process: add them anew")
    public func longLivedOperation(for operationID: CKOperation.ID) async throws -> CKOperation? { nil }
}
