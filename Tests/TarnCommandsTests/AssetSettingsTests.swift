// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudStorageSupport
import Foundation
import Hummingbird
import HummingbirdTesting
import Testing

@testable import TarnCommands

/// Settings of the S3-compatible store of assets.
@Suite struct AssetSettingsTests {
    private static let complete = [
        "TARN_ASSETS": "s3://bucket/tarn", "TARN_ASSETS_ENDPOINT": "https://s3.example.com", "TARN_ASSETS_REGION": "eu-1",
        "AWS_ACCESS_KEY_ID": "AKIA", "AWS_SECRET_ACCESS_KEY": "s3cret",
    ]

    private static func objects(_ environment: [String: String]) throws -> S3Assets? {
        try ServerSettings(file: nil, environment: environment).assets.objects(environment: environment)
    }

    @Test func completeSettingsNameAStore() throws {
        let objects = try #require(try Self.objects(Self.complete))
        #expect(objects.client.location.shown == "s3://bucket/tarn at https://s3.example.com")
        #expect(try Self.objects([:]) == nil)
        #expect(try AssetSettings(environment: Self.complete) == ServerSettings(file: nil, environment: Self.complete).assets)
    }

    @Test func theEndpointIsThatOfTheRegion() throws {
        var environment = Self.complete
        environment["TARN_ASSETS_ENDPOINT"] = nil
        #expect(try #require(try Self.objects(environment)).client.location.base == "https://s3.eu-1.amazonaws.com")
    }

    @Test(arguments: ["AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "TARN_ASSETS"])
    func missingSettingsAreNamed(_ variable: String) {
        var environment = Self.complete
        environment[variable] = nil
        #expect(throws: CommandError.self) { try Self.objects(environment) }
    }

    @Test(arguments: [
        ("TARN_ASSETS", "bucket"), ("TARN_ASSETS", "https://s3.example.com/bucket"), ("TARN_ASSETS", "s3://bucket/a b"),
        ("TARN_ASSETS_ENDPOINT", "s3.example.com"), ("TARN_ASSETS_ENDPOINT", "https://s3.example.com/bucket"),
        ("TARN_ASSETS_REGION", "eu west"), ("TARN_ASSETS_KEY_FILE", "/nowhere"),
    ])
    func wrongSettingsAreRefused(_ variable: String, _ value: String) {
        #expect(throws: CommandError.self) { try Self.objects(Self.complete.merging([variable: value]) { $1 }) }
    }

    @Test func theKeyComesFromAFile() throws {
        let path = FileManager.default.temporaryDirectory.appending(path: "tarn-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var environment = Self.complete
        environment["AWS_SECRET_ACCESS_KEY"] = nil
        environment["TARN_ASSETS_KEY_FILE"] = path
        try Data("AKIA\ns3cret\n".utf8).write(to: URL(fileURLWithPath: path))
        #expect(try Self.objects(environment) != nil)
        try Data("AKIA s3cret\n".utf8).write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: CommandError.self) { try Self.objects(environment) }
        #expect(error?.description.contains("s3cret") == false)
    }

    @Test(arguments: [
        (S3Failure.unreachable, "--assets-endpoint"), (.rejected(status: 404, code: "NoSuchBucket"), "has no bucket bucket"),
        (.rejected(status: 403, code: "SignatureDoesNotMatch"), "SignatureDoesNotMatch"), (.foreignOwner, "not this database's"),
        (.rejected(status: 403, code: "RequestTimeTooSkewed"), "clock"), (.unreadable, "--assets-endpoint"),
    ])
    func failuresSayWhatToDo(_ failure: S3Failure, _ text: String) throws {
        let location = try #require(S3Location("s3://bucket/tarn", endpoint: "https://s3.example.com"))
        #expect(CommandError(failure, location).description.contains(text))
    }

    /// Over a socket: no redirect is followed, a long response is not read to its end, and a late one is not waited for.
    @Test func clientIsBounded() async throws {
        let (gate, opening) = AsyncStream<Never>.makeStream()
        let router = Router()
        router.get("small") { _, _ in "{}" }
        router.get("large") { _, _ in String(repeating: " ", count: 100_000) }
        router.get("elsewhere") { _, _ in Response.redirect(to: "/small") }
        router.get("late") { _, _ in
            for await _ in gate {}
            return ""
        }
        try await Application(responder: router.buildResponder()).test(.live) { client in
            defer { opening.finish() }
            try await Self.checkClient(port: client.port ?? 0)
        }
    }

    private static func checkClient(port: Int) async throws {
        @Sendable func send(_ path: String, timeout: Duration = .seconds(60)) async throws -> S3Response {
            try await S3HTTPClient.send(
                S3Request(
                    method: "GET", url: "http://127.0.0.1:\(port)\(path)", headers: [], body: .bytes([]), responseBytesMax: 64_000,
                    timeout: timeout))
        }
        #expect(try await send("/small").body == Array("{}".utf8))
        #expect(try await send("/elsewhere").status == 303)
        await #expect(throws: (any Error).self) { try await send("/large") }
        await #expect(throws: (any Error).self) { try await send("/late", timeout: .milliseconds(50)) }
    }
}
