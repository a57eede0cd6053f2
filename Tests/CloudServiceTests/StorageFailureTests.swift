// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Testing

@testable import CloudService

/// What clients get when the storage fails.
@Suite struct StorageFailureTests {
    /// Present clients replay the request with its key. To older ones the server is busy, so that they retry, too.
    @Test func aCommitInDoubtDiffersFromABusyServer() throws {
        let error = try WireError(json: ErrorResponses.wireError(for: .inDoubt).encoded())
        #expect(error.code == .tryAgainLater)
        #expect(error.retryAfter == 1)
        #expect(AppErrorCode(error) == .serverResponseLost)
        #expect(AppErrorCode(ErrorResponses.wireError(for: StorageFailure(.busy, "busy"))) == .serviceUnavailable)
    }
}
