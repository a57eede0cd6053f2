// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import StorageFixtures
import TestBasics
import Testing

@Suite struct RestrictionTests {
    private func post(_ server: LiveServer, _ operation: ServicePath.Operation, token: String) async throws -> Answer {
        try await server.send("POST", "\(LiveServer.database)/\(operation.rawValue)", token: token)
    }

    @Test func aUserRestrictsProcessingAndLiftsTheRestriction() async throws {
        let place = try ServerPlace()
        try await LiveServer.run(place: place) { server in
            let token = try await server.addUser("mia")
            let other = try await server.addUser("bo")
            try await server.makeGarden(token: token)
            #expect(try await post(server, .restrictUser, token: token).status == 200)
            let refused = try await server.modify(.init(.create, Record(recordName: "a", recordType: "Plant")), token: token)
            #expect(refused.status == 403)
            #expect(refused.error?.code == .accessDenied)
            #expect(try await server.send("GET", "\(LiveServer.database)/zones/list", token: token).status == 403)
            #expect(try await server.send("GET", "\(LiveServer.database)/zones/list", token: other).status == 200)
            let device = "/device/1/\(LiveServer.container)/development/push/stream"
            #expect(try await server.send("GET", device, token: token).status == 403)
        }
        try await LiveServer.run(place: place) { server in
            let token = try await server.addDevice(of: "mia")
            #expect(
                try await server.send("GET", "\(LiveServer.database)/zones/list", token: token).status == 403, "a restart changes nothing")
            #expect(try await post(server, .unrestrictUser, token: token).status == 200)
            #expect(try await server.modify(.init(.create, Record(recordName: "a", recordType: "Plant")), token: token).status == 200)
        }
    }

    @Test func getCurrentSyncTokenInTheURLReturnsAChangeToken() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let message = ModifyRecordsRequest(
                operations: [.init(.create, Record(recordName: "a", recordType: "Plant"))], zoneID: LiveServer.garden)
            let answer = try await server.send(
                "POST", "\(LiveServer.database)/records/modify?getCurrentSyncToken=true", token: token, body: message.encoded())
            let point = try ModifyRecordsResponse(json: answer.body).syncToken
            #expect(try await server.zoneChanges(token: token, since: point).zones.first.map { "\($0)".contains("recordName") } == false)
            let plain = try await server.modify(.init(.forceUpdate, Record(recordName: "a", recordType: "Plant")), token: token)
            #expect(try ModifyRecordsResponse(json: plain.body).syncToken == nil)
        }
    }
}
