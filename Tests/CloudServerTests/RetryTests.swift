// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import StorageFixtures
import TestBasics
import Testing

@Suite struct RetryTests {
    @Test func aRepeatedIdempotencyKeyReturnsTheStoredResponse() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let first = try await server.modify(AccessTests.sage, token: token, key: "k1")
            server.clock.advance(seconds: 60)
            let second = try await server.modify(AccessTests.sage, token: token, key: "k1")
            #expect(first.status == 200)
            #expect(first.body == second.body)
            let other = try ModifyRecordsResponse(json: try await server.modify(AccessTests.sage, token: token, key: "k2").body)
            guard case .failure(_, let error, _) = other.results[0] else {
                Issue.record("another key is another request")
                return
            }
            #expect(error.code == .conflict)
        }
    }

    @Test func anIdempotencyKeyOfAnotherRequestIsRejected() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            _ = try await server.modify(AccessTests.sage, token: token, key: "k1")
            let other = RecordOperation(.forceDelete, Record(recordName: "p1"))
            #expect(try await server.modify(other, token: token, key: "k1").error?.code == .badRequest)
            let long = String(repeating: "k", count: 129)
            #expect(try await server.modify(other, token: token, key: long).error?.code == .badRequest)
            // Keys of one user say nothing about another's.
            let bo = try await server.addUser("bo")
            try await server.makeGarden(token: bo)
            #expect(try await server.modify(other, token: bo, key: "k1").status == 200)
        }
    }

    /// It may have been in flight while the user deleted everything, and arrive late, when its sender has abandoned it.
    @Test func aRequestRejectedForAMissingZoneStaysRejected() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            #expect(try await server.modify(AccessTests.sage, token: token, key: "k1").error?.code == .zoneNotFound)
            try await server.makeGarden(token: token)
            #expect(try await server.modify(AccessTests.sage, token: token, key: "k1").error?.code == .zoneNotFound)
            let other = RecordOperation(.forceDelete, Record(recordName: "p1"))
            #expect(try await server.modify(other, token: token, key: "k1").error?.code == .badRequest)
            let made = try await server.modify(AccessTests.sage, token: token, key: "k2")
            #expect(made.status == 200)
        }
    }

    @Test func idempotencyKeysSurviveARestartAndExpireAfterADay() async throws {
        let place = try ServerPlace()
        try await LiveServer.run(place: place) { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let first = try await server.modify(AccessTests.sage, token: token, key: "k1")
            try await server.removeExpired(afterSeconds: 1)
            #expect(try await server.modify(AccessTests.sage, token: token, key: "k1").body == first.body)
        }
        try await LiveServer.run(place: place) { server in
            let token = try await server.addDevice(of: "mia")
            let again = try await server.modify(AccessTests.sage, token: token, key: "k1")
            #expect(!again.text.contains("CONFLICT"))
            try await server.removeExpired(afterSeconds: 2 * 86_400)
            #expect(try await server.modify(AccessTests.sage, token: token, key: "k1").text.contains("CONFLICT"))
        }
    }
}
