// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudServer
import CloudWire
import Foundation
import Logging
import NIOHTTP1
import TestBasics
import Testing

@testable import TarnCommands

@Suite struct OperationTests {
    @Test func aRateLimitedCallerReceivesRetryAfter() async throws {
        var limits = Limits()
        limits.requestsPerMinute = 2
        try await LiveServer.run(limits: limits) { server in
            let (mia, bo) = (try await server.addUser("mia"), try await server.addUser("bo"))
            let path = "\(LiveServer.database)/zones/list"
            let first = try await server.send("GET", path, token: mia)
            #expect(first.status == 200)
            #expect(first.headers.first(name: "RateLimit-Limit") == "2")
            #expect(first.headers.first(name: "RateLimit-Remaining") == "1")
            #expect(try await server.send("GET", path, token: mia).status == 200)
            let refused = try await server.send("GET", path, token: mia)
            #expect(refused.status == 429)
            #expect(refused.error?.code == .throttled)
            #expect(refused.error?.retryAfter == 30)
            #expect(refused.headers.first(name: "Retry-After") == "30")
            #expect(
                ["RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"].map { refused.headers.first(name: $0) } == ["2", "0", "60"])
            let missing = try await server.send("GET", "\(LiveServer.database)/records/nonsense", token: bo)
            #expect(missing.status == 404, "no operation takes nothing")
            #expect(missing.headers.first(name: "RateLimit-Remaining") == nil, "no operation takes nothing")
            let malformed = try await server.send("POST", "\(LiveServer.database)/records/lookup", token: bo, body: [0x7B])
            #expect(malformed.status == 400)
            #expect(malformed.headers.first(name: "RateLimit-Remaining") == "1")
            #expect(try await server.send("GET", path, token: bo).status == 200, "budgets are for each user")
            server.clock.advance(seconds: 30)
            #expect(try await server.send("GET", path, token: mia).status == 200)
        }
    }

    @Test func theServerReportsHealthAndMetrics() async throws {
        try await LiveServer.run(access: OperationsAccess(scope: .local)) { server in
            let token = try await server.addUser("mia")
            #expect(try await server.send("GET", "/ready", token: nil).text == #"{"status":"ready"}"#)
            let zones = try await server.send("GET", "\(LiveServer.database)/zones/list", token: token)
            #expect(zones.headers.first(name: "RateLimit-Limit") == nil)
            _ = try await server.send("GET", "\(LiveServer.database)/zones/list", token: nil)
            let metrics = try await server.send("GET", "/metrics", token: nil).text
            #expect(metrics.contains("tarn_requests_total{endpoint=\"zones/list\",status=\"200\"} 1\n"))
            #expect(metrics.contains("tarn_requests_total{endpoint=\"zones/list\",status=\"421\"} 1\n"))
            #expect(metrics.contains("tarn_request_seconds_count{endpoint=\"zones/list\"} 2\n"))
            #expect(metrics.contains("tarn_request_seconds_bucket{endpoint=\"ready\",le=\"+Inf\"} 1\n"))
            #expect(!metrics.contains("mia"))
            #expect(!metrics.contains(LiveServer.container))
        }
    }

    @Test func flagsOverrideTheEnvironmentWhichOverridesTheFile() throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let path = folder.path + "/tarn.conf"
        try Data("# ours\nhost = 0.0.0.0\nport=9000\n\nlimit.recordBytes = 1000\nlimit.sortsPerQuery = 2\n".utf8).write(
            to: URL(filePath: path))
        let settings = try ServerSettings(file: path, environment: ["TARN_PORT": "9001", "TARN_LIMITS": "recordBytes=2000"])
        #expect(settings.host == "0.0.0.0")
        #expect(settings.port == 9001)
        #expect(settings.logLevel == .info)
        #expect(settings.limits.recordBytes == 2000)
        #expect(settings.limits.sortsPerQuery == 2)
        #expect(try ServerSettings(file: nil, environment: ["TARN_CONFIG": path]).port == 9000)
        for (line, part) in [
            ("port = x", "tarn.conf:1: A port is"), ("\nlimit.recordBytes = 0", "tarn.conf:2: The limit recordBytes is a number from 1 to"),
            ("limit.size = 1", "The limit size is unknown. Choose one of anonymousBodyBytes"), ("nonsense", "expected NAME = VALUE"),
            ("colour = red", "The setting colour is unknown"),
        ] {
            try Data(line.utf8).write(to: URL(filePath: path))
            let error = #expect(throws: CommandError.self) { try ServerSettings(file: path, environment: [:]) }
            #expect(error?.description.contains(part) == true)
        }
        #expect(throws: CommandError.self) { try ServerSettings(file: folder.path + "/none", environment: [:]) }
    }

    @Test func everyLimitAcceptsItsBoundsAndNothingBeyond() {
        #expect(Limits.settings.map(\.name) == Limits.settings.map(\.name).sorted())
        for setting in Limits.settings {
            var limits = Limits()
            for (value, isAllowed) in [(setting.least, true), (setting.most, true), (setting.least - 1, false), (setting.most + 1, false)] {
                let sentence = limits.set(setting.name, to: value)
                #expect((sentence == nil) == isAllowed, "\(setting.name) \(value)")
            }
            let standard = Limits()[keyPath: setting.key]
            #expect((setting.least...setting.most).contains(standard), "\(setting.name)")
        }
    }
}
