// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import NIOHTTP1
import TestBasics
import Testing

@Suite struct AccessTests {
    static let sage = RecordOperation(
        .create, Record(recordName: "p1", recordType: "Plant", fields: ["name": Field(.string("Sage"))]))

    @Test func aRequestWithAnUnknownTokenIsRejected() async throws {
        try await LiveServer.run { server in
            let path = "\(LiveServer.database)/zones/list"
            let without = try await server.send("GET", path, token: nil)
            #expect(without.status == 421)
            #expect(without.error?.code == .authenticationRequired)
            let unknown = try await server.send("GET", path, token: "tarn_0123")
            #expect(unknown.status == 401)
            #expect(unknown.error?.code == .authenticationFailed)
            let push = try await server.send(
                "GET", "/device/1/\(LiveServer.container)/development/push/stream", token: "tarn_0123")
            #expect(push.status == 401)
            #expect(try await server.send("GET", "/health", token: nil).status == 200)
        }
    }

    @Test func aUserCannotReadPrivateRecordsOfAnotherUser() async throws {
        try await LiveServer.run { server in
            let (mia, bo) = (try await server.addUser("mia"), try await server.addUser("bo"))
            try await server.makeGarden(token: mia)
            try await server.makeGarden(token: bo)
            #expect(try await server.modify(Self.sage, token: mia).status == 200)

            let lookup = LookupRecordsRequest(recordNames: ["p1"], zoneID: LiveServer.garden)
            let seen = try LookupRecordsResponse(json: try await server.post(.lookupRecords, lookup, token: bo).body)
            guard case .failure("p1", let error, nil) = seen.results[0] else {
                Issue.record("the other user sees the record")
                return
            }
            #expect(error.code == .notFound)
            guard case .changes(let changes) = try await server.zoneChanges(token: bo).zones[0],
                case .changes(let own) = try await server.zoneChanges(token: mia).zones[0]
            else {
                Issue.record("the zones could not be read")
                return
            }
            #expect(changes.records.isEmpty)
            #expect(own.records.map(\.recordName) == ["p1"])

            // Naming the owner does not open the zone, and a token of one database is invalid in the other.
            let owner = own.zoneID.ownerRecordName
            let named = LookupRecordsRequest(
                recordNames: ["p1"], zoneID: ZoneID(zoneName: "Garden", ownerRecordName: owner))
            #expect(try await server.post(.lookupRecords, named, token: bo).error?.code == .zoneNotFound)
            guard case .failure(_, let expired) = try await server.zoneChanges(token: bo, since: own.syncToken).zones[0] else {
                Issue.record("a change token of one user opened the other's zone")
                return
            }
            #expect(expired.nativeCode == .changeTokenExpired)
        }
    }

    @Test func aUserHasAnotherRecordNameInEachContainer() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            func name(_ container: String) async throws -> String {
                let path = "/database/1/\(container)/development/public/users/caller"
                return try UserIdentity(json: try await server.send("GET", path, token: token).body).userRecordName
            }
            let first = try await name("iCloud.org.example.a")
            #expect(first.count == 33)
            #expect(first.hasPrefix("_"))
            #expect(try await name("iCloud.org.example.a") == first)
            #expect(try await name("iCloud.org.example.b") != first)
        }
    }

    @Test func recordsOfOneEnvironmentAreInvisibleInTheOther() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let production = "/database/1/\(LiveServer.container)/production/private/zones/list"
            let zones = try ZonesResponse(json: try await server.send("GET", production, token: token).body)
            #expect(zones.zones.map(\.zoneID.zoneName) == [ZoneID.defaultZoneName])
        }
    }

    @Test func everyResponseHasARequestIDAndCapabilities() async throws {
        try await LiveServer.run { server in
            let path = "\(LiveServer.database)/zones/list"
            let answer = try await server.send(
                "GET", path, token: nil, headers: [(HeaderNames.capabilities, "server-time, time-travel,quota,server-record")])
            let uuid = answer.headers.first(name: HeaderNames.requestUUID)
            #expect(uuid?.count == 36)
            #expect(answer.error?.uuid == uuid)
            #expect(answer.headers.first(name: HeaderNames.capabilities) == "quota,server-record,server-time")
            #expect(answer.headers.first(name: HeaderNames.serverTime) == "\(server.clock.now)")
            let plain = try await server.send("GET", path, token: nil)
            #expect(plain.headers.allSatisfy { !$0.name.lowercased().hasPrefix("x-tarn") }, "who does not ask hears nothing of it")
            #expect(answer.headers.first(name: "Date") != nil)
        }
    }

    @Test func theLogContainsNoTokenRecordNameOrValue() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            _ = try await server.modify(Self.sage, token: token)
            _ = try await server.send("GET", "\(LiveServer.database)/zones/list", token: "tarn_wrongtoken")
            let lines = server.log.all.filter { $0.contains("endpoint") }
            #expect(lines.count == 3)
            for secret in [token, "wrongtoken", "Sage", "p1", "Garden", "mia"] {
                #expect(!server.log.all.contains { $0.contains(secret) }, "the log holds \(secret)")
            }
        }
    }
}
