// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Completion-handler forms. Each calls the async method of its name, then the handler once on a system queue.
extension CKContainer {
    /// Fetches the account status; completion-handler form of `accountStatus()`. On an error the status is
    /// `.couldNotDetermine`.
    @preconcurrency
    public func accountStatus(completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void) {
        complete({ (result: Result<CKAccountStatus, any Error>) in
            completionHandler(result.value ?? .couldNotDetermine, result.failure)
        }) {
            try await self.accountStatus()
        }
    }

    /// Fetches the user's record ID; completion-handler form of `userRecordID()`.
    @preconcurrency
    public func fetchUserRecordID(completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) {
        complete(completionHandler) { try await self.userRecordID() }
    }
}
