// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Crypto
package import Foundation
import Logging
import Synchronization
import SystemSupport

/// Where the long-lived operations of one account are, in one container: a folder with a folder for each.
///
/// An account is a token at a server: whoever signs in with another one neither sees nor continues them.
package final class LongLivedHome: Sendable {
    /// Results that nobody fetched are dropped after this time.
    package static let keepsResults: TimeInterval = 7 * 24 * 3600

    private struct State {
        var live: [CKOperation.ID: KeptOperation] = [:]
        /// Folders that cannot be read, of which was told.
        var told: Set<String> = []
        /// The connection under which operations go on.
        var begun: UUID?
        var beginning: Task<Void, Never>?
        var isAbandoned = false
    }

    package let folder: URL
    /// What the calendar says.
    let now: @Sendable () -> Date
    private let state = Mutex(State())

    package init(folder: URL, now: @escaping @Sendable () -> Date = { Date() }) {
        self.folder = folder
        self.now = now
    }

    // MARK: Of this process

    private static let ofProcess = Mutex<[String: LongLivedHome]>([:])

    /// The one for whoever has a token, the same for as long as the process lives.
    ///
    /// In `$XDG_DATA_HOME` or `~/.local/share`, and the program's name, where stores are, too.
    static func of(_ token: CKContainer.Configuration.Token, _ container: String, _ resolved: ResolvedConfiguration) -> LongLivedHome {
        let environment = ProcessInfo.processInfo.environment
        let base =
            environment["XDG_DATA_HOME"].flatMap { $0.hasPrefix("/") ? URL(fileURLWithPath: $0, isDirectory: true) : nil }
            ?? FileManager.default.homeDirectoryForCurrentUser.appendingPathComponent(".local/share", isDirectory: true)
        // Tokens are long and random, so that nobody finds one by its hash.
        let account = [container, resolved.environment.rawValue, "\(resolved.server)", token.text].joined(separator: "\n")
        let hash = Hex.text(SHA256.hash(data: Data(account.utf8)))
        let folder = base.appendingPathComponent(ProcessInfo.processInfo.processName, isDirectory: true)
            .appendingPathComponent("CloudKitOperations", isDirectory: true).appendingPathComponent(hash, isDirectory: true)
        return ofProcess.withLock { homes in
            let home = homes[folder.path] ?? LongLivedHome(folder: folder)
            homes[folder.path] = home
            return home
        }
    }

    // MARK: Operations

    /// - Throws: ``CKError`` for inputs that the operation cannot be carried out with; what the file system says.
    func keep(_ operation: CKOperation, _ kind: KeptKind, _ settings: OperationSettings) throws -> KeptOperation {
        guard !isAbandoned else { throw CKError(.operationCancelled) }
        let kept = try KeptOperation(operation, kind, settings, in: self)
        state.withLock { $0.live[kept.id] = kept }
        return kept
    }

    func forgot(_ kept: KeptOperation) { state.withLock { if $0.live[kept.id] === kept { $0.live[kept.id] = nil } } }

    /// All operations but those that another process is at, the oldest first.
    func all() -> [KeptOperation] {
        let limit = now().addingTimeInterval(-Self.keepsResults)
        return state.withLock { state in
            guard !state.isAbandoned else { return [] }
            for name in (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? [] where state.live[name] == nil {
                if let kept = open(name, &state.told) { state.live[name] = kept }
            }
            for (id, kept) in state.live where kept.done.map({ $0 < limit }) == true && !kept.isTaken {
                kept.drop()
                state.live[id] = nil
            }
            return state.live.values.filter { !$0.isOver }.sorted { ($0.form.made, $0.id) < ($1.form.made, $1.id) }
        }
    }

    private func open(_ name: String, _ told: inout Set<String>) -> KeptOperation? {
        guard let folder = KeptFolder(at: folder.appendingPathComponent(name, isDirectory: true)) else { return nil }
        // Nobody has it, so whoever made or removed it did not come to an end.
        if name.hasPrefix(KeptFolder.unfinishedPrefix) {
            folder.remove()
            return nil
        }
        do {
            return try KeptOperation(reading: folder, in: self)
        } catch {
            folder.giveBack()
            if told.insert(name).inserted {
                Logger(label: "CloudKit").warning(
                    "the long-lived operation \(name) is damaged, or was kept by a newer version; it is left alone")
            }
            return nil
        }
    }

    // MARK: Going on

    /// Goes on with what an earlier process kept, once for each connection.
    package func begin(_ container: CKContainer) { _ = try? container.connection() }

    func begin(_ container: CKContainer, _ connection: Connection) {
        state.withLock { state in
            guard !state.isAbandoned, state.begun != connection.id else { return }
            state.begun = connection.id
            let earlier = state.beginning
            state.beginning = Task {
                await earlier?.value
                for kept in self.all() { kept.goOn(in: container) }
            }
        }
    }

    /// Waits until nothing more happens by itself.
    package func rest() async {
        await state.withLock { $0.beginning }?.value
        for kept in state.withLock({ Array($0.live.values) }) { await kept.rest() }
    }

    // MARK: The end of a process

    var isAbandoned: Bool { state.withLock { $0.isAbandoned } }

    /// What the end of the process does: nothing is told any more, and another home in the same folder may go on.
    package func abandon() {
        let live = state.withLock { state in
            state.isAbandoned = true
            return Array(state.live.values)
        }
        for kept in live { kept.abandon() }
    }
}
