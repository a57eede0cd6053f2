// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import ManagedModel
import MirroringCore
import SQLiteStore
import Synchronization

/// Whether the user may change objects of one store: known without looking into the file, once it was looked at.
///
/// What was found out is forgotten when records arrive, are saved, or somebody else signs in.
final class PermissionCache: Sendable {
    private struct State {
        var user: String?
        var mayChange: [RowKey: Bool] = [:]
        var mayChangeStore: Bool?
        /// Raised by forgetting, so that what was read before does not count after it.
        var generation = 0
        var misses = 0

        mutating func forget() {
            mayChange.removeAll(keepingCapacity: true)
            mayChangeStore = nil
            generation += 1
        }
    }

    private let file: MirrorFile
    private let state = Mutex(State())

    init(_ file: MirrorFile) { self.file = file }

    /// Whether objects of the store can be changed at all.
    ///
    /// The private database belongs to its user, with or without a network. Of what others share, at least one share has
    /// to let the user write.
    var mayChangeStore: Bool {
        switch file.scope {
        case .public: return !isSignedOut
        case .shared:
            let (known, user, generation) = state.withLock { ($0.mayChangeStore, $0.user, $0.generation) }
            if let known { return known }
            let answer = user != nil && ((try? file.shares()) ?? []).contains { $0.share.mayWrite }
            state.withLock { state in
                state.misses += 1
                if state.generation == generation { state.mayChangeStore = answer }
            }
            return answer
        default: return true
        }
    }

    /// Nobody is signed in where somebody has to be.
    var isSignedOut: Bool { file.scope == .public && state.withLock { $0.user == nil } }

    /// How often the file was looked into.
    var misses: Int { state.withLock { $0.misses } }

    func mayChange(_ key: RowKey) -> Bool {
        if file.scope == .private { return true }
        let (known, user, generation) = state.withLock { ($0.mayChange[key], $0.user, $0.generation) }
        if let known { return known }
        let answer = look(key, user)
        state.withLock { state in
            state.misses += 1
            if state.generation == generation { state.mayChange[key] = answer }
        }
        return answer
    }

    /// What is not on the server is nobody's yet. A file that cannot be read lets nothing be changed.
    private func look(_ key: RowKey, _ user: String?) -> Bool {
        guard let user else { return false }
        do {
            if file.scope == .shared {
                // What belongs to no share yet is nobody's.
                guard let zone = try file.zone(of: key), !zone.zone.isHome else { return true }
                return try zone.sharing?.mayWrite ?? false
            }
            let state = try file.store.read { try file.reader($0).record(of: key) }
            return state.map { $0.changeTag == nil || $0.creator == user } ?? true
        } catch {
            return false
        }
    }

    /// - Parameter user: nil for nobody.
    func signIn(_ user: String?) {
        state.withLock { state in
            if state.user == user { return }
            state.user = user
            state.forget()
        }
    }

    func forget() { state.withLock { $0.forget() } }
}

extension Record {
    /// Whether a share lets the user write who received it.
    var mayWrite: Bool {
        guard let details = sharing.details, let participant = details.currentParticipant else { return false }
        return participant.kind == .owner || participant.permission == .readWrite
    }
}
