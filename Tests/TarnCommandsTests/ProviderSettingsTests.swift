// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudIdentity
import CloudService
import Foundation
import Hummingbird
import HummingbirdTesting
import Testing

@testable import TarnCommands

/// Settings of a provider, and the client that fetches its documents.
@Suite struct ProviderSettingsTests {
    private static func settings(_ environment: [String: String]) throws -> IdentitySignIn? {
        let settings = try ServerSettings(file: nil, environment: environment)
        return try settings.provider.signIn(hasPublicAddress: settings.publicAddress != nil, now: { 0 })
    }

    private static let complete = [
        "TARN_OIDC_ISSUER": "https://id.example.com", "TARN_OIDC_CLIENT_ID": "tarn", "TARN_PUBLIC_ADDRESS": "https://cloud.example.com",
    ]

    @Test func completeSettingsMakeAProvider() throws {
        let signIn = try #require(try Self.settings(Self.complete))
        #expect(signIn.provider.name == "id.example.com")
        #expect(signIn.provider.issuer == "https://id.example.com")
        #expect(signIn.accounts == .linked)
        let named = try #require(
            try Self.settings(Self.complete.merging(["TARN_OIDC_NAME": "Company", "TARN_OIDC_ACCOUNTS": "created"]) { $1 }))
        #expect(named.provider.name == "Company")
        #expect(named.accounts == .created)
        #expect(try Self.settings([:]) == nil)
    }

    @Test(arguments: ["TARN_OIDC_ISSUER", "TARN_OIDC_CLIENT_ID", "TARN_PUBLIC_ADDRESS"])
    func missingSettingsAreNamed(_ variable: String) {
        var environment = Self.complete
        environment[variable] = nil
        #expect(throws: CommandError.self) { try Self.settings(environment) }
    }

    @Test(arguments: [
        ("TARN_OIDC_ISSUER", "http://id.example.com"), ("TARN_OIDC_ISSUER", "id.example.com"),
        ("TARN_OIDC_ISSUER", "https://u:p@id.example.com"),
        ("TARN_OIDC_ACCOUNTS", "all"), ("TARN_OIDC_NAME", ""), ("TARN_OIDC_CLIENT_SECRET_FILE", "/nowhere"),
    ])
    func wrongSettingsAreRefused(_ variable: String, _ value: String) {
        #expect(throws: CommandError.self) { try Self.settings(Self.complete.merging([variable: value]) { $1 }) }
    }

    @Test func clientSecretComesFromAFile() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "tarn-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("s3cret\n".utf8).write(to: URL(fileURLWithPath: path))
        var settings = ProviderSettings()
        #expect(try settings.set("oidc-client-secret-file", to: path))
        #expect(settings.clientSecret == "s3cret")
    }

    /// Over a socket: no redirect is followed, and a long response is not read to its end.
    @Test func clientIsBounded() async throws {
        let router = Router()
        router.get("small") { _, _ in "{}" }
        router.get("large") { _, _ in String(repeating: " ", count: 100_000) }
        router.get("elsewhere") { _, _ in Response.redirect(to: "/small") }
        router.post("token") { request, _ in
            let body = try await request.body.collect(upTo: 1000)
            return String(buffer: body)
        }
        try await Application(responder: router.buildResponder()).test(.live) { client in
            try await Self.checkClient(port: client.port ?? 0)
        }
    }

    private static func checkClient(port: Int) async throws {
        @Sendable func fetch(_ path: String, form: String? = nil) async throws -> ProviderResponse {
            try await ProviderClient.fetch(
                ProviderRequest(
                    address: "http://127.0.0.1:\(port)\(path)", headers: form == nil ? [:] : ["Content-Type": "a/b"], form: form,
                    bytesMax: 64_000))
        }
        #expect(try await fetch("/small") == ProviderResponse(status: 200, body: Array("{}".utf8)))
        #expect(try await fetch("/elsewhere").status == 303)
        await #expect(throws: (any Error).self) { try await fetch("/large") }
        #expect(try await fetch("/token", form: "code=1").body == Array("code=1".utf8))
    }
}
