// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import ManagedModel
import MirroringCore
import SQLiteStore
import Synchronization

/// Caches whether the user may change objects of one store, so that the answer needs one read of the file.
///
/// The cache is invalidated when records are imported or saved, when another user signs in, and when the server changes the user's
/// permissions.
final class PermissionCache: Sendable {
    /// The user's permissions for one object.
    private struct Answer: OptionSet {
        let rawValue: UInt8

        static let change = Answer(rawValue: 1)
        static let delete = Answer(rawValue: 2)
        static let all: Answer = [.change, .delete]
    }

    private struct State {
        var user: String?
        /// Permissions in the public database, by record type; nil for a server without the capability.
        var roles: [String: TypePermissions]?
        /// Whether deletions in the public database reach other devices.
        var deletionsTravel = false
        var answers: [RowKey: Answer] = [:]
        var mayChangeStore: Bool?
        /// Incremented by an invalidation, so that an earlier read does not fill the cache after it.
        var generation = 0
        var misses = 0

        mutating func forget() {
            answers.removeAll(keepingCapacity: true)
            mayChangeStore = nil
            generation += 1
        }

        /// A record type that the server does not have grants the permissions of new types.
        func permissions(_ recordType: String) -> TypePermissions {
            roles?[recordType] ?? TypePermissions(recordType: recordType, mayCreate: true, writing: .own)
        }
    }

    private let file: MirrorFile
    private let isPrivate: Bool
    private let state = Mutex(State())

    init(_ file: MirrorFile) {
        self.file = file
        isPrivate = file.scope == .private
    }

    /// Whether any object of the store can be changed.
    ///
    /// The private database belongs to its user, with or without a network. The public one needs a signed-in user with any permission. The
    /// shared one needs at least one share that permits writing.
    var mayChangeStore: Bool {
        if isPrivate { return true }
        let state = state.withLock { ($0.mayChangeStore, $0) }
        if let known = state.0 { return known }
        let answer = look(state.1)
        self.state.withLock { now in
            now.misses += 1
            if now.generation == state.1.generation { now.mayChangeStore = answer }
        }
        return answer
    }

    /// Whether changes wait for a user to sign in.
    var isSignedOut: Bool { file.scope == .public && state.withLock { $0.user == nil } }

    /// The number of reads of the file.
    var misses: Int { state.withLock { $0.misses } }

    func mayChange(_ key: RowKey) -> Bool { isPrivate || answer(key).contains(.change) }

    func mayDelete(_ key: RowKey) -> Bool { isPrivate || answer(key).contains(.delete) }

    private func answer(_ key: RowKey) -> Answer {
        if let known = state.withLock({ $0.answers[key] }) { return known }
        let state = state.withLock { $0 }
        let answer = look(key, state)
        self.state.withLock { now in
            now.misses += 1
            if now.generation == state.generation { now.answers[key] = answer }
        }
        return answer
    }

    // MARK: Reads

    private func look(_ state: State) -> Bool {
        guard state.user != nil else { return false }
        if file.scope == .shared { return ((try? file.shares.all()) ?? []).contains { $0.share.mayWrite } }
        return Set(file.mapping.entities.values.map(\.recordType)).contains { type in
            let permissions = state.permissions(type)
            return permissions.mayCreate || permissions.writing != .none
        }
    }

    /// An object that is not on the server has no other owner. If the file cannot be read, no change is permitted.
    private func look(_ key: RowKey, _ state: State) -> Answer {
        guard let user = state.user else { return [] }
        do {
            if file.scope == .shared {
                // An object without a share has no other owner.
                guard let zone = try file.zones.zone(of: key), !zone.zone.isHome else { return .all }
                return try zone.sharing?.mayWrite ?? false ? .all : []
            }
            guard let permissions = file.mapping.entities[key.entityIndex].map({ state.permissions($0.recordType) }) else { return [] }
            let record = try file.store.read { try file.reader($0).record(of: key) }
            // Other devices do not have an object that was never sent.
            guard let record, record.changeTag != nil else { return permissions.mayCreate ? .all : .delete }
            guard permissions.writing == .all || permissions.writing == .own && record.system.creator == user else { return [] }
            return state.deletionsTravel ? .all : .change
        } catch {
            return []
        }
    }

    // MARK: Updates

    /// - Parameter user: nil for an anonymous client.
    func signIn(_ user: String?) {
        state.withLock { state in
            if state.user == user { return }
            state.user = user
            state.roles = nil
            state.forget()
        }
    }

    /// - Parameter permissions: nil for a server without the capability.
    func learn(_ permissions: [TypePermissions]?) {
        let roles = permissions.map { Dictionary($0.map { ($0.recordType, $0) }, uniquingKeysWith: { first, _ in first }) }
        state.withLock { state in
            if state.roles == roles { return }
            state.roles = roles
            state.forget()
        }
    }

    func learn(deletionsTravel: Bool) {
        state.withLock { state in
            if state.deletionsTravel == deletionsTravel { return }
            state.deletionsTravel = deletionsTravel
            state.forget()
        }
    }

    func forget() { state.withLock { $0.forget() } }
}

extension Record {
    /// Whether a share permits the present user to write.
    var mayWrite: Bool {
        guard let details = sharing.details, let participant = details.currentParticipant else { return false }
        return participant.kind == .owner || participant.permission == .readWrite
    }
}
