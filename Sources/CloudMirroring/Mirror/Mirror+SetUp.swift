// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import MirroringCore
import ObjectGraph
import Synchronization

extension Mirror {
    func setUp() async throws -> SyncMachine.Outcome {
        var memory = try await onQueue { try self.file.open() }
        try await countIncomplete()
        try await showAccountChange()
        // Until the server can be asked, it is who it was.
        permissions.signIn(memory.user)
        permissions.learn(memory.permissions)
        permissions.learn(deletionsTravel: memory.token.flatMap(FeedToken.syncToken) != nil)
        connection.forget()
        let cloud = try cloud.open()
        connection.use(cloud.client.transport)
        let credential = cloud.client.transport.credential
        memory.stranger = try await onQueue { [memory] in try self.file.note(credential, in: memory) }
        let caller = try await cloud.caller()
        let user = caller?.identity.userRecordName
        // What everybody may read stays, whoever is signed in.
        if let user, file.scope != .public, file.isAnothers(memory, now: user, with: credential) {
            let removed = try await onQueue { try self.file.changeAccount(to: user) }
            tellContexts(deleted: removed)
            try await showAccountChange()
            nameAccountChange()
            // What was fetched and not applied yet is the other user's as well.
            round.withLock { $0 = ImportRound() }
            ahead.withLock { $0.take() }?.page.cancel()
            chains.withLock { $0.removeAll() }
            memory = MirrorFile.Memory()
        }
        if let user, memory.user != user || memory.credential != credential || memory.stranger != nil {
            try await onQueue { try self.file.remember(user: user, credential: credential) }
        }
        try await learn(caller)
        try await cloud.setUp(isKnown: memory.token != nil)
        if file.scope == .public {
            permissions.learn(deletionsTravel: cloud.ways.hasFeed)
            followFeed(cloud)
        }
        return .done
    }
}
