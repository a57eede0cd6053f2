// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The part of the server's data that one transaction may touch: one database of one user, in one container and
/// environment. It is the first column of every key.
package struct Partition: Hashable, Sendable {
    package var containerIdentifier: String
    package var environment: CloudEnvironment
    package var scope: DatabaseScope
    /// User record name of the owner in this container; ``publicOwner`` for the public database.
    package var owner: String

    /// Stands for everybody.
    package static let publicOwner = "_public"

    package init(
        containerIdentifier: String, environment: CloudEnvironment, scope: DatabaseScope = .private, owner: String
    ) {
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.scope = scope
        self.owner = owner
    }

    /// Unambiguous text for message authentication codes. Container identifiers and owners hold no slash.
    var seed: String { "\(containerIdentifier)/\(environment.rawValue)/\(scope.rawValue)/\(owner)" }
}

/// The sender of a request, with its device.
package struct Caller: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// A client without a user.
        case anonymous
        case user
        /// A program with a server-to-server key: a user of its own, limited to the public database.
        case serverKey
        /// The operator of the server, through its console and commands.
        case `operator`
    }

    package var kind: Kind
    /// Empty for an anonymous caller.
    package var userRecordName: String
    package var deviceID: String

    package init(userRecordName: String, deviceID: String, kind: Kind = .user) {
        self.kind = kind
        self.userRecordName = userRecordName
        self.deviceID = deviceID
    }

    package static let anonymous = Caller(userRecordName: "", deviceID: "", kind: .anonymous)

    /// Whether the caller has a user record name, so that records can be stamped with it.
    package var isSignedIn: Bool { !userRecordName.isEmpty }
    package var isOperator: Bool { kind == .operator }
}

/// The context of a request. The engine has no clock and no source of randomness: both are here.
package struct Call: Sendable {
    package var partition: Partition
    package var caller: Caller
    /// Milliseconds since 1970 UTC.
    package var now: Int64
    /// Makes an identifier that was never made before.
    package var makeIdentifier: @Sendable () -> String
    /// Where the caller reaches this server, such as `http://127.0.0.1:8080`; addresses of assets begin with it.
    package var baseURL: String
    /// Scheduling key of the sender: an account, a server-to-server key or a network. Empty for the server itself.
    package var requester = ""
    /// The identifier of the request in the server's log; empty for a call without one.
    package var requestUUID = ""
    /// What to call the caller where others see it; filled in where it is needed.
    package var callerName = NameComponents()
    /// Whether the response contains the current token of the zone.
    package var wantsSyncToken = false
    /// Up to where the caller knows the zone, if they asked for ``Capability/ownChanges``.
    package var knownSyncToken: String?
    /// Whether a listening device requests the changes themselves: ``Capability/pushedChanges``.
    package var isFollowed = false
    /// Extensions of the documented protocol that the caller requests.
    package var capabilities: Set<Capability> = []
    package var form = AnswerForm()
    /// Whether queries may use fields that the schema does not mark: the console, in development. The server makes the indexes then.
    package var queriesUnmarkedFields = false

    package init(
        partition: Partition, caller: Caller, now: Int64, baseURL: String, makeIdentifier: @escaping @Sendable () -> String
    ) {
        self.partition = partition
        self.caller = caller
        self.now = now
        self.baseURL = baseURL
        self.makeIdentifier = makeIdentifier
    }
}
