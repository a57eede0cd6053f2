// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// One way into an account: a device token or a web session, as listed to its owner and to operators.
package struct AccountAccess: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// - Parameter expires: Milliseconds since 1970 UTC; nil for never.
        case device(label: String, expires: Int64?)
        /// - Parameters:
        ///   - use: What the session gives access to.
        ///   - deviceID: The device with the token that made the session; nil for a password.
        case session(_ use: SessionUse, deviceID: String?)
    }

    /// Bytes of a session's identifier in lists: they name it and do not open it.
    package static let sessionIDBytes = 8

    package var kind: Kind
    package var id: String
    /// Milliseconds since 1970 UTC.
    package var began: Int64
    /// Nil if it was not used since the server began to note uses.
    package var lastUse: CredentialUse?

    package init(kind: Kind, id: String, began: Int64, lastUse: CredentialUse?) {
        self.kind = kind
        self.id = id
        self.began = began
        self.lastUse = lastUse
    }
}
