// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Dispatch
import Foundation

/// The forms with completion handlers. Each does what the async form of its kind does.
extension CKContainer {
    @preconcurrency
    public func accountStatus(completionHandler: @escaping @Sendable (CKAccountStatus, (any Error)?) -> Void) {
        Task {
            let status: CKAccountStatus
            let failure: (any Error)?
            do {
                status = try await self.accountStatus()
                failure = nil
            } catch {
                status = .couldNotDetermine
                failure = error
            }
            DispatchQueue.global().async { completionHandler(status, failure) }
        }
    }

    @preconcurrency
    public func fetchUserRecordID(completionHandler: @escaping @Sendable (CKRecord.ID?, (any Error)?) -> Void) {
        answer(completionHandler) { try await self.userRecordID() }
    }
}
