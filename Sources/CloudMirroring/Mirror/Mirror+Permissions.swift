// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudWire
import Foundation
import MirroringCore
import Synchronization

extension Mirror {
    /// Takes in who is signed in, and what they may do in the public database.
    func learn(_ caller: CallerIdentity?) async throws {
        permissions.signIn(caller?.identity.userRecordName)
        guard file.scope == .public else { return }
        let now = file.surroundings.now()
        permissionsAsked.withLock { $0 = now }
        guard let caller else { return }
        permissions.learn(caller.permissions)
        try await onQueue { try self.file.remember(permissions: caller.permissions) }
    }

    /// Roles are given and taken at the server, which tells nobody: it is asked as often as the public database is at least.
    func askPermissionsIfDue(_ cloud: MirrorCloud) async throws {
        let asked = permissionsAsked.withLock { $0 }
        guard abs(file.surroundings.now().timeIntervalSince(asked)) >= file.pollSeconds else { return }
        try await learn(try await cloud.caller())
    }

    /// After the server refused something that was thought to be allowed.
    func askPermissionsSoon() { permissionsAsked.withLock { $0 = .distantPast } }
}
