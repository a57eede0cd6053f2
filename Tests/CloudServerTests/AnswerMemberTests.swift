// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import Testing

/// Members of responses that the ledger names, and requests that a database does not support.
@Suite struct AnswerMemberTests {
    private struct Plain {
        let server: LiveServer
        let token: String

        func ask(_ operation: String, _ body: String = "", database: String = "private") async throws -> JSONValue {
            let path = "/database/1/\(LiveServer.container)/development/\(database)/\(operation)"
            return try JSONValue(try await server.send(body.isEmpty ? "GET" : "POST", path, token: token, body: Array(body.utf8)).body)
        }
    }

    private func withGarden(_ body: @escaping @Sendable (Plain) async throws -> Void) async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            try await body(Plain(server: server, token: token))
        }
    }

    @Test func aListOfZonesHasATokenButForThePublicDatabase() async throws {
        try await withGarden { plain in
            let own = try await plain.ask("zones/list")
            #expect(own["moreComing"] == .flag(false))
            #expect(own["syncToken"]?.string?.isEmpty == false)
            let all = try await plain.ask("zones/list", database: "public")
            #expect(all["moreComing"] == .flag(false))
            #expect(all["syncToken"] == nil)
            #expect(all["zones"]?[0]?["zoneID"]?["zoneName"]?.string == "_defaultZone")
            #expect(all["zones"]?[1] == nil)
        }
    }

    @Test func aDeletedSubscriptionIsMarked() async throws {
        try await withGarden { plain in
            let subscription = #"{"subscriptionID":"all","subscriptionType":"database"}"#
            for kind in ["create", "delete"] {
                let answer = try await plain.ask(
                    "subscriptions/modify", #"{"operations":[{"operationType":"\#(kind)","subscription":\#(subscription)}]}"#)
                #expect(answer["subscriptions"]?[0]?["subscriptionID"]?.string == "all")
                #expect((answer["subscriptions"]?[0]?["deleted"] == .flag(true)) == (kind == "delete"))
            }
        }
    }

    @Test func aQueryOfAllZonesIsNotForTheSharedDatabase() async throws {
        try await withGarden { plain in
            let query = #"{"zoneWide":true,"query":{"recordType":"Plant"}}"#
            let answer = try await plain.ask("records/query", query, database: "shared")
            #expect(answer["serverErrorCode"]?.string == "BAD_REQUEST")
        }
    }

    @Test func withoutAnAddressBookNoContactsAreFound() async throws {
        try await withGarden { plain in
            let discovered = try await plain.ask("users/discover", database: "public")
            #expect(discovered["users"] == .array([]))
            let contacts = try await plain.ask("users/lookup/contacts", "{}", database: "public")
            #expect(contacts["users"] == .array([]))
        }
    }
}
