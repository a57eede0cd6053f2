// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudEngine
import CloudEngineSQLite
import CloudPush
import CloudWire
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization
import Testing

@testable import CloudServer
@testable import TarnCommands

@Suite struct OperationsTests {
    @Test func onlyThisMachineAndWhoHasTheTokenMayAskHowTheServerIs() async throws {
        try await LiveServer.run(access: OperationsAccess(token: "a token of operations")) { (server) async throws -> Void in
            for path in ["/metrics", "/ready"] {
                #expect(try await server.send("GET", path, token: nil).status == 200)
                let forwarded = [("X-Forwarded-For", "203.0.113.7")]
                #expect(try await server.send("GET", path, token: nil, headers: forwarded).status == 403)
                #expect(try await server.send("GET", path, token: "a token of operationz", headers: forwarded).status == 403)
                #expect(try await server.send("GET", path, token: "a token of operations", headers: forwarded).status == 200)
            }
            #expect(try await server.send("GET", "/health", token: nil, headers: [("X-Forwarded-For", "203.0.113.7")]).status == 200)
        }
        let remote = OperationsAccess()
        #expect(!remote.allows(isLocal: false, headers: [:]) && !remote.allows(isLocal: false, headers: ["authorization": "Bearer "]))
        #expect(OperationsAccess(isOpen: true).allows(isLocal: false, headers: [:]))
    }

    @Test(arguments: [
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true), ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", true),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", false), ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false), ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false),
        ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false), ("", false), ("---", false), ("00-\u{1F9D1}-1-1", false),
    ])
    func aTraceIsJoinedIfItsHeaderIsValid(_ header: String, _ isValid: Bool) {
        #expect((TraceParent(header) != nil) == isValid)
    }

    @Test func theLogJoinsATraceToTheRequest() async throws {
        try await LiveServer.run { server in
            let trace = "4bf92f3577b34da6a3ce929d0e0e4736"
            let answer = try await server.send(
                "GET", "\(LiveServer.database)/zones/list", token: nil, headers: [("traceparent", "00-\(trace)-00f067aa0ba902b7-01")])
            let uuid = try #require(answer.headers.first(name: HeaderNames.requestUUID))
            #expect(server.log.all.contains { $0.contains(trace) && $0.contains("00f067aa0ba902b7") && $0.contains(uuid) })
            _ = try await server.send("GET", "\(LiveServer.database)/zones/list", token: nil, headers: [("traceparent", "forged\tline")])
            #expect(!server.log.all.contains { $0.contains("forged") })
        }
    }

    @Test func aLogForProgramsIsOneObjectALine() throws {
        let lines = Mutex("")
        var logger = Logger(label: "test") { _ in JSONLogHandler { text in lines.withLock { $0 += text } } }
        logger[metadataKey: "always"] = "1"
        logger.info("a \"quoted\"\n\u{1}text", metadata: ["endpoint": "records/modify"])
        let text = lines.withLock { $0 }
        #expect(text.hasSuffix("\n") && text.dropLast().allSatisfy { $0 != "\n" })
        let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String])
        #expect(object["message"] == "a \"quoted\"\n\u{1}text" && object["level"] == "info" && object["always"] == "1")
        #expect(object["endpoint"] == "records/modify" && object["time"]?.hasSuffix("Z") == true)
    }

    @Test func aServerWithACertificateSpeaksTLSFromSignInToPush() async throws {
        let data = TemporaryFolder()
        try await LocalServer.withCertificate(in: data) { port, certificate in
            let store = try SQLiteServerStore(path: data.path, use: .command, passwordRounds: 16)
            let token = try await store.addUser(name: "mia", deviceLabel: "tablet", now: 1)
            try await store.setPassword("correct horse", ofUser: "mia")
            var configuration = HTTPClient.Configuration()
            var tls = TLSConfiguration.makeClientConfiguration()
            tls.trustRoots = .file(certificate.certificatePath)
            configuration.tlsConfiguration = tls
            configuration.redirectConfiguration = .disallow
            let client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: configuration)
            func send(_ method: String, _ path: String, _ body: [UInt8] = [], type: String = "application/json") async throws -> HTTPClientResponse {
                var request = HTTPClientRequest(url: path.hasPrefix("https") ? path : "https://localhost:\(port)\(path)")
                request.method = HTTPMethod(rawValue: method)
                if path.hasPrefix("/d") { request.headers.add(name: "Authorization", value: "Bearer \(token)") }
                request.headers.add(name: "Content-Type", value: type)
                request.headers.add(name: "Origin", value: "https://localhost:\(port)")
                if !body.isEmpty { request.body = .bytes(ByteBuffer(bytes: body)) }
                return try await client.execute(request, timeout: .minutes(10))
            }
            do {
                let plain = try? await HTTPClient.shared.execute(
                    HTTPClientRequest(url: "http://127.0.0.1:\(port)/health"), timeout: .minutes(10))
                #expect(plain == nil, "nothing is answered in the clear")
                let root = "/database/1/\(LiveServer.container)/development/private"
                let stream = try await send("GET", "/device/1/\(LiveServer.container)/development/push/stream")
                var lines = stream.body.makeAsyncIterator()
                #expect(try await lines.next().map { String(buffer: $0) } == "\n")
                let zone = ZonesModifyRequest(operations: [.create(LiveServer.garden)])
                #expect(try await send("POST", "\(root)/zones/modify", zone.encoded()).status.code == 200)
                let subscription = Subscription(subscriptionID: "all", kind: .database, notification: .silent)
                _ = try await send(
                    "POST", "\(root)/subscriptions/modify", SubscriptionsModifyRequest(operations: [.create(subscription)]).encoded())
                let upload = AssetUploadRequest(items: [.init(recordType: "Plant", recordName: "a", fieldName: "photo")], zoneID: LiveServer.garden)
                let places = try await send("POST", "\(root)/assets/upload", upload.encoded()).body.collect(upTo: 100_000)
                guard case .address(let place) = try AssetUploadResponse(json: Array(places.readableBytesView)).results[0] else {
                    throw WireError(.internalError, "no address")
                }
                #expect(place.url.hasPrefix("https://localhost:\(port)/asset/"), "addresses lead back by TLS")
                #expect(try await send("POST", place.url, [1, 2, 3]).status.code == 200)
                let form = Array("name=mia&password=correct+horse".utf8)
                let signedIn = try await send("POST", "/console/signin", form, type: "application/x-www-form-urlencoded")
                #expect(signedIn.headers["Set-Cookie"].contains { $0.contains("Secure") }, "\(signedIn.status)")
                let other = try await store.addToken(userName: "mia", deviceLabel: "phone", now: 1)
                var write = HTTPClientRequest(url: "https://localhost:\(port)\(root)/records/modify")
                write.method = .POST
                write.headers.add(name: "Authorization", value: "Bearer \(other)")
                let message = ModifyRecordsRequest(
                    operations: [.init(.create, Record(recordName: "a", recordType: "Plant"))], zoneID: LiveServer.garden)
                write.body = .bytes(ByteBuffer(bytes: message.encoded()))
                #expect(try await client.execute(write, timeout: .minutes(10)).status.code == 200)
                var chunk = try await lines.next()
                // On a busy machine heartbeats come before.
                while let heartbeat = chunk, String(buffer: heartbeat) == "\n" { chunk = try await lines.next() }
                #expect(chunk.map { String(buffer: $0).contains("\"met\"") } == true)
            } catch {
                Issue.record(error)
            }
            try await client.shutdown()
            try store.close()
        }
    }

    @Test func settingsThatCannotBeAreNamed() throws {
        let files = TemporaryFolder()
        let paths = try TestCertificate(in: files)
        func refusal(_ environment: [String: String]) -> String? {
            do {
                _ = try ServerSettings(file: nil, environment: environment).identity()
                return nil
            } catch {
                return (error as? CommandError)?.description ?? "another error"
            }
        }
        #expect(refusal(["TARN_TLS_CERTIFICATE": paths.certificatePath, "TARN_TLS_KEY": paths.keyPath]) == nil)
        #expect(refusal(["TARN_TLS_CERTIFICATE": paths.certificatePath])?.contains("both") == true)
        #expect(refusal(["TARN_TLS_CERTIFICATE": paths.keyPath, "TARN_TLS_KEY": paths.keyPath])?.contains("PEM") == true)
        #expect(refusal(["TARN_OPERATIONS_TOKEN": "short"])?.contains("16") == true)
        #expect(refusal(["TARN_OPERATIONS_ACCESS": "friends"])?.contains("local or all") == true)
        #expect(refusal(["TARN_LOG_FORMAT": "xml"])?.contains("text or json") == true)
        let settings = try ServerSettings(file: nil, environment: ["TARN_OPERATIONS_ACCESS": "all", "TARN_LOG_FORMAT": "json"])
        #expect(settings.access.isOpen && settings.logsJSON)
    }
}
