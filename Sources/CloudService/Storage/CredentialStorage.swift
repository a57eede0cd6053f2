// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

/// Passwords, API tokens, web sessions and server-to-server keys. They are stored as hashes, and compared in a time that
/// does not depend on where they differ.
package protocol CredentialStorage: SecondFactorStorage, IdentityStorage {
    // MARK: People

    /// The account of a name or email address if the password is its own. Takes as long for a name that is not there.
    func account(named name: String, password: String) async throws -> Int64?
    /// Stores the hash of an account's password anew if the stored one has other parameters than new hashes have.
    ///
    /// Call it with the right password only, after a sign-in. The hash is made before the transaction; nothing changes if the password
    /// was set concurrently.
    func renewPasswordHash(ofAccount account: Int64, password: String) async throws
    /// The account that signs in with a name or an address; nil for one without a password.
    func account(signingInAs name: String) async throws -> Int64?
    func profile(ofAccount account: Int64) async throws -> AccountProfile?
    /// The account of an address or of a record name in a container.
    func account(matching info: LookupInfo, containerIdentifier: String) async throws -> Int64?

    // MARK: API tokens

    func apiToken(_ token: String) async throws -> APIToken?
    func apiToken(id: Int64) async throws -> APIToken?

    // MARK: Web sessions

    func startSession(_ session: WebSession, id: [UInt8], now: Int64) async throws
    /// Nil for a session that was ended, or that a device made with a token that has expired.
    func session(id: [UInt8], now: Int64) async throws -> WebSession?
    func endSession(id: [UInt8]) async throws

    // MARK: Server-to-server keys

    func serverKey(id: String) async throws -> ServerKey?
    /// Checks an ECDSA signature over P-256 with SHA-256.
    ///
    /// - Parameter signature: ASN.1 DER.
    /// - Returns: An identifier of the signature that all its encodings share; nil for
    ///   a wrong one.
    func verify(signature: [UInt8], of message: [UInt8], by key: ServerKey) -> [UInt8]?
    /// Stores a mark until a time, and returns whether it was new.
    func isFirstUse(of mark: [UInt8], until time: Int64) async throws -> Bool

    func sha256(_ bytes: [UInt8]) -> [UInt8]
}

/// The identity of a web page or program. Not a secret: it is part of pages; it may be limited to origins.
///
/// Source: *CloudKit Web Services Reference*, "Accessing CloudKit Using an API Token".
package struct APIToken: Hashable, Sendable {
    package var id: Int64
    package var containerIdentifier: String
    package var environment: CloudEnvironment
    package var label: String
    /// Where the browser goes after sign-in; nil hands the token to the page that opened the window.
    package var callbackURL: String?
    /// Origins of pages that may use it; empty allows all.
    package var allowedOrigins: [String]
    /// Milliseconds since 1970 UTC after which it is refused; nil for never.
    package var expires: Int64?

    package init(
        id: Int64 = 0, containerIdentifier: String, environment: CloudEnvironment, label: String,
        callbackURL: String? = nil, allowedOrigins: [String] = [], expires: Int64? = nil
    ) {
        self.expires = expires
        self.id = id
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.label = label
        self.callbackURL = callbackURL
        self.allowedOrigins = allowedOrigins
    }

    package func allows(origin: String?) -> Bool {
        guard !allowedOrigins.isEmpty, let origin else { return true }
        return allowedOrigins.contains(origin)
    }
}

/// A session of a person that signed in on a page.
package struct WebSession: Hashable, Sendable {
    /// Sessions of one use that a device, or the sign-ins of an account, have at most: the oldest ones end.
    package static let countMax = 100

    package var account: Int64
    package var use: SessionUse
    package var environment: CloudEnvironment
    /// Whether the person asked to stay signed in.
    package var isKept: Bool
    /// Milliseconds since 1970 UTC.
    package var started: Int64
    /// The device token that the session was made with, and that ends it when revoked; nil for a session begun with a password.
    package var device: CredentialReference?

    package init(
        account: Int64, use: SessionUse, environment: CloudEnvironment, isKept: Bool, started: Int64,
        device: CredentialReference? = nil
    ) {
        self.device = device
        self.account = account
        self.use = use
        self.environment = environment
        self.isKept = isKept
        self.started = started
    }
}

/// The public half of a key pair with which programs sign their requests.
package struct ServerKey: Hashable, Sendable {
    package var id: String
    package var containerIdentifier: String
    package var environment: CloudEnvironment
    /// The user that the program acts as, and that no other program or person does.
    package var userRecordName: String
    /// X9.63, uncompressed: 65 bytes.
    package var publicKey: [UInt8]
    /// Milliseconds since 1970 UTC after which it is refused; nil for never.
    package var expires: Int64?

    package init(
        id: String, containerIdentifier: String, environment: CloudEnvironment, userRecordName: String,
        publicKey: [UInt8], expires: Int64? = nil
    ) {
        self.expires = expires
        self.id = id
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.userRecordName = userRecordName
        self.publicKey = publicKey
    }
}
