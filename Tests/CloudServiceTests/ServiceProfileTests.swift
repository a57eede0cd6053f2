// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import ServiceFixtures
import TestBasics
import Testing

/// `tarn serve --profile apple`: what Apple documents, and nothing else.
@Suite struct ServiceProfileTests {
    /// A web page with a signed-in user.
    private final class Page {
        let village: Village
        let apiToken: String
        /// The token of the last response.
        var token: String?

        init(limits: Limits = Limits()) async throws {
            village = try Village(limits: limits, profile: .apple)
            apiToken = try await village.store.addAPIToken(
                APIToken(containerIdentifier: Village.container, environment: .development, label: "page"), now: village.clock.now)
            _ = try await village.store.addUser(name: "mia", deviceLabel: "tablet", now: village.clock.now)
            try await village.store.setPassword("correct horse", ofUser: "mia")
            let place = SignInPlace(containerIdentifier: Village.container, environment: .development, isKept: false)
            let result = try await village.service.signIns.signIn(name: "mia", password: "correct horse", to: place, network: "")
            guard case .signedIn(let token) = result else { throw WireError(.internalError, "no session") }
            self.token = token
        }

        func send(_ path: String, _ method: String, _ body: [UInt8], _ headers: [String: String] = [:], token: String?) async
            -> ServiceResponse
        {
            let items = "ckAPIToken=\(apiToken)" + (token.map { "&ckWebAuthToken=\(QueryItems.encode($0))" } ?? "")
            return await village.service.respond(
                to: ServiceRequest(
                    method: method, path: path, query: items, headers: RequestHeaders(headers), body: .bytes(body),
                    baseURL: "http://tarn.example"))
        }

        /// Sends a request with the token of the last response.
        func send(
            _ scope: DatabaseScope, _ operation: ServicePath.Operation, _ body: [UInt8] = [], _ headers: [String: String] = [:]
        ) async -> ServiceResponse {
            let path = ServicePath(
                containerIdentifier: Village.container, environment: .development, scope: scope, operation: operation)
            let response = await send(path.path, operation.method, body, headers, token: token)
            token = response.header(HeaderNames.webAuthToken) ?? token
            return response
        }

        func ask<Response: WireMessage>(
            _ operation: ServicePath.Operation, _ message: some WireMessage, as: Response.Type = Response.self
        ) async throws -> Response {
            let response = await send(.private, operation, message.encoded())
            guard response.status == 200 else { throw try WireError(json: Array(response.text.utf8)) }
            return try Response(json: Array(response.text.utf8))
        }

        @discardableResult
        func modify(_ operations: [RecordOperation]) async throws -> [RecordResult] {
            try await ask(
                .modifyRecords, ModifyRecordsRequest(operations: operations, zoneID: zone, atomic: false), as: ModifyRecordsResponse.self
            ).results
        }

        let zone = ZoneID(zoneName: Village.garden)

        func makeZone() async throws {
            _ = try await ask(.modifyZones, ZonesModifyRequest(operations: [.create(zone)]), as: ZonesResponse.self)
        }

        static func plant(_ name: String) -> Record {
            Record(recordName: name, recordType: "Plant", fields: ["name": Field(.string("Sage"))])
        }
    }

    private func error(_ response: ServiceResponse) -> WireError? { try? WireError(json: Array(response.text.utf8)) }

    @Test func limitsAreLoweredAndNeverRaised() {
        var own = Limits()
        own.recordBytes = 500
        let limits = ServiceProfile.apple.limits(own)
        #expect(limits.operationsPerRequest == 200)
        #expect(limits.recordsPerResponse == 200)
        #expect(limits.assetBytes == 15_000_000)
        #expect(limits.recordBytes == 500)
        #expect(ServiceProfile.tarn.limits(own) == own)
    }

    @Test func aWebAuthTokenIsValidForOneRequest() async throws {
        let page = try await Page()
        let first = try #require(page.token)
        #expect(first.hasPrefix("1__2__"))
        let response = await page.send(.public, .caller)
        #expect(response.status == 200)
        #expect(response.text.hasPrefix(#"{"users":[{"userRecordName":"_"#))
        let second = try #require(page.token)
        #expect(second != first)

        page.token = first
        let again = await page.send(.public, .caller)
        #expect(again.status == 421)
        #expect(error(again)?.code == .authenticationRequired)
        #expect(error(again)?.redirectURL?.hasPrefix("http://tarn.example/signin?flow=") == true)
        #expect(again.header(HeaderNames.webAuthToken) == nil)

        // A refused request uses its token up as well, and brings the next one.
        page.token = second
        let refused = await page.send(.public, .databaseChanges, Array("{}".utf8))
        #expect(refused.status == 400)
        #expect(page.token != second)
        #expect(await page.send(.private, .listZones).status == 200)
        #expect(await page.send(.public, .caller).status == 200)
    }

    /// Also a rejected request for a push token uses its web auth token up.
    @Test func aRejectedRequestForAPushTokenBringsTheNextToken() async throws {
        let page = try await Page()
        let path = "/device/1/\(Village.container)/development/tokens/register"
        let refused = await page.send(path, "POST", Array(#"{"apnsEnvironment":"development"}"#.utf8), token: page.token)
        #expect(refused.status == 400)
        page.token = refused.header(HeaderNames.webAuthToken)
        #expect(await page.send(.private, .listZones).status == 200)
    }

    /// A response for which the server has no memory, and one about a missing zone.
    @Test func aRequestThatIsRefusedLateBringsTheNextToken() async throws {
        var limits = Limits()
        limits.requestMemoryBytes = 100_000
        let page = try await Page(limits: limits)
        try await page.makeZone()
        let names = (0..<4).map { "p\($0)" }
        for name in names {
            var plant = Page.plant(name)
            plant.fields["text"] = Field(.string(String(repeating: "x", count: 40_000)))
            try await page.modify([RecordOperation(.create, plant)])
        }
        let missing = ZoneID(zoneName: "Missing")
        for (zone, status) in [(page.zone, 503), (missing, 404)] {
            let before = page.token
            let request = LookupRecordsRequest(recordNames: names, zoneID: zone)
            let refused = await page.send(.private, .lookupRecords, request.encoded())
            #expect(refused.status == status)
            #expect(refused.header(HeaderNames.webAuthToken) != nil)
            #expect(page.token != before)
            #expect(await page.send(.private, .listZones).status == 200, "the next token is valid")
        }
    }

    @Test func aTokenOfAnotherServerIsRejected() async throws {
        let (page, other) = (try await Page(), try await Page())
        page.token = "1__2__" + String((other.token ?? "").dropFirst(6).reversed())
        #expect(await page.send(.public, .caller).status == 401)
        page.token = "1__2__%%%"
        #expect(await page.send(.public, .caller).status == 401)
    }

    @Test func operationsAndCredentialsOfTarnAreRefused() async throws {
        let page = try await Page()
        let device = "/device/1/\(Village.container)/development/"
        func status(_ path: String, _ method: String, _ headers: [String: String] = [:]) async -> Int {
            await page.send(path, method, Array(#"{"apiToken":"x"}"#.utf8), headers, token: nil).status
        }
        #expect(await status(device + "push/stream", "GET") == 404)
        #expect(await status(device + "tokens/webAuth", "POST") == 404)
        let base = "/database/1/\(Village.container)/development/"
        #expect(await status(base + "public/records/requestAccess", "POST") == 404)
        #expect(await status(base + "private/zones/list", "GET", ["authorization": "Bearer token"]) == 401)
        let feed = ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: .defaultZone)])
        let refused = await page.send(.public, .zoneChanges, feed.encoded(), ["x-tarn-capabilities": "public-changes"])
        #expect(error(refused)?.reason == "endpoint not applicable in the database type 'publicdb'")
        #expect(refused.header(HeaderNames.capabilities) == nil)
        #expect(refused.header(HeaderNames.version) == "1.0")
    }

    @Test func membersOfTarnAreRefused() async throws {
        let page = try await Page()
        try await page.makeZone()
        var requests: [[UInt8]] = []
        for change: (inout ModifyRecordsRequest) -> Void in [
            { $0.saveGroup = SaveGroup(id: "g", part: 0, parts: 1) }, { $0.historyToken = "t" }, { $0.clientChangeToken = [1] },
        ] {
            var request = ModifyRecordsRequest(operations: [RecordOperation(.create, Page.plant("p"))], zoneID: page.zone)
            change(&request)
            requests.append(request.encoded())
        }
        for request in requests { #expect(error(await page.send(.private, .modifyRecords, request))?.code == .badRequest) }
        var query = ZoneChangesQuery(zoneID: page.zone)
        query.savedSyncToken = "t"
        #expect(await page.send(.private, .zoneChanges, ZoneChangesRequest(zones: [query]).encoded()).status == 400)
        func subscribe(_ kind: Subscription.Kind) async -> Int {
            let request = SubscriptionsModifyRequest(operations: [.create(Subscription(subscriptionID: "s", kind: kind))])
            return await page.send(.private, .modifySubscriptions, request.encoded()).status
        }
        #expect(await subscribe(.database) == 400)
        #expect(await subscribe(.zone(page.zone)) == 200)
    }

    @Test func aRequestHasAtMostTwoHundredOperations() async throws {
        let page = try await Page()
        try await page.makeZone()
        let operations = (0..<201).map { RecordOperation(.create, Page.plant("p\($0)")) }
        let refusal = await #expect(throws: WireError.self) { try await page.modify(operations) }
        #expect(refusal?.code == .badRequest)
        #expect(try await page.modify(operations.dropLast()).count == 200)
    }

    /// An expired token has no code of its own, and deleted records have no type.
    @Test func responsesHaveDocumentedMembersOnly() async throws {
        let page = try await Page()
        try await page.makeZone()
        try await page.modify([RecordOperation(.create, Page.plant("p1")), RecordOperation(.create, Page.plant("p2"))])
        try await page.modify([RecordOperation(.forceDelete, Record(recordName: "p1"))])
        func changes(_ token: String?) async -> String {
            let query = ZoneChangesQuery(zoneID: page.zone, syncToken: token)
            return await page.send(.private, .zoneChanges, ZoneChangesRequest(zones: [query]).encoded()).text
        }
        let refused = await changes("00")
        #expect(refused.contains(#""serverErrorCode":"BAD_REQUEST""#))
        #expect(!refused.contains("nativeErrorCode"))
        let first = try ZoneChangesResponse(json: Array(await changes(nil).utf8))
        guard case .changes(let page1) = first.zones[0] else { Issue.record("no changes"); return }
        try await page.modify([RecordOperation(.forceDelete, Record(recordName: "p2"))])
        let second = await changes(page1.syncToken)
        #expect(second.contains(#"{"recordName":"p2","deleted":true}"#), "\(second)")
    }

    @Test func aThrottledRequestSaysSoInItsBody() async throws {
        var limits = Limits()
        limits.requestsPerMinute = 1
        let page = try await Page(limits: limits)
        let accepted = await page.send(.public, .caller)
        #expect(accepted.header(HeaderNames.rateLimit) == nil)
        let refused = await page.send(.public, .caller)
        #expect(refused.status == 429)
        #expect(refused.header(HeaderNames.retryAfter) == nil)
        #expect(error(refused)?.retryAfter == 60)
        #expect(refused.header(HeaderNames.webAuthToken) != nil)
    }

    /// A query misses a change that a lookup finds, and shows it later.
    @Test func indexesLagBehindChanges() async throws {
        let page = try await Page()
        try await page.makeZone()
        let names = (0..<20).map { "p\($0)" }
        try await page.modify(names.map { RecordOperation(.create, Page.plant($0)) })
        func found() async throws -> Int {
            let query = Query(recordType: "Plant", filters: [QueryFilter(.field("name"), .equals, .string("Sage"))])
            return try await page.ask(
                .queryRecords, QueryRecordsRequest(query: query, zoneID: page.zone), as: QueryRecordsResponse.self
            ).results.count
        }
        #expect(try await found() == 0)
        let lookup = try await page.ask(
            .lookupRecords, LookupRecordsRequest(recordNames: names, zoneID: page.zone), as: LookupRecordsResponse.self)
        #expect(lookup.results.compactMap(\.record).count == 20)
        page.village.clock.advance(seconds: 1)
        #expect(try await (1..<20).contains(found()))
        page.village.clock.advance(seconds: 1)
        #expect(try await found() == 20)
    }

    /// No document has idempotency keys: the same request is executed again.
    @Test func idempotencyKeysHaveNoEffect() async throws {
        let page = try await Page()
        try await page.makeZone()
        let request = ModifyRecordsRequest(operations: [RecordOperation(.create, Page.plant("p"))], zoneID: page.zone, atomic: false)
        let key = [HeaderNames.idempotencyKey.lowercased(): "k"]
        #expect(await page.send(.private, .modifyRecords, request.encoded(), key).text.contains(#""recordChangeTag""#))
        #expect(await page.send(.private, .modifyRecords, request.encoded(), key).text.contains("record to insert already exists"))
    }

    @Test func uploadsHaveNoParts() async throws {
        let page = try await Page()
        try await page.makeZone()
        let item = AssetUploadRequest.Item(recordType: "Plant", recordName: "p", fieldName: "photo")
        let granted = try await page.ask(
            .uploadAssets, AssetUploadRequest(items: [item], zoneID: page.zone), as: AssetUploadResponse.self)
        guard case .address(let address) = granted.results[0] else { Issue.record("no address"); return }
        let path = String(address.url.dropFirst("http://tarn.example".count))
        let headers = ["upload-offset": "0", "upload-complete": "?1"]
        #expect(await page.send(path, "PATCH", [1, 2], headers, token: nil).status == 404)
        #expect(await page.send(path, "POST", [1, 2], token: nil).status == 200)
    }
}

extension ServiceResponse {
    fileprivate func header(_ name: String) -> String? { headers.first { $0.name.lowercased() == name.lowercased() }?.value }
}
