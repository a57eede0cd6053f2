// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Crypto
package import Foundation
import Logging
import Synchronization
import SystemSupport

/// The long-lived operations of one account in one container: a folder with a folder for each.
///
/// An account is a token at a server. Another token neither lists nor resumes them.
package final class LongLivedOperationStore: Sendable {
    /// Results that the app did not fetch are removed after this time.
    package static let resultRetention: TimeInterval = 7 * 24 * 3600

    private struct State {
        var live: [CKOperation.ID: PersistedOperation] = [:]
        /// Unreadable folders that were reported already.
        var reportedFolders: Set<String> = []
        /// The connection under which operations are resumed.
        var resumedConnection: UUID?
        var resumption: Task<Void, Never>?
        var isAbandoned = false
    }

    package let folder: URL
    /// The wall clock.
    let now: @Sendable () -> Date
    private let state = Mutex(State())

    package init(folder: URL, now: @escaping @Sendable () -> Date = { Date() }) {
        self.folder = folder
        self.now = now
    }

    // MARK: Of this process

    private static let ofProcess = Mutex<[String: LongLivedOperationStore]>([:])

    /// The store of a token, one object for the life of the process.
    ///
    /// Below `$XDG_DATA_HOME` or `~/.local/share` and the program's name, next to the app's stores.
    static func of(
        _ token: CKContainer.Configuration.Token, _ container: String, _ resolved: ResolvedConfiguration
    ) -> LongLivedOperationStore {
        let environment = ProcessInfo.processInfo.environment
        let base =
            environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0, isDirectory: true) : nil }
            ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".local/share", isDirectory: true)
        // Tokens are long and random, so that a hash cannot be inverted by trial.
        let account = [container, resolved.environment.rawValue, "\(resolved.server)", token.text].joined(separator: "\n")
        let hash = Hex.text(SHA256.hash(data: Data(account.utf8)))
        let folder = base.appendingPathComponent(ProcessInfo.processInfo.processName, isDirectory: true)
            .appendingPathComponent("CloudKitOperations", isDirectory: true).appendingPathComponent(hash, isDirectory: true)
        return ofProcess.withLock { stores in
            let store = stores[folder.path] ?? LongLivedOperationStore(folder: folder)
            stores[folder.path] = store
            return store
        }
    }

    // MARK: Operations

    /// - Throws: ``CKError`` if the operation can never run with its inputs, or the error of the file system.
    func persist(_ operation: CKOperation, _ kind: PersistedOperationKind, _ settings: OperationSettings) throws -> PersistedOperation {
        guard !isAbandoned else { throw CKError(.operationCancelled) }
        let persisted = try PersistedOperation(operation, kind, settings, in: self)
        state.withLock { $0.live[persisted.id] = persisted }
        return persisted
    }

    func remove(_ persisted: PersistedOperation) {
        state.withLock { if $0.live[persisted.id] === persisted { $0.live[persisted.id] = nil } }
    }

    /// All operations except those that another process holds, the oldest first.
    func all() -> [PersistedOperation] {
        let limit = now().addingTimeInterval(-Self.resultRetention)
        return state.withLock { state in
            guard !state.isAbandoned else { return [] }
            for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] where state.live[name] == nil {
                if let persisted = open(name, &state.reportedFolders) { state.live[name] = persisted }
            }
            for (id, persisted) in state.live where persisted.endDate.map({ $0 < limit }) == true && !persisted.isTaken {
                persisted.drop()
                state.live[id] = nil
            }
            return state.live.values.filter { !$0.isOver }.sorted { ($0.archive.creationDate, $0.id) < ($1.archive.creationDate, $1.id) }
        }
    }

    private func open(_ name: String, _ reportedFolders: inout Set<String>) -> PersistedOperation? {
        guard let folder = PersistedOperationFolder(at: folder.appendingPathComponent(name, isDirectory: true)) else { return nil }
        // The folder isn't locked, so the process that created or removed it has ended before it was done.
        if name.hasPrefix(PersistedOperationFolder.unfinishedPrefix) {
            folder.remove()
            return nil
        }
        do {
            return try PersistedOperation(reading: folder, in: self)
        } catch {
            folder.release()
            if reportedFolders.insert(name).inserted {
                Logger(label: "CloudKit").warning(
                    "the long-lived operation \(name) is damaged, or was stored by a newer version; it is left unchanged")
            }
            return nil
        }
    }

    // MARK: Resuming

    /// Resumes the operations of an earlier process, once for each connection.
    package func resumeOperations(_ container: CKContainer) { _ = try? container.connection() }

    func resumeOperations(_ container: CKContainer, _ connection: Connection) {
        state.withLock { state in
            guard !state.isAbandoned, state.resumedConnection != connection.id else { return }
            state.resumedConnection = connection.id
            let earlier = state.resumption
            state.resumption = Task {
                await earlier?.value
                for persisted in self.all() { persisted.resume(in: container) }
            }
        }
    }

    /// Waits until all silent executions end.
    package func waitUntilIdle() async {
        await state.withLock { $0.resumption }?.value
        for persisted in state.withLock({ Array($0.live.values) }) { await persisted.waitUntilIdle() }
    }

    // MARK: The end of a process

    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    /// Simulates the end of the process: no more blocks are called, and another store in the same folder may resume.
    package func simulateProcessEnd() {
        let live = state.withLock { state in
            state.isAbandoned = true
            return Array(state.live.values)
        }
        for persisted in live { persisted.simulateProcessEnd() }
    }
}
