// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudWire

/// Lists API tokens and server-to-server keys.
package struct ListCredentials: AdminOperation {
    package static let name = "token.list"

    package init() {}
    package init(_ object: FlatObject) throws(WireError) {}
    package var object: FlatObject { [:] }
    package var subject: String { "server" }

    package func perform(in context: AdminContext) async throws -> CredentialList {
        let tokens = try await context.storage.apiTokens().map { CredentialList.Credential($0) }
        let keys = try await context.storage.serverKeys().map { CredentialList.Credential($0.key, label: $0.label) }
        return CredentialList(credentials: tokens + keys)
    }
}

package struct CredentialList: FlatMessage {
    package enum Kind: String, Hashable, Sendable { case token, key }

    package struct Credential: Hashable, Sendable {
        package var kind: Kind
        package var id: String
        package var container: String
        package var environment: CloudEnvironment
        package var label: String
        /// Milliseconds since 1970 UTC; nil for never.
        package var expires: Int64?
        package var callback: String?
        package var origins: [String]

        init(_ token: APIToken) {
            kind = .token
            id = String(token.id)
            container = token.containerIdentifier
            environment = token.environment
            label = token.label
            expires = token.expires
            callback = token.callbackURL
            origins = token.allowedOrigins
        }

        init(_ key: ServerKey, label: String) {
            kind = .key
            id = key.id
            container = key.containerIdentifier
            environment = key.environment
            self.label = label
            expires = key.expires
            origins = []
        }

        init(_ object: FlatObject) throws(WireError) {
            kind = try object.choice("kind")
            id = try object.text("id")
            container = try object.text("container")
            environment = try object.choice("environment")
            label = try object.text("label")
            expires = object.optionalNumber("expires")
            callback = object.optionalText("callback")
            origins = object.texts("origins")
        }

        var object: FlatObject {
            [
                "kind": .text(kind.rawValue), "id": .text(id), "container": .text(container), "environment": .text(environment.rawValue),
                "label": .text(label), "expires": expires.map(FlatObject.Member.number), "callback": callback.map(FlatObject.Member.text),
                "origins": .texts(origins),
            ]
        }
    }

    package var credentials: [Credential]

    package init(credentials: [Credential]) { self.credentials = credentials }

    package init(_ object: FlatObject) throws(WireError) {
        credentials = []
        for credential in object.objects("credentials") { credentials.append(try Credential(credential)) }
    }

    package var object: FlatObject { ["credentials": .objects(credentials.map(\.object))] }
}

/// Makes an API token. The response has its text.
package struct AddToken: AdminOperation {
    package static let name = "token.add"
    private static let dayMilliseconds: Int64 = 86_400_000
    package static let daysMax = 36_500

    package var container: String
    package var environment: CloudEnvironment
    package var label: String
    /// Where the browser goes after sign-in.
    package var callback: String?
    /// Origins of pages that may use it; empty allows all.
    package var origins: [String]
    /// Days until it expires; nil for never.
    package var days: Int?

    package init(
        container: String, environment: CloudEnvironment, label: String, callback: String?, origins: [String], days: Int?
    ) {
        self.container = container
        self.environment = environment
        self.label = label
        self.callback = callback
        self.origins = origins
        self.days = days
    }

    package init(_ object: FlatObject) throws(WireError) {
        container = try object.text("container")
        environment = try object.choice("environment")
        label = try object.text("label")
        callback = object.optionalText("callback")
        origins = object.texts("origins")
        days = object.optionalNumber("days").map { Int(clamping: $0) }
    }

    package var object: FlatObject {
        [
            "container": .text(container), "environment": .text(environment.rawValue), "label": .text(label),
            "callback": callback.map(FlatObject.Member.text), "origins": .texts(origins),
            "days": days.map { FlatObject.Member.number(Int64($0)) },
        ]
    }

    package var subject: String { "\(container) \(environment.rawValue), \(label)" }

    /// - Throws: `WireError` with `.badRequest`.
    package func check() throws(WireError) {
        try AdminContext.checkIdentifier(ofContainer: container)
        for address in origins + (callback.map { [$0] } ?? []) where !address.hasPrefix("https://") && !address.hasPrefix("http://") {
            throw WireError(.badRequest, "An address begins with https:// or http://.")
        }
        guard environment == .development || !origins.isEmpty else {
            throw WireError(
                .badRequest,
                "A token for production needs the origins of its pages, such as --origin https://app.example.org: without them, a page of any site could ask people to sign in for your app."
            )
        }
        guard (1...Self.daysMax).contains(days ?? 1) else {
            throw WireError(.badRequest, "--expires-after is a number of days from 1 to \(Self.daysMax).")
        }
    }

    package func checkKey(of owner: String, in context: AdminContext) async throws {
        try check()
        guard environment == .development else {
            throw WireError(
                .accessDenied, "An operator's key makes no tokens for production: make it in the console or on the server's machine.")
        }
    }

    package func perform(in context: AdminContext) async throws -> NewSecret {
        try check()
        let now = context.service.now
        let token = APIToken(
            containerIdentifier: container, environment: environment, label: label, callbackURL: callback, allowedOrigins: origins,
            expires: days.map { now + Int64($0) * Self.dayMilliseconds })
        return NewSecret(try await context.storage.addAPIToken(token, now: now))
    }
}

/// Ends an API token.
package struct RemoveToken: AdminOperation {
    package static let name = "token.remove"

    package var id: Int64

    package init(id: Int64) { self.id = id }
    package init(_ object: FlatObject) throws(WireError) { id = try object.number("id") }
    package var object: FlatObject { ["id": .number(id)] }
    package var subject: String { String(id) }

    package func perform(in context: AdminContext) async throws -> EmptyResponse {
        do {
            try await context.storage.removeAPIToken(id: id)
        } catch let failure as StorageFailure where failure.code == .unknownName {
            throw WireError(.notFound, "The API token \(id) does not exist: 'tarn token list' lists all tokens.")
        }
        return EmptyResponse()
    }
}
