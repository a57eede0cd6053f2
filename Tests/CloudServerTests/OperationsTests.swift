// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import AsyncHTTPClient
import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import Logging
import NIOCore
import NIOHTTP1
import NIOSSL
import Synchronization
import TestBasics
import Testing

@testable import CloudServer
@testable import TarnCommands

@Suite struct OperationsTests {
    @Test func metricsRequireTheOperationsTokenUnlessAccessIsWider() async throws {
        let token = "a token of operations"
        try await LiveServer.run(access: OperationsAccess(token: token)) { (server) async throws -> Void in
            #expect(try await server.send("GET", "/metrics", token: nil).status == 403)
            #expect(try await server.send("GET", "/metrics", token: "a token of operationz").status == 403)
            #expect(try await server.send("GET", "/metrics", token: token).status == 200)
            for path in ["/health", "/ready"] {
                #expect(try await server.send("GET", path, token: nil, headers: [("X-Forwarded-For", "203.0.113.7")]).status == 200)
            }
        }
    }

    /// A gateway on the same machine connects over loopback; its headers, or a foreign host, give it away.
    @Test(arguments: ["X-Forwarded-For", "X-Forwarded-Host", "Forwarded", "Via", "X-Real-IP"])
    func localScopeRefusesForwardedRequests(_ header: String) {
        let local = OperationsAccess(scope: .local)
        #expect(local.allows(isLocal: true, isLoopbackHost: true, headers: ["host": "127.0.0.1"]))
        #expect(!local.allows(isLocal: true, isLoopbackHost: true, headers: [header.lowercased(): "203.0.113.7"]))
        #expect(!local.allows(isLocal: true, isLoopbackHost: false, headers: [:]), "a rebound DNS name")
        #expect(!local.allows(isLocal: false, isLoopbackHost: true, headers: ["authorization": "Bearer "]))
        #expect(OperationsAccess(scope: .all).allows(isLocal: false, isLoopbackHost: false, headers: [:]))
    }

    @Test(arguments: [
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", true),
        ("cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", true),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-x", false),
        ("00-00000000000000000000000000000000-00f067aa0ba902b7-01", false),
        ("00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01", false),
        ("ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", false),
        ("00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01", false), ("", false), ("---", false), ("00-\u{1F9D1}-1-1", false),
    ])
    func aTraceIsJoinedIfItsHeaderIsValid(_ header: String, _ isValid: Bool) {
        #expect((TraceParent(header) != nil) == isValid)
    }

    @Test func logEntriesHaveTheTraceOfTheirRequest() async throws {
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

    // MARK: Traces

    /// The requests that a collector received.
    private final class Collected: Sendable {
        private let texts = Mutex<[[UInt8]]>([])

        func add(_ bytes: [UInt8]) { texts.withLock { $0.append(bytes) } }

        func spans() throws -> [JSONValue] {
            try texts.withLock { $0 }.flatMap { try JSONValue($0)["resourceSpans"]?[0]?["scopeSpans"]?[0]?["spans"]?.list ?? [] }
        }
    }

    private func exporter(_ send: @escaping @Sendable ([UInt8]) async throws -> Void) -> SpanExporter {
        SpanExporter(
            now: { 1_900_000_000_000 }, randomBytes: { Array(repeating: 0xAB, count: $0) },
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }, send: send)
    }

    private func answer(_ endpoint: String, _ status: Int, error: String? = nil) -> ServiceResponse {
        var answer = ServiceResponse(status: status, body: .bytes([]), endpoint: endpoint)
        (answer.errorCode, answer.requestUUID) = (error, "U-1")
        return answer
    }

    @Test func aSpanHasTheOperationAndItsOutcome() async throws {
        let collected = Collected()
        let spans = exporter { collected.add($0) }
        let trace = TraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01")
        spans.add(answer("records/modify", 409, error: "CONFLICT"), method: "POST", took: .milliseconds(12), in: trace)
        spans.add(answer("zones/list", 500), method: "GET", took: .zero, in: nil)
        // The trace of this request is not sampled.
        spans.add(
            answer("zones/list", 200), method: "GET", took: .zero,
            in: TraceParent("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"))
        await spans.flush()
        let sent = try collected.spans()
        #expect(sent.count == 2)
        let first = sent[0]
        #expect(first["traceId"]?.string == "4bf92f3577b34da6a3ce929d0e0e4736")
        #expect(first["parentSpanId"]?.string == "00f067aa0ba902b7")
        #expect(first["spanId"]?.string == "abababababababab")
        #expect(first["name"]?.string == "POST records/modify")
        #expect(first["kind"] == .number(2))
        #expect(first["startTimeUnixNano"]?.string == "1899999999988000000")
        #expect(first["endTimeUnixNano"]?.string == "1900000000000000000")
        let attributes = Dictionary(
            uniqueKeysWithValues: (first["attributes"]?.list ?? []).map { ($0["key"]?.string ?? "", $0["value"] ?? .null) })
        #expect(attributes["http.response.status_code"]?["intValue"]?.string == "409")
        #expect(attributes["error.type"]?["stringValue"]?.string == "CONFLICT")
        #expect(attributes["http.route"]?["stringValue"]?.string == "records/modify")
        #expect(attributes["tarn.request"]?["stringValue"]?.string == "U-1")
        #expect(first["status"] == nil)
        #expect(sent[1]["status"] == .object(["code": .number(2)]))
        #expect(sent[1]["parentSpanId"] == nil)
    }

    @Test func spansThatCannotBeSentAreDroppedAndCounted() async throws {
        struct Down: Error {}
        let spans = exporter { _ in throw Down() }
        for _ in 0..<SpanExporter.spansWaitingMax + 10 { spans.add(answer("zones/list", 200), method: "GET", took: .zero, in: nil) }
        #expect(spans.dropped == 10)
        await spans.flush()
        #expect(spans.dropped == 10 + SpanExporter.spansAtOnce)
        let collected = Collected()
        let working = exporter { collected.add($0) }
        for _ in 0..<SpanExporter.spansAtOnce + 1 { working.add(answer("zones/list", 200), method: "GET", took: .zero, in: nil) }
        await working.flush()
        #expect(try collected.spans().count == SpanExporter.spansAtOnce + 1)
        #expect(working.dropped == 0)
    }

    /// A server in this process that sends its spans to another, which stands for a collector, and to a file.
    @Test func spansAreExportedToACollectorAndAFile() async throws {
        let collected = Collected()
        let (lines, told) = AsyncStream.makeStream(of: [UInt8].self)
        let pages = Stub { told.yield($0) }
        try await LiveServer.run(pages: pages) { (collector) async throws -> Void in
            let send = try SpanTarget("http://127.0.0.1:\(collector.port)/v1/traces").sender()
            let spans = exporter(send)
            spans.add(answer("zones/list", 200), method: "GET", took: .zero, in: nil)
            await spans.flush()
            #expect(spans.dropped == 0)
            for await bytes in lines {
                collected.add(bytes)
                break
            }
            #expect(try collected.spans().map { $0["name"]?.string } == ["GET zones/list"])
            let refused = exporter(try SpanTarget("http://127.0.0.1:\(collector.port)/nowhere").sender())
            refused.add(answer("zones/list", 200), method: "GET", took: .zero, in: nil)
            await refused.flush()
            #expect(refused.dropped == 1)
            let path = collector.folder.path + "/spans.jsonl"
            let written = exporter(try SpanTarget("file:\(path)").sender())
            for _ in 0..<2 {
                written.add(answer("zones/list", 200), method: "GET", took: .zero, in: nil)
                await written.flush()
            }
            let text = try String(contentsOfFile: path, encoding: .utf8)
            #expect(text.split(separator: "\n").count == 2)
            #expect(text.hasSuffix("\n"))
        }
        for wrong in ["collector", "ftp://x", "file:", "http://"] { #expect(throws: CommandError.self) { try SpanTarget(wrong) } }
    }

    /// Takes spans, and nothing else.
    private struct Stub: PageResponder {
        let take: @Sendable ([UInt8]) -> Void

        func respond(to request: ServiceRequest) async -> ServiceResponse? {
            guard request.path == "/v1/traces", request.method == "POST", case .stream(let pieces) = request.body,
                request.header("content-type") == "application/json"
            else { return nil }
            do {
                var bytes: [UInt8] = []
                for try await piece in pieces { bytes += piece }
                take(bytes)
                return ServiceResponse(body: .bytes(Array("{}".utf8)), endpoint: "stub")
            } catch {
                return ServiceResponse(status: 500, body: .bytes([]), endpoint: "stub")
            }
        }

        func note(_ note: RequestNote) {}
    }

    // MARK: Settings

    /// Each setting can be set in each way, means the same in all, and is explained.
    @Test(arguments: [
        ("host", "192.0.2.1"), ("port", "81"), ("log-level", "warning"), ("log-format", "json"), ("tls-certificate", "c.pem"),
        ("tls-key", "k.pem"), ("operations-access", "all"), ("operations-token", "sixteen letters!"), ("traces", "file:/tmp/x"),
        ("trusted-proxies", "10.0.0.7,fd00::/8"), ("public-address", "https://cloud.example.com"),
        ("without", "model-extensions, quota"), ("containers", "iCloud.org.example.notes"), ("development", "operators"),
        ("console-public-address", "https://console.example.com"), ("database", "postgres://tarn@db.example.com/tarn"),
        ("assets", "s3://bucket/tarn"), ("assets-endpoint", "https://s3.example.com"), ("assets-region", "eu-1"),
    ])
    func aSettingIsParsedAlikeFromFileVariableAndFlag(_ name: String, _ value: String) throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let file = folder.path + "/tarn.conf"
        try "# a comment\n\n\(name) = \(value)\n".write(toFile: file, atomically: true, encoding: .utf8)
        let setting = try #require(ServerSettings.all.first { $0.name == name })
        let inFile = try ServerSettings(file: file, environment: [:])
        let inEnvironment = try ServerSettings(file: nil, environment: [setting.variable: value])
        #expect("\(inFile)" == "\(inEnvironment)")
        #expect("\(inFile)" != "\(ServerSettings())")
        #expect("\(try ServerSettings(file: nil, environment: ["TARN_CONFIG": file]))" == "\(inFile)")
        #expect(ServeCommand.helpMessage().contains(setting.variable))
        guard name != "operations-token" else { return }
        let command = try ServeCommand.parse(["--\(name)", value])
        #expect("\(try command.settings(environment: [:]))" == "\(inFile)")
        // A flag goes over a variable, and that over a file.
        let others = [
            "port": "82", "log-level": "error", "log-format": "text", "operations-access": "local", "without": "budget",
            "trusted-proxies": "10.0.0.8", "public-address": "https://other.example", "development": "off",
            "console-public-address": "https://other.example", "database": "postgres://tarn@other.example/tarn",
            "assets": "s3://other", "assets-endpoint": "http://other.example", "assets-region": "other",
        ]
        let other = others[name] ?? "file:/other"
        #expect("\(try command.settings(environment: [setting.variable: other]))" == "\(inFile)")
        #expect("\(try ServerSettings(file: file, environment: [setting.variable: other]))" != "\(inFile)")
    }

    @Test func theWithoutSettingNamesCapabilities() throws {
        var settings = ServerSettings()
        try settings.set("without", to: "model-extensions, quota")
        #expect(settings.without == [.modelExtensions, .quota])
        #expect(throws: CommandError.self) { try settings.set("without", to: "everything") }
    }

    @Test func everySettingAndLimitHasAnExplanation() throws {
        #expect(Set(ServerSettings.all.map(\.name)).count == 28, "tests of settings know them all")
        let help = ServeCommand.helpMessage(columns: 10_000)
        for setting in ServerSettings.all { #expect(help.contains("\(setting.name), \(setting.variable): \(setting.what)")) }
        for limit in Limits.settings {
            #expect(help.contains("\(limit.name) (\(ServerSettings.defaultText(of: limit))): \(limit.what)"))
            var settings = ServerSettings()
            try settings.setLimit("\(limit.name)=\(limit.most)")
            #expect(settings.limits[keyPath: limit.key] == limit.most)
            #expect(throws: CommandError.self) { try settings.setLimit("\(limit.name)=\(limit.most + 1)") }
        }
    }

    @Test func aJSONLogHasOneObjectPerLine() throws {
        let lines = Mutex("")
        var logger = Logger(label: "test") { _ in JSONLogHandler { text in lines.withLock { $0 += text } } }
        logger[metadataKey: "always"] = "1"
        logger.info("a \"quoted\"\n\u{1}text", metadata: ["endpoint": "records/modify"])
        let text = lines.withLock { $0 }
        #expect(text.hasSuffix("\n"))
        #expect(text.dropLast().allSatisfy { $0 != "\n" })
        let object = try #require(try JSONSerialization.jsonObject(with: Data(text.utf8)) as? [String: String])
        #expect(object["message"] == "a \"quoted\"\n\u{1}text")
        #expect(object["level"] == "info")
        #expect(object["always"] == "1")
        #expect(object["endpoint"] == "records/modify")
        #expect(object["time"]?.hasSuffix("Z") == true)
    }

    @Test func aServerWithACertificateUsesTLSFromSignInToPush() async throws {
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
            func send(_ method: String, _ path: String, _ body: [UInt8] = [], type: String = "application/json") async throws
                -> HTTPClientResponse
            {
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
                let upload = AssetUploadRequest(
                    items: [.init(recordType: "Plant", recordName: "a", fieldName: "photo")], zoneID: LiveServer.garden)
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

    @Test func invalidSettingsAreReportedByName() throws {
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
        #expect(refusal(["TARN_OPERATIONS_ACCESS": "friends"])?.contains("token, local or all") == true)
        #expect(refusal(["TARN_LOG_FORMAT": "xml"])?.contains("text or json") == true)
        let settings = try ServerSettings(file: nil, environment: ["TARN_OPERATIONS_ACCESS": "all", "TARN_LOG_FORMAT": "json"])
        #expect(settings.access.scope == .all)
        #expect(settings.logsJSON)
    }
}
