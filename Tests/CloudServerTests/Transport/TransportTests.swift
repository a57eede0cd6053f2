// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudEngine
import CloudEngineSQLite
import CloudWire
import Foundation
import NIOCore
import NIOHTTP1
import NIOSSL
import TestBasics
import Testing

@testable import CloudServer
@testable import TarnCommands

@Suite struct TransportTests {
    /// Status of a handshake with the protocol versions and suites given, and of a request behind it; nil if it fails.
    private func status(
        port: Int, trusting certificate: String, _ change: (inout TLSConfiguration) -> Void = { _ in }
    ) async throws -> UInt? {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .file(certificate)
        change(&tls)
        var configuration = HTTPClient.Configuration()
        configuration.tlsConfiguration = tls
        let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
        let response = try? await client.execute(HTTPClientRequest(url: "https://localhost:\(port)/health"), timeout: .minutes(2))
        try await client.shutdown()
        return response?.status.code
    }

    @Test func oldTLSVersionsAndCipherSuitesAreRejected() async throws {
        try await LocalServer.withCertificate(in: TemporaryFolder()) { port, certificate in
            let path = certificate.certificatePath
            #expect(try await status(port: port, trusting: path) == 200)
            #expect(
                try await status(port: port, trusting: path) { ($0.minimumTLSVersion, $0.maximumTLSVersion) = (.tlsv1, .tlsv11) } == nil)
            #expect(try await status(port: port, trusting: path) { $0.maximumTLSVersion = .tlsv12 } == 200)
            for suite in ["ECDHE-ECDSA-AES256-SHA", "ECDHE-ECDSA-AES128-SHA", "AES128-SHA", "AES128-GCM-SHA256"] {
                let refused = try await status(port: port, trusting: path) {
                    $0.maximumTLSVersion = .tlsv12
                    $0.cipherSuites = suite
                }
                #expect(refused == nil, "\(suite)")
            }
        }
    }

    @Test func aRenewedCertificateIsServedWithoutARestart() async throws {
        let files = TemporaryFolder()
        let certificate = try TestCertificate(in: files)
        let former = files.path + "/former.pem"
        try FileManager.default.copyItem(atPath: certificate.certificatePath, toPath: former)
        let identity = try TLSIdentity(certificatePath: certificate.certificatePath, keyPath: certificate.keyPath)
        try await LocalServer.with(identity, in: TemporaryFolder()) { port in
            #expect(try await status(port: port, trusting: former) == 200)
            #expect(try identity.reloadIfChanged() == false)
            try certificate.renewCertificateOnly()
            #expect(throws: StorageFailure.self) { try identity.reloadIfChanged() }
            #expect(try await status(port: port, trusting: former) == 200, "half a renewal leaves the former pair in force")
            try certificate.renew()
            #expect(try identity.reloadIfChanged())
            #expect(try await status(port: port, trusting: certificate.certificatePath) == 200)
            #expect(try await status(port: port, trusting: former) == nil)
        }
    }

    @Test func everyKindOfResponseHasSecurityHeaders() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            for path in ["/health", "/metrics", "/nowhere", "\(LiveServer.database)/zones/list"] {
                let answer = try await server.send("GET", path, token: token)
                #expect(answer.headers.first(name: "X-Content-Type-Options") == "nosniff", "\(path)")
                #expect(answer.headers.first(name: "Cross-Origin-Resource-Policy") == "same-origin", "\(path)")
                #expect(answer.headers.first(name: "Content-Security-Policy")?.contains("sandbox") == true, "\(path)")
                #expect(answer.headers.first(name: "Strict-Transport-Security") == nil, "\(path): without TLS a browser ignores it")
            }
            let secure = try await server.send("GET", "/health", token: nil, headers: [("X-Forwarded-Proto", "https")])
            #expect(secure.headers.first(name: "Strict-Transport-Security") == "max-age=31536000")
            let upload = AssetUploadRequest(
                items: [.init(recordType: "Plant", recordName: "a", fieldName: "photo")], zoneID: LiveServer.garden)
            try await server.makeGarden(token: token)
            guard
                case .address(let place) = try AssetUploadResponse(json: try await server.post(.uploadAssets, upload, token: token).body)
                    .results[0]
            else { throw WireError(.internalError, "no address") }
            let receipt = try AssetUploadReceipt(json: try await server.send("POST", place.url, token: nil, body: [1, 2, 3]).body).asset
            let record = Record(recordName: "a", recordType: "Plant", fields: ["photo": Field(.asset(receipt))])
            let answer = try await server.modify(.init(.create, record), token: token)
            guard case .record(let saved)? = try ModifyRecordsResponse(json: answer.body).results.first,
                case .asset(let asset)? = saved.fields["photo"]?.value
            else { throw WireError(.internalError, "no asset") }
            let url = try #require(asset.downloadURL)
            let file = try await server.send("GET", url, token: nil)
            #expect(file.headers.first(name: "Content-Disposition") == "attachment")
            #expect(file.headers.first(name: "Cross-Origin-Resource-Policy") == "cross-origin")
            #expect(file.headers.first(name: "Content-Security-Policy")?.contains("sandbox") == true)
        }
    }

    @Test func urlsInResponsesBeginWithThePublicAddress() async throws {
        let address = try #require(PublicAddress("https://cloud.example.com") as PublicAddress?)
        try await LiveServer.run(publicAddress: address) { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let upload = AssetUploadRequest(
                items: [.init(recordType: "Plant", recordName: "a", fieldName: "photo")], zoneID: LiveServer.garden)
            let answer = try await server.post(.uploadAssets, upload, token: token)
            #expect(answer.text.contains("https://cloud.example.com/asset/"))
            let foreign = try await server.send("GET", "/health", token: nil, headers: [("Host", "evil.example")])
            #expect(foreign.status == 421)
            #expect(try await server.send("GET", "/health", token: nil, headers: [("Host", "cloud.example.com")]).status == 200)
        }
    }

    @Test func openingADataFolderClosesItToOtherUsers() throws {
        let folder = TemporaryFolder()
        let files = FileManager.default
        try files.createDirectory(atPath: folder.path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        let path = folder.path + "/tarn.sqlite"
        #expect(files.createFile(atPath: path, contents: Data(), attributes: [.posixPermissions: 0o644]))
        for _ in 0..<2 {
            try SQLiteServerStore(path: folder.path, use: .server, passwordRounds: 16).close()
            for name in try [""] + files.subpathsOfDirectory(atPath: folder.path) {
                let mode = try #require(files.attributesOfItem(atPath: "\(folder.path)/\(name)")[.posixPermissions] as? Int)
                #expect(mode & 0o077 == 0, "\(name) has the mode \(String(mode, radix: 8))")
            }
        }
    }
}
