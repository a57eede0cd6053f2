// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import Synchronization

/// Measures of the server for the status page.
package struct ServerMeasures: Hashable, Sendable {
    /// Devices that hold a push stream.
    package var listeners: Int
    package var recordBytes: Int64
    package var assetBytes: Int64
    package var commits: Int
    /// Of the disk with the data folder; nil if it is unknown.
    package var freeBytes: Int64?

    package init(listeners: Int, recordBytes: Int64, assetBytes: Int64, commits: Int, freeBytes: Int64? = nil) {
        self.freeBytes = freeBytes
        self.listeners = listeners
        self.recordBytes = recordBytes
        self.assetBytes = assetBytes
        self.commits = commits
    }
}

/// Requests and measures of the last minutes, in memory.
final class ServerHistory: Sendable {
    static let minutesKept = 1440
    /// Polls wait for a notification, so their durations say nothing about the server.
    private static let pollEndpoint = "courier"
    /// Maximum number of containers with a remembered last use.
    private static let containersMax = 1000

    struct Minute {
        /// Minutes since 1970 UTC.
        let number: Int64
        var requests = 0
        /// Responses with a status from 500 on.
        var errors = 0
        /// Responses with a status from 400 to 499.
        var clientErrors = 0
        /// Without polls.
        var latency = LatencyHistogram()
        var measures: ServerMeasures?

        init(_ number: Int64) { self.number = number }
    }

    private struct State {
        /// Oldest first; minutes without requests are missing.
        var minutes: [Minute] = []
        var lastUses: [String: [ClientKind: Int64]] = [:]
        /// Of the last request: most are for the same path as the one before.
        var lastPath = ""
        var lastContainer: String?
    }

    private let state = Mutex(State())

    func add(_ note: RequestNote) {
        change(note.time) { minute in
            minute.requests += 1
            if note.endpoint != Self.pollEndpoint { minute.latency.add(note.milliseconds) }
            if note.status >= 500 { minute.errors += 1 } else if note.status >= 400 { minute.clientErrors += 1 }
        }
        state.withLock { state in
            if note.path != state.lastPath { (state.lastPath, state.lastContainer) = (note.path, note.container) }
            guard let container = state.lastContainer else { return }
            if state.lastUses.count >= Self.containersMax { state.lastUses.removeAll() }
            state.lastUses[container, default: [:]][note.client] = note.time
        }
    }

    func add(_ measures: ServerMeasures, now: Int64) { change(now) { $0.measures = measures } }

    private func change(_ now: Int64, _ body: (inout Minute) -> Void) {
        let number = now / 60_000
        state.withLock { state in
            if state.minutes.last.map({ $0.number < number }) ?? true { state.minutes.append(Minute(number)) }
            // A clock that was set back adds to the newest minute.
            body(&state.minutes[state.minutes.count - 1])
            while let first = state.minutes.first, first.number <= number - Int64(Self.minutesKept) { state.minutes.removeFirst() }
        }
    }

    /// The last minutes, oldest first, also those without requests.
    func minutes(now: Int64) -> [Minute] {
        let last = now / 60_000
        let known = state.withLock { Dictionary($0.minutes.map { ($0.number, $0) }) { _, newer in newer } }
        var result: [Minute] = []
        for number in last - Int64(Self.minutesKept) + 1...last {
            var minute = known[number] ?? Minute(number)
            // Measures are taken once a minute at most, and stand until the next ones.
            minute.measures = minute.measures ?? result.last?.measures
            result.append(minute)
        }
        return result
    }

    /// When a container was used last since the server started, in milliseconds since 1970 UTC.
    func lastUse(of container: String) -> Int64? { lastUses(of: container).values.max() }

    /// The last use of a container by each kind of client, likewise.
    func lastUses(of container: String) -> [ClientKind: Int64] { state.withLock { $0.lastUses[container] ?? [:] } }
}
