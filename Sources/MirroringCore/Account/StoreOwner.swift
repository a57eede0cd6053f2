// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The user and the server of a store's data.
package struct StoreOwner: Codable, Hashable, Sendable {
    /// Record name of the user; nil if the server never identified one.
    package var user: String?
    /// Identity of the server's data; nil for a server without the capability.
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

/// The account of a device, as far as it is known.
package struct SignIn: Hashable, Sendable {
    package var owner: StoreOwner
    /// The credential of the user when the server confirmed it.
    package var credential: String?
    /// A later credential, or several, that the server has not identified.
    package var stranger: String?

    package init(owner: StoreOwner = StoreOwner(), credential: String? = nil, stranger: String? = nil) {
        self.owner = owner
        self.credential = credential
        self.stranger = stranger
    }
}
