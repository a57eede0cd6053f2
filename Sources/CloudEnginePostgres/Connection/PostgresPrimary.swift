// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Foundation
import Synchronization

/// Finds the primary among the hosts of an address, and notices its successor.
///
/// ```
/// host 1   timeline 4, accepts writes that no standby confirms: its manager or the host hangs   ✗ superseded
/// host 2   timeline 5, primary                                                                  ✓
/// host 3   standby
/// ```
///
/// A former primary may not know that it is one. The timeline, which each promotion raises, decides: a host with a lower one than this
/// process has seen is never used, and connections to it end.
///
/// Source: PostgreSQL's documentation, "Continuous Archiving and Point-in-Time Recovery - Timelines".
final class PostgresPrimary: @unchecked Sendable {
    private static let connectSeconds = 3.0
    private static let probeSeconds = 2.0
    private static let intervalSeconds = 1.0
    /// How long a failed search counts for other threads.
    private static let failureDuration = Duration.milliseconds(250)

    private struct Known {
        /// Index of the host; nil until the first connection.
        var host: Int?
        /// 0 for a database that has none, such as CockroachDB.
        var timeline: Int64 = 0
        /// The last search without a result.
        var failure: (StorageFailure, at: ContinuousClock.Instant)?
    }

    private let address: PostgresAddress
    private let known = Mutex(Known())
    /// Number of the primary, counted from the first one: a connection to an earlier one is superseded.
    private let count = Atomic(0)
    private let searching = NSLock()
    private let condition = NSCondition()
    // The condition guards what follows.
    private var isWatching = false
    private var isClosed = false

    /// - Throws: `StorageFailure` for a malformed address.
    init(_ address: String) throws { self.address = try PostgresAddress(address) }

    var number: Int { count.load(ordering: .relaxed) }

    /// Connects to the primary.
    ///
    /// - Throws: `StorageFailure` with `.unavailable`: no host can be reached, or none is a primary with the latest history.
    func connect(onSlowStatement: (@Sendable (SlowStatement) -> Void)? = nil) throws -> PostgresConnection {
        guard address.hosts.count > 1 else {
            return try PostgresConnection(address.hosts[0], onSlowStatement: onSlowStatement)
        }
        try checkNoRecentFailure()
        var unusable: (host: Int, failure: StorageFailure?)?
        if let host = known.withLock({ $0.host }) {
            do {
                if let connection = try open(host, onSlowStatement) { return connection }
                unusable = (host, nil)
            } catch {
                unusable = (host, Self.failure(error))
            }
        }
        // One thread at a time, so that a failover isn't slowed down by connections to its hosts.
        searching.lock()
        defer { searching.unlock() }
        try checkNoRecentFailure()
        return try search(except: unusable, onSlowStatement)
    }

    private static func failure(_ error: any Error) -> StorageFailure? {
        error as? StorageFailure ?? (error as? PostgresError)?.storageFailure
    }

    private func checkNoRecentFailure() throws {
        if let (failure, time) = known.withLock({ $0.failure }), .now - time < Self.failureDuration { throw failure }
    }

    /// - Parameter unusable: The host that was attempted before.
    private func search(
        except unusable: (host: Int, failure: StorageFailure?)?, _ onSlowStatement: (@Sendable (SlowStatement) -> Void)?
    ) throws -> PostgresConnection {
        // A process that starts may find a former primary first.
        if known.withLock({ $0.host == nil }) { survey() }
        let present = known.withLock { $0.host }
        var failure = unusable?.failure
        let hosts = address.hosts.indices.filter { $0 != unusable?.host }.shuffled()
        // Another thread may have found it.
        for host in hosts.sorted(by: { $0 == present && $1 != present }) {
            do {
                if let connection = try open(host, onSlowStatement) { return connection }
            } catch {
                failure = failure ?? Self.failure(error)
            }
        }
        let reason = failure ?? StorageFailure(.unavailable, "no host of its address is the primary")
        known.withLock { $0.failure = (reason, .now) }
        throw reason
    }

    /// - Returns: Nil for a standby, and for a former primary.
    private func open(_ host: Int, _ onSlowStatement: (@Sendable (SlowStatement) -> Void)?) throws -> PostgresConnection? {
        let connection = try PostgresConnection(
            address.hosts[host], connectSeconds: Self.connectSeconds, onSlowStatement: onSlowStatement)
        guard let timeline = try timeline(connection), let number = adopt(host, timeline) else {
            connection.close()
            return nil
        }
        connection.primary = (self, number)
        return connection
    }

    /// - Returns: The timeline of a primary; nil for a standby.
    private func timeline(_ connection: PostgresConnection) throws -> Int64? {
        connection.answerSeconds = Self.probeSeconds
        defer { connection.answerSeconds = UnitLimits.session.answerSeconds }
        do {
            let rows = try connection.query(
                "SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE left(pg_walfile_name(pg_current_wal_lsn()), 8) END"
            ).rows
            try connection.synchronize()
            let text: String? = rows.first?[0]
            return text.flatMap { Int64($0, radix: 16) }
        } catch let error as PostgresError where error.isUnknownFunction {
            connection.recover()
            return 0
        }
    }

    /// - Returns: The primary's number; nil for a host with an older history.
    @discardableResult
    private func adopt(_ host: Int, _ timeline: Int64) -> Int? {
        known.withLock { known in
            guard timeline >= known.timeline else { return nil }
            if known.host != host || timeline > known.timeline {
                known = Known(host: host, timeline: timeline)
                count.add(1, ordering: .relaxed)
            }
            return number
        }
    }

    /// Notes the answer of a host that wasn't chosen. Without timelines, no host is later than another.
    private func note(_ host: Int, _ timeline: Int64?) {
        guard let timeline, known.withLock({ timeline > $0.timeline || $0.host == nil }) else { return }
        adopt(host, timeline)
    }

    // MARK: Successors

    /// Asks all hosts besides the present one for their timelines.
    private func survey() {
        let present = known.withLock { $0.host }
        for host in address.hosts.indices where host != present {
            guard let connection = try? PostgresConnection(address.hosts[host], connectSeconds: Self.connectSeconds) else { continue }
            defer { connection.close() }
            note(host, try? timeline(connection))
        }
    }

    /// Whether another host took over from the primary with a number. Asks the hosts.
    func hasSuccessor(to number: Int) -> Bool {
        if self.number == number { survey() }
        return self.number != number
    }

    /// Asks the other hosts each second whether one of them was promoted, until ``close()``.
    ///
    /// A former primary that hangs, or whose manager hangs, shows no sign of it itself.
    func watch() {
        guard address.hosts.count > 1 else { return }
        condition.lock()
        defer { condition.unlock() }
        guard !isWatching, !isClosed else { return }
        isWatching = true
        Thread.detachNewThread { [self] in
            var probes: [Int: PostgresConnection] = [:]
            while waitForInterval() {
                let present = known.withLock { $0.host }
                for host in address.hosts.indices {
                    if host == present { probes.removeValue(forKey: host)?.close() } else { probe(host, &probes[host]) }
                }
            }
            for probe in probes.values { probe.close() }
            condition.lock()
            isWatching = false
            condition.broadcast()
            condition.unlock()
        }
    }

    private func waitForInterval() -> Bool {
        condition.lock()
        defer { condition.unlock() }
        let end = Date(timeIntervalSinceNow: Self.intervalSeconds)
        while !isClosed, condition.wait(until: end) {}
        return !isClosed
    }

    private func probe(_ host: Int, _ connection: inout PostgresConnection?) {
        do {
            let open = try connection ?? PostgresConnection(address.hosts[host], connectSeconds: Self.probeSeconds)
            connection = open
            note(host, try timeline(open))
        } catch {
            connection?.close()
            connection = nil
        }
    }

    /// Ends ``watch()``, without waiting for its end.
    func beginClosing() {
        condition.withLock {
            isClosed = true
            condition.broadcast()
        }
    }

    func close() {
        beginClosing()
        condition.withLock {
            while isWatching { condition.wait() }
        }
    }
}
