// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudEngine
import CloudService
import CloudWire
import ServiceFixtures
import StorageFixtures
import TestBasics
import Testing

/// Operations of operators on other machines.
@Suite struct OperatorRequestTests {
    private let village: Village
    private let console: Console

    init() throws {
        village = try Village()
        console = Console(service: village.service, storage: village.store)
    }

    private func key(of name: String) async throws -> String {
        let account = try #require(try await village.store.account(named: name))
        return try await village.service.sessions.operatorKey(ofAccount: account).key
    }

    /// The key of a new operator.
    private func operatorKey(_ name: String = "mia") async throws -> String {
        _ = try await village.villager(name)
        try await village.store.updateProfile(ofUser: name) { $0.isOperator = true }
        return try await key(of: name)
    }

    private func send(_ name: String, _ body: String, _ headers: [String: String], method: String = "POST") async throws -> ServiceResponse
    {
        let request = ServiceRequest(
            method: method, path: PageAddress.operations + name, headers: RequestHeaders(headers), body: .bytes(Array(body.utf8)),
            baseURL: "http://tarn.example", network: "192.0.2.1")
        return try #require(await console.respond(to: request))
    }

    private func perform<Operation: AdminOperation>(_ operation: Operation, _ key: String) async throws -> Operation.Response {
        let response = try await send(
            Operation.name, String(decoding: operation.object.encoded(), as: UTF8.self), ["authorization": "Bearer \(key)"])
        let bytes = Array(response.text.utf8)
        guard response.status == 200 else { throw try WireError(json: bytes) }
        return try Operation.Response(FlatObject(json: bytes))
    }

    private func events() async throws -> [String] {
        try await village.store.auditEvents(before: nil, limit: 100).map { _, event in
            "\(event.actor) \(event.action) \(event.subject) \(event.outcome)"
        }.reversed()
    }

    @Test func anOperatorsKeyPerformsActsThatAreInTheAuditLog() async throws {
        let key = try await operatorKey()
        let token = try await perform(AddUser(account: "bo", device: "phone"), key).secret
        #expect(try await village.store.device(forToken: token, now: village.clock.now) != nil)
        #expect(try await perform(ListUsers(), key).users.map(\.name) == ["bo", "mia"])
        _ = try await perform(SetQuota(account: "bo", bytes: 7000), key)
        let device = try #require(try await perform(ListAccesses(account: "bo"), key).accesses.first)
        _ = try await perform(RevokeDevice(account: "bo", device: .id(device.id)), key)
        #expect(try await village.store.device(forToken: token, now: village.clock.now) == nil)
        let zones = try await perform(ListZones(account: "mia", container: Village.container, environment: .development), key)
        #expect(zones.zones.map(\.name) == [Village.garden])
        let place = "\(Village.container) development"
        #expect(
            try await events() == [
                "mia console.api.user.add bo done", "mia console.api.user.list server done", "mia console.api.user.quota bo done",
                "mia console.api.user.sessions bo done", "mia console.api.user.revoke bo, \(device.id) done",
                "mia console.api.zone.list mia, \(place) done",
            ])
    }

    @Test func aSchemaIsImportedAndDeployed() async throws {
        let key = try await operatorKey()
        let schema = SchemaText("DEFINE SCHEMA RECORD TYPE Note (title STRING);")
        #expect(try await perform(ImportSchema(container: Village.container, schema: schema, deletesValues: false), key).isMade)
        let differences = try await perform(CompareSchemas(container: Village.container), key)
        #expect(try await perform(DeploySchema(container: Village.container), key).changes == differences.changes)
        let text = try await perform(ExportSchema(container: Village.container, environment: .production), key).text
        #expect(text.contains("RECORD TYPE Note"))
        let wrong = await #expect(throws: WireError.self) {
            try await perform(ImportSchema(container: Village.container, schema: SchemaText("DEFINE"), deletesValues: false), key)
        }
        #expect(wrong?.reason.hasPrefix("Line 1, column") == true)
        let unknown = await #expect(throws: WireError.self) { try await perform(DeploySchema(container: "a.b"), key) }
        #expect(unknown?.code == .notFound)
    }

    @Test func tokensAreMadeAndRemoved() async throws {
        let key = try await operatorKey()
        let operation = AddToken(
            container: Village.container, environment: .development, label: "site", callback: nil, origins: ["https://app.example.org"],
            days: 2)
        _ = try await perform(operation, key)
        let listed = try #require(try await perform(ListCredentials(), key).credentials.first)
        #expect(listed.expires == village.clock.now + 2 * 86_400_000)
        #expect(listed.origins == ["https://app.example.org"])
        _ = try await perform(RemoveToken(id: try #require(Int64(listed.id))), key)
        #expect(try await perform(ListCredentials(), key).credentials.isEmpty)
        var production = operation
        production.environment = .production
        let refused = await #expect(throws: WireError.self) { try await perform(production, key) }
        #expect(refused?.code == .accessDenied)
        production.origins = []
        let open = await #expect(throws: WireError.self) { try await perform(production, key) }
        #expect(open?.code == .badRequest)
        #expect(try await village.store.apiTokens().isEmpty)
        let missing = await #expect(throws: WireError.self) { try await perform(RemoveToken(id: 99), key) }
        #expect(missing?.reason == "The API token 99 does not exist: 'tarn token list' lists all tokens.")
    }

    @Test func onlyKeysOfOperatorsAreAccepted() async throws {
        let (mia, user) = (try await operatorKey(), try await village.villager("bo"))
        let userKey = try await key(of: "bo")
        for (token, code) in [
            ("wrong", WireError.Code.authenticationRequired), (user.token, .authenticationRequired), (userKey, .accessDenied),
        ] {
            let error = await #expect(throws: WireError.self) { try await perform(AddUser(account: "eve", device: "phone"), token) }
            #expect(error?.code == code, "\(token)")
        }
        try await village.store.endSessions(ofUser: "mia", id: nil)
        let ended = await #expect(throws: WireError.self) { try await perform(AddUser(account: "eve", device: "phone"), mia) }
        #expect(ended?.code == .authenticationRequired)
        let none = try await send(AddUser.name, "{}", [:])
        #expect(none.status == 421)
        #expect(try await village.store.account(named: "eve") == nil)
        let refusal = "anonymous console.api.key unknown key refused"
        #expect(try await events() == [refusal, refusal, "bo console.api.post operator refused", refusal])
    }

    /// Pages ask for a confirmation before some of these operations.
    @Test func aSessionOfThePagesPerformsNone() async throws {
        let (village, visitor) = try await BrowserSession.signedIn()
        let code = await visitor.get("/console").form ?? ""
        let answer = await visitor.send(
            "POST", PageAddress.operations + AddUser.name, #"{"user":"eve","device":"phone"}"#, headers: ["x-tarn-form": code])
        #expect(answer.status == 403)
        #expect(try await village.store.account(named: "eve") == nil)
        let event = try #require(try await village.store.auditEvents(before: nil, limit: 1).first?.event)
        #expect(event.action == "console.api.user.add")
        #expect(event.outcome == .refused)
    }

    @Test func unknownActsAndLargeBodiesAreRejected() async throws {
        let headers = ["authorization": "Bearer \(try await operatorKey())"]
        #expect(try await send("user.password", "{}", headers).status == 404)
        #expect(try await send(ListUsers.name, "", headers, method: "GET").status == 404)
        #expect(try await send(AddUser.name, "{}", headers).status == 400)
        let schema = SchemaText("DEFINE SCHEMA " + String(repeating: "\n", count: 3_000_000) + "RECORD TYPE Note (title STRING);")
        let body = String(decoding: ValidateSchema(container: Village.container, schema: schema).object.encoded(), as: UTF8.self)
        #expect(body.utf8.count > 6_000_000)
        #expect(try await send(ValidateSchema.name, body, headers).status == 200)
        let most = 2 * ContainerSchema.textBytesMax
        #expect(try await send(AddUser.name, String(repeating: " ", count: most + 1), headers).status == 413)
    }

    @Test func actsTakeFromTheBudgetOfTheAccount() async throws {
        var limits = Limits()
        limits.requestsPerMinute = 4
        let village = try Village(limits: limits)
        let console = Console(service: village.service, storage: village.store)
        _ = try await village.store.addUser(name: "mia", deviceLabel: "tablet", now: village.clock.now)
        try await village.store.updateProfile(ofUser: "mia") { $0.isOperator = true }
        let account = try #require(try await village.store.account(named: "mia"))
        let key = try await village.service.sessions.operatorKey(ofAccount: account).key
        var statuses: [Int] = []
        for _ in 0..<5 {
            let request = ServiceRequest(
                method: "POST", path: PageAddress.operations + ListUsers.name, headers: ["authorization": "Bearer \(key)"],
                body: .bytes(Array("{}".utf8)), baseURL: "http://tarn.example")
            statuses.append(try #require(await console.respond(to: request)).status)
        }
        #expect(statuses == [200, 200, 200, 200, 429])
    }

    @Test func aRemovalGoesOnBetweenRequests() async throws {
        let key = try await operatorKey()
        let bo = try await village.villager("bo")
        try await bo.modify([RecordOperation(.create, .plant("p1"))])
        let operation = RemoveUser(account: "bo", publicRecords: .keep)
        #expect(try await perform(operation, key).report == nil)
        var report: RemovalReport?
        try await until {
            report = try await perform(operation, key).report
            return report != nil
        }
        #expect(report?.zones == 1)
        #expect(try await village.store.account(named: "bo") == nil)
        // No removal begins.
        let gone = await #expect(throws: WireError.self) { try await perform(operation, key) }
        #expect(gone?.code == .notFound)
    }

    @Test func operatorsAreNotRemoved() async throws {
        let key = try await operatorKey()
        _ = try await operatorKey("bo")
        for name in ["mia", "bo"] {
            let error = await #expect(throws: WireError.self) {
                try await perform(RemoveUser(account: name, publicRecords: .keep), key)
            }
            #expect(error?.code == .accessDenied)
            #expect(try await village.store.account(named: name) != nil)
        }
        #expect(
            try await events() == [
                "mia console.api.user.remove mia, public records: keep refused",
                "mia console.api.user.remove bo, public records: keep refused",
            ])
    }

    /// One of them has to end a key that leaked.
    @Test func otherOperatorsAreNotLockedOut() async throws {
        let key = try await operatorKey()
        let bo = try await village.villager("bo")
        try await village.store.updateProfile(ofUser: "bo") { $0.isOperator = true }
        let revoked = await #expect(throws: WireError.self) {
            try await perform(RevokeDevice(account: "bo", device: .label("tablet")), key)
        }
        #expect(revoked?.code == .accessDenied)
        let ended = await #expect(throws: WireError.self) { try await perform(EndSessions(account: "bo", id: nil), key) }
        #expect(ended?.code == .accessDenied)
        #expect(try await village.store.device(forToken: bo.token, now: village.clock.now) != nil)
        _ = try await perform(RevokeDevice(account: "mia", device: .label("tablet")), key)
        _ = try await perform(EndSessions(account: "mia", id: nil), key)
        #expect(
            try await events() == [
                "mia console.api.user.revoke bo, tablet refused", "mia console.api.user.sign-out bo refused",
                "mia console.api.user.revoke mia, tablet done", "mia console.api.user.sign-out mia done",
            ])
    }

    @Test func aKeyDeletesNoValuesOfDevelopment() async throws {
        let key = try await operatorKey()
        let bo = try await village.villager("bo")
        try await bo.modify([RecordOperation(.create, .plant("p1"))])
        let schema = try await perform(ExportSchema(container: Village.container, environment: .development), key).text
        var operation = ImportSchema(
            container: Village.container, schema: SchemaText("DEFINE SCHEMA RECORD TYPE Note (title STRING);"), deletesValues: true)
        let error = await #expect(throws: WireError.self) { try await perform(operation, key) }
        #expect(error?.code == .accessDenied)
        #expect(try await bo.lookup("p1")[0].record != nil)
        operation.schema = SchemaText(schema)
        #expect(try await perform(operation, key).isMade)
    }
}
