// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import UnixSignals

/// Ends a command on SIGINT and SIGTERM when the session file is complete.
///
/// The response to the request in flight has the next web auth token, and the one that was sent is used up: a process that ends in between
/// leaves a session that needs a new sign-in. A second signal ends the process immediately.
///
/// Source: *CloudKit Web Services Reference*, "Accessing CloudKit".
enum SessionSignals {
    /// Watches for signals until the task is cancelled.
    static func watch(_ tokens: WebAuthTokenStore) -> Task<Void, Never> {
        Task {
            let signals = await UnixSignalsSequence(trapping: .sigint, .sigterm)
            var isEnding = false
            for await signal in signals {
                // As a shell reports a signal.
                let status = 128 + signal.rawValue
                if isEnding { exit(status) }
                isEnding = true
                Task {
                    await tokens.close()
                    exit(status)
                }
            }
        }
    }
}
