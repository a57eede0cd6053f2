// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Synchronization

/// The snapshots of a server process: those that are complete, those that are being built, and the streams that read them.
///
///     none ── begin ── building ── end ── complete ── begin ── building …
///                      └ read as far   └ read until it is replaced, removed, or too old
///                        as it is
final class ZoneSnapshots: Sendable {
    private struct Build {
        var identifier: String
        /// Bytes of the frames so far.
        var byteCount: Int64 = 0
        var task: Task<Void, Never>?
    }

    private struct State {
        /// Whether the files of an earlier process were looked up.
        var isLoaded = false
        var complete: [SnapshotSubject: StoredSnapshot] = [:]
        /// When snapshots were last used, in milliseconds since 1970 UTC, by identifier.
        var used: [String: Int64] = [:]
        var builds: [SnapshotSubject: Build] = [:]
        var isClosed = false
        /// Requests that wait for a build's next frame.
        var waiters: [Int: CheckedContinuation<Void, Never>] = [:]
        var nextWaiter = 0
        /// When a build of a subject began last, in milliseconds since 1970 UTC.
        var begun: [SnapshotSubject: Int64] = [:]
        /// Streams by the scheduling key of their sender.
        var streams: [String: Int] = [:]
        var counts = SnapshotCounts()
    }

    /// Concurrent builds.
    static let buildsMax = 2
    static let waitersMax = 64
    /// Least milliseconds between the beginnings of two builds of a subject.
    static let rebuildMilliseconds: Int64 = 60_000

    let storage: any SnapshotStorage
    private let limits: Limits
    private let state = Mutex(State())

    init(_ storage: any SnapshotStorage, _ limits: Limits) {
        self.storage = storage
        self.limits = limits
    }

    var counts: SnapshotCounts {
        state.withLock { state in
            var counts = state.counts
            counts.stored = state.complete.count
            counts.storedBytes = state.complete.values.reduce(0) { $0 + $1.whole.byteCount }
            return counts
        }
    }

    func countServed(bytes: Int) { state.withLock { $0.counts.servedBytes += Int64(bytes) } }

    // MARK: Complete snapshots

    /// Loads the snapshots of an earlier process with the same data.
    func load(serverIdentity: String) async {
        guard state.withLock({ !$0.isLoaded }) else { return }
        let found = (try? await storage.snapshots()) ?? []
        var surplus = found.filter { $0.serverIdentity != serverIdentity }
        state.withLock { state in
            guard !state.isLoaded else { return }
            state.isLoaded = true
            for snapshot in found where snapshot.serverIdentity == serverIdentity {
                if let other = state.complete[snapshot.subject], other.created >= snapshot.created {
                    surplus.append(snapshot)
                    continue
                }
                if let older = state.complete.updateValue(snapshot, forKey: snapshot.subject) { surplus.append(older) }
            }
        }
        for snapshot in surplus { await storage.remove(identifier: snapshot.identifier) }
    }

    var all: [StoredSnapshot] { state.withLock { Array($0.complete.values) } }

    func snapshot(of subject: SnapshotSubject) -> StoredSnapshot? { state.withLock { $0.complete[subject] } }

    func snapshot(identifier: String) -> StoredSnapshot? {
        state.withLock { $0.complete.values.first { $0.identifier == identifier } }
    }

    func isTooOld(_ snapshot: StoredSnapshot, at now: Int64) -> Bool {
        // A clock that was set back must not keep one for ever.
        !(0..<Int64(limits.snapshotSeconds) * 1000).contains(now - snapshot.created)
    }

    func use(_ snapshot: StoredSnapshot, at now: Int64) { state.withLock { $0.used[snapshot.identifier] = now } }

    func remove(_ snapshot: StoredSnapshot) async {
        state.withLock { state in
            if state.complete[snapshot.subject] == snapshot { state.complete[snapshot.subject] = nil }
            state.used[snapshot.identifier] = nil
        }
        await storage.remove(identifier: snapshot.identifier)
    }

    /// Removes the snapshots that were not used for longest until all and the builds fit.
    ///
    /// - Parameter subject: Keeps its snapshot, which is being replaced, for last.
    /// - Returns: `false` if the builds alone do not fit.
    func makeRoom(for subject: SnapshotSubject) async -> Bool {
        while true {
            let (fits, oldest) = state.withLock { state -> (Bool, StoredSnapshot?) in
                let stored = state.complete.values.reduce(0) { $0 + $1.whole.byteCount }
                let building = state.builds.values.reduce(0) { $0 + $1.byteCount }
                let oldest = state.complete.values.min { first, second in
                    if (first.subject == subject) != (second.subject == subject) { return second.subject == subject }
                    return (state.used[first.identifier] ?? first.created, first.identifier)
                        < (state.used[second.identifier] ?? second.created, second.identifier)
                }
                return (stored + building <= Int64(limits.snapshotBytes), oldest)
            }
            if fits { return true }
            guard let oldest else { return false }
            await remove(oldest)
        }
    }

    // MARK: Builds

    /// The identifier of the snapshot of a subject that is being built.
    func building(_ subject: SnapshotSubject) -> String? { state.withLock { $0.builds[subject]?.identifier } }

    /// The subject of a snapshot that is being built.
    func subject(ofBuild identifier: String) -> SnapshotSubject? {
        state.withLock { $0.builds.first { $0.value.identifier == identifier }?.key }
    }

    /// Begins to build a snapshot, unless too many are being built, or one of the subject was begun a moment ago.
    func begin(
        _ subject: SnapshotSubject, identifier: String, at now: Int64, _ build: @escaping @Sendable () async throws -> StoredSnapshot
    ) {
        state.withLock { state in
            guard !state.isClosed, state.builds[subject] == nil, state.builds.count < Self.buildsMax, limits.snapshotBytes > 0 else {
                return
            }
            state.begun = state.begun.filter { (0..<Self.rebuildMilliseconds).contains(now - $0.value) }
            guard state.begun[subject] == nil else { return }
            state.begun[subject] = now
            let task = Task {
                let built = try? await build()
                await self.end(subject, built)
            }
            state.builds[subject] = Build(identifier: identifier, task: task)
        }
    }

    /// Takes over that a build has so many bytes of frames in its file.
    func grow(_ subject: SnapshotSubject, to byteCount: Int64) {
        let waiters = state.withLock { state in
            state.builds[subject]?.byteCount = byteCount
            defer { state.waiters = [:] }
            return state.waiters.values
        }
        for waiter in waiters { waiter.resume() }
    }

    private func end(_ subject: SnapshotSubject, _ built: StoredSnapshot?) async {
        let (replaced, waiters) = state.withLock { state in
            state.builds[subject] = nil
            var replaced: StoredSnapshot?
            if let built {
                state.counts.built += 1
                replaced = state.complete.updateValue(built, forKey: subject)
                if let replaced { state.used[replaced.identifier] = nil }
            } else {
                state.counts.failed += 1
            }
            defer { state.waiters = [:] }
            return (replaced, state.waiters.values)
        }
        for waiter in waiters { waiter.resume() }
        if let replaced { await storage.remove(identifier: replaced.identifier) }
    }

    /// Waits until a build has more bytes of frames than an offset, ends, or the time is up.
    ///
    /// - Returns: Bytes of frames; nil if the snapshot is not being built any more.
    func bytesBuilt(of subject: SnapshotSubject, beyond offset: Int64, atMost limit: Duration) async -> Int64? {
        let deadline = ContinuousClock.now + limit
        while true {
            guard let bytes = state.withLock({ $0.builds[subject]?.byteCount }) else { return nil }
            if bytes > offset || ContinuousClock.now >= deadline || Task.isCancelled { return bytes }
            guard await wait(for: subject, beyond: offset, until: deadline) else { return bytes }
        }
    }

    /// - Returns: `false` if too many requests wait.
    private func wait(for subject: SnapshotSubject, beyond offset: Int64, until deadline: ContinuousClock.Instant) async -> Bool {
        let number = state.withLock { state in
            state.nextWaiter += 1
            return state.nextWaiter
        }
        let timer = Task {
            try? await Task.sleep(until: deadline, clock: .continuous)
            resume(number)
        }
        defer { timer.cancel() }
        return await withTaskCancellationHandler {
            let isFull = state.withLock { $0.waiters.count >= Self.waitersMax }
            if isFull { return false }
            await withCheckedContinuation { continuation in
                let waits = state.withLock { state in
                    guard let build = state.builds[subject], build.byteCount <= offset, !Task.isCancelled else { return false }
                    state.waiters[number] = continuation
                    return true
                }
                if !waits { continuation.resume() }
            }
            return true
        } onCancel: {
            resume(number)
        }
    }

    private func resume(_ waiter: Int) { state.withLock { $0.waiters.removeValue(forKey: waiter) }?.resume() }

    private var tasks: [Task<Void, Never>] { state.withLock { $0.builds.values.compactMap(\.task) } }

    /// Ends the builds in progress, and begins no other.
    func close() async {
        state.withLock { $0.isClosed = true }
        for task in tasks {
            task.cancel()
            await task.value
        }
    }

    /// Waits until no build is in progress.
    func idle() async { for task in tasks { await task.value } }

    // MARK: Streams

    /// - Returns: `false` if the sender, or all senders, have as many streams as they may have.
    func beginStream(of sender: String) -> Bool {
        state.withLock { state in
            let all = state.streams.values.reduce(0, +)
            guard all < limits.snapshotStreams, state.streams[sender, default: 0] < limits.snapshotStreamsPerUser else { return false }
            state.streams[sender, default: 0] += 1
            state.counts.served += 1
            return true
        }
    }

    func endStream(of sender: String) {
        state.withLock { state in
            let left = state.streams[sender, default: 0] - 1
            state.streams[sender] = left > 0 ? left : nil
        }
    }
}

/// Counts of a server process since it started, and the snapshots that there are.
package struct SnapshotCounts: Hashable, Sendable {
    package var built = 0
    package var failed = 0
    /// Requests that read a snapshot, or a part of one.
    package var served = 0
    package var servedBytes: Int64 = 0
    package var stored = 0
    package var storedBytes: Int64 = 0

    package init() {}
}

/// A snapshot that is being sent. It ends within a second after its reader loses access.
final class SnapshotReader: AssetReader {
    private let reader: any AssetReader
    private let snapshots: ZoneSnapshots
    private let sender: String
    private let isAllowed: @Sendable () async -> Bool
    private let checked = Mutex(ContinuousClock.now)

    let size: Int64

    /// - Parameter isAllowed: Whether the sender may still read the snapshot.
    init(
        _ reader: any AssetReader, size: Int64, _ snapshots: ZoneSnapshots, sender: String, isAllowed: @escaping @Sendable () async -> Bool
    ) {
        self.reader = reader
        self.size = size
        self.snapshots = snapshots
        self.sender = sender
        self.isAllowed = isAllowed
    }

    deinit { snapshots.endStream(of: sender) }

    func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        let isDue = checked.withLock { checked in
            guard ContinuousClock.now - checked >= .seconds(1) else { return false }
            checked = .now
            return true
        }
        if isDue, await !isAllowed() { throw WireError(.notFound, "the snapshot may no longer be read") }
        let bytes = try await reader.read(at: offset, count: min(count, Int(clamping: size - offset)))
        snapshots.countServed(bytes: bytes.count)
        return bytes
    }
}
