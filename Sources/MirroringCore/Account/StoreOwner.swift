// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Whose data a store holds, and from which server they are.
package struct StoreOwner: Codable, Hashable, Sendable {
    /// Record name of the user; nil if no server named one.
    package var user: String?
    /// Identity of the server's data; nil if the server doesn't tell.
    package var server: String?

    package init(user: String? = nil, server: String? = nil) {
        self.user = user
        self.server = server
    }

    /// Whether both name a server, and not the same one.
    package func isOnAnotherServer(than other: StoreOwner) -> Bool {
        guard let server, let others = other.server else { return false }
        return server != others
    }
}

/// Who is or was signed in on a device, as far as it could be found out.
package struct SignIn: Hashable, Sendable {
    package var owner: StoreOwner
    /// With which credential the user was signed in when the server confirmed it.
    package var credential: String?
    /// Another credential, or several, that somebody was signed in with since, whom no server named.
    package var stranger: String?

    package init(owner: StoreOwner = StoreOwner(), credential: String? = nil, stranger: String? = nil) {
        self.owner = owner
        self.credential = credential
        self.stranger = stranger
    }
}
