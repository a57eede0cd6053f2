// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// Collects uses of credentials until they are stored together, so that a request that reads costs no write.
///
/// Uses of the last minute are lost when the process is killed: they only show an owner the devices in use.
final class CredentialUseLog: Sendable {
    /// Distinct credentials between two stores. More are not noted.
    private static let countMax = 100_000

    private let uses = Mutex<[CredentialReference: CredentialUse]>([:])

    func note(_ credential: CredentialReference, _ use: @autoclosure () -> CredentialUse) {
        uses.withLock { uses in
            if uses.count < Self.countMax || uses[credential] != nil { uses[credential] = use() }
        }
    }

    func removeAll() -> [CredentialReference: CredentialUse] {
        uses.withLock { uses in
            defer { uses = [:] }
            return uses
        }
    }
}
