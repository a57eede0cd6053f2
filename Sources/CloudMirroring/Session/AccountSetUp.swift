// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import ManagedModel
import MirroringCore
import ObjectGraph
import SQLiteStore
import Synchronization

/// The set-up operation: identifies account and server, then makes sure that zone and subscription are there.
struct AccountSetUp: Sendable {
    let sync: StoreSync

    private var file: MirrorFile { sync.file }

    /// - Throws: `CloudFailure`; `.badContainer` for a store that belongs to another container, or that stays unchanged until the app
    ///   decides on an account change.
    func run() async throws {
        sync.connection.willOpen()
        do {
            try await identifyAndPrepare()
        } catch {
            sync.connection.forgetUnopened()
            throw error
        }
    }

    private func identifyAndPrepare() async throws {
        try await finishRestoration()
        var memory = try await sync.onQueue { [file] in try file.opening.open() }
        try await sync.countWithheld()
        try await sync.countUnreadable()
        // A change that could not be carried out is in no file; it stays in the status while the set-up is retried.
        let isUnwritten = sync.state.withLock { $0.details.accountChange?.outcome == .unresolved }
        let isStored = try await sync.onQueue { [file] in try !file.accountChanges.all().isEmpty }
        if isStored || !isUnwritten { try await sync.readAccountChange() }
        // The stored account counts until the server responds.
        sync.permissions.signIn(memory.signIn.owner.user)
        sync.permissions.learn(memory.permissions)
        sync.permissions.learn(deletionsTravel: memory.token.flatMap(FeedToken.syncToken) != nil)
        let database = try sync.cloud.open()
        if sync.connection.use(database.client.transport) { sync.accountMayHaveChanged() }
        let credential = database.client.transport.credential
        memory.signIn.stranger = try await sync.onQueue { [file, memory] in try file.account.note(credential, in: memory.signIn) }
        let (caller, server) = try await database.introduction()
        let present = SignIn(owner: StoreOwner(user: caller?.identity.userRecordName, server: server), credential: credential)
        if try await changeOwner(memory, to: present) { memory = FileOpening.Memory() }
        try await store(present, memory.signIn)
        try await PermissionUpdates(sync: sync).store(caller)
        try await database.setUp(isKnown: memory.token != nil)
        if file.scope == .public {
            sync.permissions.learn(deletionsTravel: database.traits.hasPublicFeed)
            PushListener(sync: sync).followFeed(database)
        }
    }

    private func finishRestoration() async throws {
        guard let restoration = sync.state.withLock({ $0.restoration }) else { return }
        sync.mergeDeletions(of: try await sync.onQueue { [file] in try file.account.finish(restoration) })
        sync.state.withLock { $0.restoration = nil }
    }

    /// Applies the account rules if the account or the server is another one than the store was synced with.
    ///
    /// - Returns: Whether the memory of the store is void.
    /// - Throws: `CloudFailure` with `.badContainer` if the store stays unchanged until the app decides.
    private func changeOwner(_ memory: FileOpening.Memory, to present: SignIn) async throws -> Bool {
        let events = EventRecorder(sync: sync)
        let removed: [RowKey]
        switch file.accountRules.decision(known: memory.signIn, present: present, answer: memory.answer) {
        case .proceed: return false
        case .archive(let kind): removed = try await empty(because: kind, from: memory.signIn.owner, for: present)
        case .upload(let kind):
            removed = try await sync.onQueue { [file] in try file.account.uploadEverything(because: kind, for: present.owner) }
        case .halt(let kind):
            try await sync.onQueue { [file] in try file.account.leaveUnresolved(kind, for: present.owner) }
            try await events.nameAccountChange()
            throw CloudFailure(.badContainer, kind.haltReason)
        }
        sync.mergeDeletions(of: removed)
        try await events.nameAccountChange()
        // Fetched pages are the other user's.
        sync.state.withLock { $0.importer.chains.removeAll() }
        PageReader(sync: sync).dropPrefetched()
        return true
    }

    /// Archives and empties the store.
    ///
    /// - Throws: `CloudFailure` if the archive cannot be made. The store is unchanged then, the status has the change as unresolved,
    ///   and the next set-up tries again.
    private func empty(because kind: AccountChange.Kind, from previous: StoreOwner, for present: SignIn) async throws -> [RowKey] {
        do {
            return try await sync.onQueue { [file] in try file.account.empty(because: kind, for: present) }
        } catch let error as StoreError {
            let change = AccountChange(kind: kind, outcome: .unresolved, date: file.now, previous: previous, present: present.owner)
            sync.state.withLock { state in
                state.details.accountChange = change
                state.details.accountChangeEvent = state.step?.event.identifier
            }
            var failure = CloudFailure(error)
            failure.reason =
                "the store cannot be archived before it is emptied for another account or server, so it stays unchanged: "
                + failure.reason + (error.code == .diskFull ? "; make room, and syncing continues automatically" : "")
            throw failure
        }
    }

    private func store(_ present: SignIn, _ known: SignIn) async throws {
        var signIn = present
        // An account or a server that did not identify itself is the known one.
        if signIn.owner.user == nil {
            (signIn.owner.user, signIn.credential, signIn.stranger) = (known.owner.user, known.credential, known.stranger)
        }
        if signIn.owner.server == nil { signIn.owner.server = known.owner.server }
        let isUnresolved = sync.state.withLock { $0.details.accountChange?.outcome == .unresolved }
        guard signIn != known || isUnresolved else { return }
        try await sync.onQueue { [file] in try file.account.remember(present) }
        if isUnresolved { try await sync.readAccountChange() }
    }
}

extension AccountChange.Kind {
    /// A sentence for people.
    fileprivate var haltReason: String {
        switch self {
        case .anotherAccount, .dataDeleted, .shareLost:
            "this store holds the data of another account; sign in with the account it was synced with, use another file, or call "
                + "resolveAccountChange(_:in:)"
        case .serverReplaced:
            "this store was synced with another server, or with an earlier data folder of this one; call resolveAccountChange(_:in:) to "
                + "decide on its objects"
        }
    }
}
