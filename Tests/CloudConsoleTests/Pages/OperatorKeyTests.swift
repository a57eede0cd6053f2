// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import ServiceFixtures
import TestBasics
import Testing

/// Keys with which the commands of another machine administer a server.
@Suite struct OperatorKeyTests {
    private static let zones = "/console/api/database/1/\(Village.container)/development/private/zones/list"

    private let village: Village
    private let console: Console

    init() throws {
        village = try Village()
        console = Console(service: village.service, storage: village.store)
    }

    private func mia() async throws -> Int64 {
        _ = try await village.villager("mia")
        try await village.store.updateProfile(ofUser: "mia") { $0.isOperator = true }
        return try #require(try await village.store.account(named: "mia"))
    }

    private func get(_ path: String, _ headers: [String: String]) async throws -> ServiceResponse {
        try #require(
            await console.respond(
                to: ServiceRequest(
                    method: "GET", path: path, query: "", headers: RequestHeaders(headers), body: .bytes([]), baseURL: "http://tarn.example"
                )))
    }

    @Test func anOperatorKeyAuthorizesRequestsAndNoPage() async throws {
        let key = try await village.service.sessions.operatorKey(ofAccount: try await mia()).key
        let request = try await get(Self.zones, ["authorization": "Bearer \(key)"])
        #expect(request.status == 200)
        // Pages are opened by cookies, which they renew.
        for headers in [["authorization": "Bearer \(key)"], ["cookie": "tarn_console=\(key)"]] {
            for path in ["/console", "/console/users"] {
                let page = try await get(path, headers)
                #expect(page.text.contains("name=\"password\""), "\(path)")
                #expect(!page.headers.contains { $0.name == "Set-Cookie" }, "\(path)")
            }
        }
        #expect(try await get(Self.zones, ["cookie": "tarn_console=\(key)"]).status != 200)
        let sessions = try await village.store.accesses(ofUser: "mia").compactMap { access -> SessionUse? in
            if case .session(let use, _) = access.kind { use } else { nil }
        }
        #expect(sessions == [.operatorKey])
    }

    @Test func theLastUseOfAKeyGrows() async throws {
        let key = try await village.service.sessions.operatorKey(ofAccount: try await mia()).key
        func lastUse() async throws -> Int64? {
            try await village.service.requestCredentials.storeUses()
            let accesses = try await village.store.accesses(ofUser: "mia")
            return accesses.first { if case .session(.operatorKey, _) = $0.kind { true } else { false } }?.lastUse?.time
        }
        #expect(try await lastUse() == nil)
        for _ in 0..<2 {
            village.clock.advance(seconds: 60)
            #expect(try await get(Self.zones, ["authorization": "Bearer \(key)"]).status == 200)
            #expect(try await lastUse() == village.clock.now)
        }
    }

    /// The console's requests and all others of an account have one budget.
    @Test func anOperatorKeySharesTheRateLimitOfItsAccount() async throws {
        var limits = Limits()
        limits.requestsPerMinute = 2
        let village = try Village(limits: limits)
        let console = Console(service: village.service, storage: village.store)
        _ = try await village.store.addUser(name: "mia", deviceLabel: "tablet", now: village.clock.now)
        try await village.store.updateProfile(ofUser: "mia") { $0.isOperator = true }
        let account = try #require(try await village.store.account(named: "mia"))
        let key = try await village.service.sessions.operatorKey(ofAccount: account).key
        var statuses: [Int] = []
        for _ in 0..<3 {
            let request = ServiceRequest(
                method: "GET", path: Self.zones, query: "", headers: ["authorization": "Bearer \(key)"], body: .bytes([]),
                baseURL: "http://tarn.example")
            statuses.append(try #require(await console.respond(to: request)).status)
        }
        #expect(statuses == [200, 200, 429])
    }

    @Test func aSessionTokenIsNotAcceptedAsAnOperatorKey() async throws {
        _ = try await mia()
        try await village.store.setPassword("correct horse", ofUser: "mia")
        let result = try await village.service.signIns.signIn(
            name: "mia", password: "correct horse", to: .console(isKept: false), network: "")
        guard case .signedIn(let token) = result else {
            Issue.record("the sign-in needs a code")
            return
        }
        #expect(try await get(Self.zones, ["authorization": "Bearer \(token)"]).status != 200)
        #expect(try await get("/console/users", ["cookie": "tarn_console=\(token)"]).status == 200)
    }
}
