// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import MirroringCore
import Synchronization

/// Keeps the cached permissions of the public database current.
struct PermissionUpdates: Sendable {
    let sync: StoreSync

    /// Stores the account, and its permissions in the public database.
    func store(_ caller: CallerIdentity?) async throws {
        sync.permissions.signIn(caller?.identity.userRecordName)
        guard sync.file.scope == .public else { return }
        let now = sync.environment.now()
        sync.state.withLock { $0.importer.permissionsRequested = now }
        guard let caller else { return }
        sync.permissions.learn(caller.permissions)
        try await sync.onQueue { [file = sync.file] in try file.account.remember(permissions: caller.permissions) }
    }

    /// Requests the permissions once per poll interval: the server does not notify clients of a changed role.
    func requestIfDue(_ database: SyncDatabase) async throws {
        let last = sync.state.withLock { $0.importer.permissionsRequested }
        guard abs(sync.environment.now().timeIntervalSince(last)) >= sync.file.pollSeconds else { return }
        try await store(try await database.caller())
    }

    /// Requests the permissions with the next import, after the server rejected a change that they allow.
    func requestSoon() { sync.state.withLock { $0.importer.permissionsRequested = .distantPast } }
}
