// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

/// The storage of the console: accounts, tokens and keys of the whole server.
package protocol AdministrationStorage: AuditStorage, AccountListStorage {
    /// Containers that anything is known of.
    func containers() async throws -> [String]
    func profiles() async throws -> [AccountProfile]
    /// Whether an account is an operator.
    func hasOperator() async throws -> Bool
    func account(named name: String) async throws -> Int64?
    /// Accounts with their devices.
    func users() async throws -> [Account]
    /// Makes another device token of an account.
    ///
    /// - Parameter expires: Milliseconds since 1970 UTC after which the token is refused; nil for never.
    func addToken(userName: String, deviceLabel: String, now: Int64, expires: Int64?) async throws -> String
    /// Device tokens and web sessions of an account, oldest first.
    func accesses(ofUser name: String) async throws -> [AccountAccess]
    /// Revokes the tokens of all devices of a label, with the web sessions made with them.
    ///
    /// - Throws: `StorageFailure` with `.unknownName` if it does not exist.
    func removeDevice(labelled label: String, ofUser name: String) async throws
    /// Revokes the token of a device, with the web sessions made with it.
    ///
    /// - Throws: `StorageFailure` with `.unknownName` if it does not exist.
    func removeDevice(id: String, ofUser name: String) async throws
    /// Ends web sessions of an account.
    ///
    /// - Parameter id: As in ``AccountAccess``; nil ends all.
    /// - Throws: `StorageFailure` with `.unknownName` if the identifier does not exist.
    func endSessions(ofUser name: String, id: String?) async throws
    /// Makes an account and returns the token of its first device.
    func addUser(name: String, deviceLabel: String, now: Int64) async throws -> String
    /// Makes an operator with a password, in one transaction, unless there is an operator.
    ///
    /// - Parameter isClaiming: `true` makes an existing account of the name the operator, if nobody can sign in to it.
    func addFirstOperator(named name: String, password: String, isClaiming: Bool, now: Int64) async throws -> FirstOperatorOutcome
    /// Sets the password, and ends all web sessions of the account.
    func setPassword(_ password: String, ofUser name: String) async throws
    /// Bytes of the user's private database in each container, 0 for any number; nil for the default of the server's
    /// limits say.
    func setQuota(_ bytes: Int64?, ofUser name: String) async throws
    /// The quota of an account, also of one that has no data; nil for the server's default, and without the account.
    func quota(ofUser name: String) async throws -> Int64?
    /// What databases take that take anything, by user; those without a user are public ones.
    func usage() async throws -> [DatabaseUsage]
    /// Databases and bytes of each container and environment.
    func containerUsage() async throws -> [ContainerUsage]
    func updateProfile(ofUser name: String, _ change: @escaping @Sendable (inout AccountProfile) -> Void) async throws
    func apiTokens() async throws -> [APIToken]
    func addAPIToken(_ token: APIToken, now: Int64) async throws -> String
    func removeAPIToken(id: Int64) async throws
    /// Makes an API token that takes the place of another: same container, label, callback and origins.
    ///
    /// - Parameters:
    ///   - rotation: Until when the old one is accepted, and the expiry of the new one.
    /// - Throws: `StorageFailure` with `.unknownName` if it does not exist or has expired.
    func rotateAPIToken(id: Int64, now: Int64, _ rotation: CredentialRotation) async throws -> String
    /// Registers the public half of a key and returns its identifier.
    ///
    /// - Parameters:
    ///   - pem: SubjectPublicKeyInfo of a P-256 key.
    ///   - expires: Milliseconds since 1970 UTC after which the key is refused; nil for never.
    func addServerKey(
        pem: String, containerIdentifier: String, environment: CloudEnvironment, label: String, now: Int64, expires: Int64?
    ) async throws -> String
    /// Registers a key that takes the place of another: it is of the same user, container and label.
    ///
    /// - Returns: The identifier of the new key.
    /// - Throws: `StorageFailure` with `.unknownName` if the old key does not exist or has expired, or the new one is invalid.
    func rotateServerKey(id: String, pem: String, now: Int64, _ rotation: CredentialRotation) async throws -> String
    func serverKeys() async throws -> [(key: ServerKey, label: String)]
    func removeServerKey(id: String) async throws
}

extension AdministrationStorage {
    package func addToken(userName: String, deviceLabel: String, now: Int64) async throws -> String {
        try await addToken(userName: userName, deviceLabel: deviceLabel, now: now, expires: nil)
    }

    package func addServerKey(
        pem: String, containerIdentifier: String, environment: CloudEnvironment, label: String, now: Int64
    ) async throws -> String {
        try await addServerKey(
            pem: pem, containerIdentifier: containerIdentifier, environment: environment, label: label, now: now, expires: nil)
    }
}

/// The exchange of a credential for a new one; both are accepted during the overlap.
package struct CredentialRotation: Hashable, Sendable {
    /// Milliseconds for which the old credential is accepted, unless it expires before; 0 or more.
    package var overlap: Int64
    /// Milliseconds since 1970 UTC after which the new credential is refused; nil for never.
    package var expires: Int64?

    package init(overlap: Int64, expires: Int64?) {
        self.overlap = overlap
        self.expires = expires
    }
}

/// A person with an account, as listed to the operator.
package struct Account: Hashable, Sendable {
    package var name: String
    /// Labels of the devices that have a token.
    package var devices: [String]

    package init(name: String, devices: [String]) {
        self.name = name
        self.devices = devices
    }
}

/// What one database takes.
package struct DatabaseUsage: Hashable, Sendable {
    /// Nil for a public database.
    package var userName: String?
    package var containerIdentifier: String
    package var environment: CloudEnvironment
    package var usage: StoredBytes
    /// The quota that the operator set for the user.
    package var quota: Int64?

    package init(
        userName: String?, containerIdentifier: String, environment: CloudEnvironment, usage: StoredBytes, quota: Int64?
    ) {
        self.userName = userName
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.usage = usage
        self.quota = quota
    }
}

/// The databases of a container in one environment.
package struct ContainerUsage: Hashable, Sendable {
    package var containerIdentifier: String
    package var environment: CloudEnvironment
    package var databases: Int
    package var usage: StoredBytes

    package init(containerIdentifier: String, environment: CloudEnvironment, databases: Int, usage: StoredBytes) {
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.databases = databases
        self.usage = usage
    }
}

/// Pages of a server in addition to the protocol.
package protocol PageResponder: Sendable {
    /// - Returns: Nil for an address of another part of the server.
    func respond(to request: ServiceRequest) async -> ServiceResponse?
    /// Hears of every request that was answered.
    func note(_ note: RequestNote)
}

/// Whether a server got its first operator. Nothing changed in cases other than `added`.
package enum FirstOperatorOutcome: Hashable, Sendable {
    case added
    /// The server has an operator.
    case operatorExists
    /// An account of that name exists.
    ///
    /// - Parameter isClaimable: Whether nobody can sign in to it: it has neither a password nor an identity at a provider, only devices.
    case nameTaken(isClaimable: Bool)
}
