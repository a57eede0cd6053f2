// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// A kind of load that a server has to bear without making other users wait.
struct Attack: Sendable {
    /// The place from which an attacker sends.
    struct Sender: Sendable {
        var port: Int
        /// Device token of an account of the attacker's.
        var token: String
        /// Number of the attacking thread.
        var thread: Int
        var score: Score
        var isOver: @Sendable () -> Bool
    }

    /// Counts of all threads of an attack.
    final class Score: Sendable {
        struct Counts {
            var accepted = 0
            /// Responses with a status of 400 or more.
            var refused = 0
            /// Responses with a status of 500 or more, except 503.
            var failed = 0
            /// Closed connections and timeouts.
            var dropped = 0
        }

        private let counts = Mutex(Counts())

        var current: Counts { counts.withLock { $0 } }

        func note(_ response: StressConnection.Response?) {
            counts.withLock { counts in
                guard let response else {
                    counts.dropped += 1
                    return
                }
                if response.status < 400 { counts.accepted += 1 } else { counts.refused += 1 }
                if response.status >= 500, response.status != 503 { counts.failed += 1 }
            }
        }
    }

    var name: String
    /// Threads that attack at the same time.
    var threads: Int
    /// Makes data that the attack needs, once, before anything is measured.
    var prepare: @Sendable (Sender) -> Void = { _ in }
    /// Sends requests until ``Sender/isOver``.
    var attack: @Sendable (Sender) -> Void

    /// An attack with one request after another on a connection of its own.
    static func repeated(
        _ name: String, threads: Int, timeout: Int = 20, prepare: @escaping @Sendable (Sender) -> Void = { _ in },
        _ request: @escaping @Sendable (Sender, Int) -> [UInt8]
    ) -> Attack {
        Attack(name: name, threads: threads, prepare: prepare) { sender in
            let connection = StressConnection(port: sender.port, timeout: timeout)
            var number = 0
            while !sender.isOver() {
                sender.score.note(connection.exchange(request(sender, number)))
                number += 1
            }
        }
    }
}
