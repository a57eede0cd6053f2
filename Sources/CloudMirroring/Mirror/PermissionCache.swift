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
/// What was found out is forgotten when records arrive, are saved, somebody else signs in, or the server says that the
/// user's roles allow something else than before.
final class PermissionCache: Sendable {
    /// What the user may do with one object.
    private struct Answer: OptionSet {
        let rawValue: UInt8

        static let change = Answer(rawValue: 1)
        static let delete = Answer(rawValue: 2)
        static let all: Answer = [.change, .delete]
    }

    private struct State {
        var user: String?
        /// What roles allow in the public database, by record type; nil where the server does not say.
        var roles: [String: TypePermissions]?
        /// Whether deletions in the public database reach those who have the object.
        var deletionsTravel = false
        var answers: [RowKey: Answer] = [:]
        var mayChangeStore: Bool?
        /// Raised by forgetting, so that what was read before does not count after it.
        var generation = 0
        var misses = 0

        mutating func forget() {
            answers.removeAll(keepingCapacity: true)
            mayChangeStore = nil
            generation += 1
        }

        /// A type that the server has not heard of grants what new types grant.
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

    /// Whether objects of the store can be changed at all.
    ///
    /// The private database belongs to its user, with or without a network. In the public one somebody has to be signed in
    /// whose roles allow anything. Of what others share, at least one share has to let the user write.
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

    /// Nobody is signed in where somebody has to be.
    var isSignedOut: Bool { file.scope == .public && state.withLock { $0.user == nil } }

    /// How often the file was looked into.
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

    // MARK: Looking

    private func look(_ state: State) -> Bool {
        guard state.user != nil else { return false }
        if file.scope == .shared { return ((try? file.shares()) ?? []).contains { $0.share.mayWrite } }
        return Set(file.mapping.entities.values.map(\.recordType)).contains { type in
            let permissions = state.permissions(type)
            return permissions.mayCreate || permissions.writing != .none
        }
    }

    /// What is not on the server is nobody's yet. A file that cannot be read lets nothing be changed.
    private func look(_ key: RowKey, _ state: State) -> Answer {
        guard let user = state.user else { return [] }
        do {
            if file.scope == .shared {
                // What belongs to no share yet is nobody's.
                guard let zone = try file.zone(of: key), !zone.zone.isHome else { return .all }
                return try zone.sharing?.mayWrite ?? false ? .all : []
            }
            guard let permissions = file.mapping.entities[key.entityIndex].map({ state.permissions($0.recordType) }) else { return [] }
            let record = try file.store.read { try file.reader($0).record(of: key) }
            // Nobody else has what was never sent.
            guard let record, record.changeTag != nil else { return permissions.mayCreate ? .all : .delete }
            guard permissions.writing == .all || permissions.writing == .own && record.system.creator == user else { return [] }
            return state.deletionsTravel ? .all : .change
        } catch {
            return []
        }
    }

    // MARK: Being told

    /// - Parameter user: nil for nobody.
    func signIn(_ user: String?) {
        state.withLock { state in
            if state.user == user { return }
            state.user = user
            state.roles = nil
            state.forget()
        }
    }

    /// - Parameter permissions: nil where the server does not say.
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
    /// Whether a share lets the user write who received it.
    var mayWrite: Bool {
        guard let details = sharing.details, let participant = details.currentParticipant else { return false }
        return participant.kind == .owner || participant.permission == .readWrite
    }
}
