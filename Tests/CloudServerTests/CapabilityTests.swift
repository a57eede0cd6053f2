// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import NIOCore
import NIOHTTP1
import ServiceFixtures
import Testing

/// Extensions of the documented protocol, sent only to clients that request them.
@Suite struct CapabilityTests {
    private static let publicDatabase = "/database/1/\(LiveServer.container)/development/public"

    private func ask<Response: WireMessage>(
        _ server: LiveServer, _ path: String, _ message: some WireMessage, token: String?, _ capabilities: Capability...,
        as type: Response.Type
    ) async throws -> Response {
        let headers = capabilities.isEmpty ? [] : [(HeaderNames.capabilities, Capability.headerValue(Set(capabilities)))]
        let answer = try await server.send("POST", path, token: token, body: message.encoded(), headers: headers)
        guard answer.status == 200 else { throw try WireError(json: answer.body) }
        return try Response(json: answer.body)
    }

    private func changes(_ server: LiveServer, since token: String? = nil, as user: String?, limit: Int? = nil) async throws -> ZoneChanges
    {
        let request = ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: .defaultZone, syncToken: token, resultsLimit: limit)])
        let response = try await ask(
            server, "\(Self.publicDatabase)/changes/zone", request, token: user, .publicChanges, as: ZoneChangesResponse.self)
        switch response.zones[0] {
        case .changes(let page): return page
        case .failure(_, let error): throw error
        }
    }

    private func write(_ server: LiveServer, _ operations: RecordOperation..., token: String) async throws -> [String] {
        let response = try await ask(
            server, "\(Self.publicDatabase)/records/modify", ModifyRecordsRequest(operations: operations), token: token,
            as: ModifyRecordsResponse.self)
        return response.results.map(\.outcome)
    }

    private func picture(_ page: ZoneChanges) -> String {
        page.records.map { ($0.isDeleted ? "-" : "+") + $0.recordName }.joined(separator: " ")
    }

    @Test func thePublicChangeFeedListsDeletionsToClientsWithTheCapability() async throws {
        try await LiveServer.run { server in
            let mia = try await server.addUser("mia")
            let plants = ["a", "b", "c"].map { RecordOperation(.create, Record(recordName: $0, recordType: "Plant")) }
            for plant in plants { #expect(try await write(server, plant, token: mia) == ["saved"]) }
            let first = try await changes(server, as: nil, limit: 2)
            #expect(picture(first) == "+a +b")
            #expect(first.moreComing)
            let rest = try await changes(server, since: first.syncToken, as: nil)
            #expect(picture(rest) == "+c")
            #expect(!rest.moreComing)
            _ = try await write(
                server, RecordOperation(.forceDelete, Record(recordName: "b")),
                RecordOperation(.forceUpdate, Record(recordName: "a", recordType: "Plant")),
                token: mia)
            let news = try await changes(server, since: rest.syncToken, as: nil)
            #expect(picture(news) == "-b +a")
            #expect(news.records[0].recordType == "Plant")
            #expect(news.records[0].created == nil)

            let request = ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: .defaultZone)])
            let plain = try await server.send("POST", "\(Self.publicDatabase)/changes/zone", token: mia, body: request.encoded())
            #expect(plain.status == 400)
            #expect(plain.error?.reason == "endpoint not applicable in the database type 'publicdb'")
        }
    }

    @Test func theChangeFeedListsReadableRecordsAndRestartsAfterAChangeOfRoles() async throws {
        try await LiveServer.run { server in
            let (mia, bo) = (try await server.addUser("mia"), try await server.addUser("bo"))
            let partition = Partition(
                containerIdentifier: LiveServer.container, environment: .development, scope: .public, owner: Partition.publicOwner)
            let call = server.service.call(partition, Caller(userRecordName: "", deviceID: "", kind: .operator), baseURL: "")
            let engine = server.service.engine
            func grant(_ grants: SecurityGrants) async throws {
                try await server.store.write(partition) { try engine.roles.setGrants(grants, ofType: "Diary", in: $0, call) }
            }
            try await grant(SecurityGrants(byRole: [SecurityGrants.signedIn: [.create], SecurityGrants.creator: [.read, .write]]))
            for (name, token) in [("m", mia), ("b", bo)] {
                #expect(try await write(server, .init(.create, Record(recordName: name, recordType: "Diary")), token: token) == ["saved"])
            }
            let own = try await changes(server, as: mia)
            #expect(picture(own) == "+m")
            let nothing = try await changes(server, as: nil)
            #expect(picture(nothing).isEmpty)
            for (name, token) in [("m", mia), ("b", bo)] {
                _ = try await write(server, .init(.forceDelete, Record(recordName: name)), token: token)
            }
            #expect(picture(try await changes(server, since: own.syncToken, as: mia)) == "-m", "of what others deleted nothing is told")
            #expect(picture(try await changes(server, since: nothing.syncToken, as: nil)).isEmpty)

            try await grant(.standard)
            let refused = await #expect(throws: WireError.self) { try await changes(server, since: own.syncToken, as: mia) }
            #expect(refused?.nativeCode == .changeTokenExpired)
        }
    }

    @Test func anonymousListenersAreNotifiedOfPublicChanges() async throws {
        try await LiveServer.run { server in
            let mia = try await server.addUser("mia")
            let path = "/device/1/\(LiveServer.container)/development/push/stream?database=public"
            let headers = [(HeaderNames.capabilities, Capability.publicChanges.rawValue)]
            #expect(try await server.send("GET", path, token: nil).status == 421)
            let response = try await HTTPClient.shared.execute(
                server.request("GET", path, token: nil, headers: headers), timeout: .seconds(120))
            #expect(response.status.code == 200)
            var body = response.body.makeAsyncIterator()
            #expect(try await body.next().map { String(buffer: $0) } == "\n")
            _ = try await write(server, .init(.create, Record(recordName: "a", recordType: "Plant")), token: mia)
            let line = try #require(try await body.next().map { Array($0.readableBytesView.dropLast()) })
            #expect(try PushNotification(json: line).subject == .database(.public))
            server.hub.close()
        }
    }

    @Test func changePagesHaveTheNumberOfRemainingChanges() async throws {
        try await LiveServer.run { server in
            let mia = try await server.addUser("mia")
            try await server.makeGarden(token: mia)
            let plants = (0..<10).map { RecordOperation(.create, Record(recordName: "p\($0)", recordType: "Plant")) }
            let message = ModifyRecordsRequest(operations: plants, zoneID: LiveServer.garden)
            _ = try await server.post(.modifyRecords, message, token: mia)
            func remaining(since token: String?, _ capabilities: Capability...) async throws -> (Int?, String) {
                let request = ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: LiveServer.garden, syncToken: token, resultsLimit: 4)])
                let headers = [(HeaderNames.capabilities, Capability.headerValue(Set(capabilities)))]
                let answer = try await server.send(
                    "POST", "\(LiveServer.database)/changes/zone", token: mia, body: request.encoded(), headers: headers)
                guard case .changes(let page) = try ZoneChangesResponse(json: answer.body).zones[0] else { return (nil, "") }
                return (page.remaining, page.syncToken)
            }
            let (first, token) = try await remaining(since: nil, .remainingCount)
            let (second, next) = try await remaining(since: token, .remainingCount)
            #expect(first == 6)
            #expect(second == 2)
            #expect(try await remaining(since: next, .remainingCount).0 == 0)
            #expect(try await remaining(since: nil, .serverTime).0 == nil)
        }
    }

    @Test func responsesReportTheQuotaBeforeItIsExceeded() async throws {
        var limits = Limits()
        limits.userBytes = 500
        try await LiveServer.run(limits: limits) { server in
            let mia = try await server.addUser("mia")
            try await server.makeGarden(token: mia)
            let text = Field(.string(String(repeating: "x", count: 100)))
            let plant = Record(recordName: "p", recordType: "Plant", fields: ["name": text])
            #expect(try await server.modify(.init(.create, plant), token: mia).status == 200)
            let headers = [(HeaderNames.capabilities, Capability.quota.rawValue)]
            for operation in ["caller", "current"] {
                let answer = try await server.send("GET", "\(Self.publicDatabase)/users/\(operation)", token: mia, headers: headers)
                let quota =
                    operation == "caller" ? try CallerIdentity(json: answer.body).quota : try UserDictionary(json: answer.body).quota
                #expect(quota == QuotaStatus(recordBytes: 110, assetBytes: 0, bytesMax: 500))
                let plain = try await server.send("GET", "\(Self.publicDatabase)/users/\(operation)", token: mia)
                #expect(!plain.text.contains("quota"))
            }
            let large = Record(recordName: "q", recordType: "Plant", fields: ["name": Field(.string(String(repeating: "x", count: 400)))])
            let results = try ModifyRecordsResponse(json: try await server.modify(.init(.create, large), token: mia).body).results
            #expect(results.map(\.outcome) == ["QUOTA_EXCEEDED"])
        }
    }
}
