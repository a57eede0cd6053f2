// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// Ends push streams and courier polls after the revocation of their credentials.
package struct Revocations: ServiceSubject {
    let core: ServiceCore

    /// Ends push streams and courier polls with a credential that is no longer valid, or of a user with restricted data.
    package func endRevokedListeners() async {
        await push.endListeners { audience, credential in await !mayListen(audience, credential) }
    }

    /// Looks for revocations, also of other processes, and ends what follows from revoked credentials.
    ///
    /// - Parameter known: The count of the last call.
    /// - Returns: The count now.
    package func endListenersIfRevoked(since known: Int64?) async throws -> Int64 {
        let count = try await accounts.revocationCount()
        if let known, known != count { await endRevokedListeners() }
        return count
    }

    /// Returns `false` if the credential was revoked or has expired, or the processing of the user's data is paused. A failure to find
    /// out counts as `false`: the device listens again.
    func mayListen(_ audience: PushAudience, _ credential: CredentialReference) async -> Bool {
        do {
            guard try await accounts.isInForce(credential, now: surroundings.now()) else { return false }
            if audience.isPublic { return true }
            return try await !accounts.isRestricted(
                user: audience.userRecordName, containerIdentifier: audience.containerIdentifier, environment: audience.environment)
        } catch {
            return false
        }
    }
}
