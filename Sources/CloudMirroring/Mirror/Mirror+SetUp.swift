// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import ManagedModel
import MirroringCore
import ObjectGraph
import Synchronization

extension Mirror {
    func setUp() async throws -> SyncMachine.Outcome {
        connection.willOpen()
        do {
            return try await setUpOpening()
        } catch {
            connection.forgetUnopened()
            throw error
        }
    }

    private func setUpOpening() async throws -> SyncMachine.Outcome {
        try await finishRestoration()
        var memory = try await onQueue { try self.file.open() }
        try await countIncomplete()
        try await showAccountChange()
        // Until the server can be asked, it is who it was.
        permissions.signIn(memory.signIn.owner.user)
        permissions.learn(memory.permissions)
        permissions.learn(deletionsTravel: memory.token.flatMap(FeedToken.syncToken) != nil)
        let cloud = try self.cloud.open()
        if connection.use(cloud.client.transport) { accountMayHaveChanged() }
        let credential = cloud.client.transport.credential
        memory.signIn.stranger = try await onQueue { [memory] in try self.file.note(credential, in: memory.signIn) }
        let (caller, server) = try await cloud.introduction()
        let present = SignIn(owner: StoreOwner(user: caller?.identity.userRecordName, server: server), credential: credential)
        if try await changeOwner(memory, to: present) { memory = MirrorFile.Memory() }
        try await remember(present, memory.signIn)
        try await learn(caller)
        try await cloud.setUp(isKnown: memory.token != nil)
        if file.scope == .public {
            permissions.learn(deletionsTravel: cloud.ways.hasFeed)
            followFeed(cloud)
        }
        return .done
    }

    /// Does what the rules say where another account or another server is found than the store was synced with.
    ///
    /// - Returns: Whether nothing that was remembered holds any more.
    /// - Throws: `CloudFailure` with `.badContainer` where the store stays as it is until the app decides.
    private func changeOwner(_ memory: MirrorFile.Memory, to present: SignIn) async throws -> Bool {
        let decision = file.accountRules.decision(known: memory.signIn, present: present, answer: memory.answer)
        let removed: [RowKey]
        switch decision {
        case .proceed: return false
        case .archive(let kind): removed = try await onQueue { try self.file.empty(because: kind, for: present.owner) }
        case .upload(let kind): removed = try await onQueue { try self.file.uploadEverything(because: kind, for: present.owner) }
        case .halt(let kind):
            try await onQueue { try self.file.leaveUnresolved(kind, for: present.owner) }
            try await nameAccountChange()
            throw CloudFailure(.badContainer, kind.whyNothingIsSynced)
        }
        tellContexts(deleted: removed)
        try await nameAccountChange()
        // What was fetched and not applied yet is the other user's as well.
        round.withLock { $0 = ImportRound() }
        ahead.withLock { $0.take() }?.page.cancel()
        chains.withLock { $0.removeAll() }
        return true
    }

    private func remember(_ present: SignIn, _ known: SignIn) async throws {
        var signIn = present
        // Who could not be asked is who they were.
        if signIn.owner.user == nil { (signIn.owner.user, signIn.credential, signIn.stranger) = (known.owner.user, known.credential, known.stranger) }
        if signIn.owner.server == nil { signIn.owner.server = known.owner.server }
        let isUnresolved = accountChange.withLock { $0.change?.outcome == .unresolved }
        guard signIn != known || isUnresolved else { return }
        try await onQueue { try self.file.remember(present) }
        if isUnresolved { try await showAccountChange() }
    }
}

extension AccountChange.Kind {
    /// A sentence for people.
    fileprivate var whyNothingIsSynced: String {
        switch self {
        case .anotherAccount, .dataDeleted:
            "this store holds the data of another account; sign in with the account it was synced with, use another file, or call "
                + "resolveAccountChange(_:in:)"
        case .serverReplaced:
            "this store was synced with another server, or with this one before its data were made anew; call resolveAccountChange(_:in:) "
                + "to say what becomes of the objects"
        }
    }
}
