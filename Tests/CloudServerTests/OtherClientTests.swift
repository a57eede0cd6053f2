// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import NIOHTTP1
import Testing

/// Requests and expectations of other programs for the live service, beyond those of Tarn's client.
@Suite struct OtherClientTests {
    private struct Plain {
        let server: LiveServer
        let token: String

        /// The answer's body as JSON, for a body that is JSON.
        func ask(
            _ operation: String, _ body: String, database: String = "private", headers: [(String, String)] = []
        ) async throws -> JSONValue {
            let path = "/database/1/\(LiveServer.container)/development/\(database)/\(operation)"
            let answer = try await server.send(body.isEmpty ? "GET" : "POST", path, token: token, body: Array(body.utf8), headers: headers)
            return try JSONValue(answer.body)
        }
    }

    private func withGarden(limits: Limits = Limits(), _ body: @escaping @Sendable (Plain) async throws -> Void) async throws {
        try await LiveServer.run(limits: limits) { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            try await body(Plain(server: server, token: token))
        }
    }

    private static let zone = #""zoneID":{"zoneName":"Garden"}"#

    @Test func recordsAndZonesHaveTheMembersOfTheLiveService() async throws {
        try await withGarden { plain in
            let made = try await plain.ask(
                "records/modify",
                "{\(Self.zone)," + #""operations":[{"operationType":"create","record":{"recordType":"Plant","recordName":"sage"}}]}"#)
            for record in [
                try #require(made["records"]?[0]),
                // The stored record, and the record in responses to requests without optional members.
                try #require(try await plain.ask("changes/zone", "{\"zones\":[{\(Self.zone)}]}")["zones"]?[0]?["records"]?[0]),
                try #require(
                    try await plain.ask("changes/zone", "{\"zones\":[{\(Self.zone),\"desiredKeys\":[]}]}")["zones"]?[0]?["records"]?[0]),
            ] {
                #expect(record["deleted"] == .flag(false))
                #expect(record["pluginFields"] == .object([:]))
                #expect(record["zoneID"]?["zoneType"]?.string == "REGULAR_CUSTOM_ZONE")
            }
            let zones = try await plain.ask("zones/list", "")
            #expect(
                Set([zones["zones"]?[0]?["zoneID"]?["zoneType"]?.string, zones["zones"]?[1]?["zoneID"]?["zoneType"]?.string])
                    == ["DEFAULT_ZONE", "REGULAR_CUSTOM_ZONE"])
            let token = try await plain.ask("changes/zone", "{\"zones\":[{\(Self.zone)}]}")["zones"]?[0]?["syncToken"]?.string ?? ""
            _ = try await plain.ask(
                "records/modify", "{\(Self.zone)," + #""operations":[{"operationType":"forceDelete","record":{"recordName":"sage"}}]}"#)
            let gone = try await plain.ask("changes/zone", "{\"zones\":[{\(Self.zone),\"syncToken\":\"\(token)\"}]}")["zones"]?[0]?[
                "records"]?[0]
            #expect(gone?["deleted"] == .flag(true))
            #expect(gone?["pluginFields"] == nil)
        }
    }

    @Test func clientsWithCapabilitiesReceiveNoEmptyMembers() async throws {
        try await withGarden { plain in
            let body = "{\(Self.zone)," + #""operations":[{"operationType":"create","record":{"recordType":"Plant","recordName":"sage"}}]}"#
            let record = try await plain.ask("records/modify", body, headers: [(HeaderNames.capabilities, "budget")])["records"]?[0]
            #expect(record?["recordName"]?.string == "sage")
            #expect(record?["pluginFields"] == nil)
            #expect(record?["deleted"] == nil)
            let stale =
                "{\(Self.zone)," + #""operations":[{"operationType":"update","record":{"recordName":"sage","recordChangeTag":"zz"}}]}"#
            let unasked = try await plain.ask("records/modify", stale)["records"]?[0]
            #expect(unasked?["serverErrorCode"]?.string == "CONFLICT")
            #expect(unasked?["serverRecord"] == nil)
            let asked = try await plain.ask("records/modify", stale, headers: [(HeaderNames.capabilities, "server-record")])["records"]?[0]
            #expect(asked?["serverRecord"]?["recordName"]?.string == "sage")
        }
    }

    @Test func errorsOfItemsHaveTheRequestID() async throws {
        try await withGarden { plain in
            let answer = try await plain.server.send(
                "POST", "\(LiveServer.database)/records/lookup", token: plain.token,
                body: Array("{\(Self.zone),\"records\":[{\"recordName\":\"x\"}]}".utf8))
            let item = try JSONValue(answer.body)["records"]?[0]
            #expect(item?["uuid"]?.string == answer.headers.first(name: HeaderNames.requestUUID))
            #expect(answer.headers.first(name: "X-Apple-CloudKit-Version") == "1.0")
        }
    }

    @Test func theZoneMayBeGivenPerRecord() async throws {
        try await withGarden { plain in
            let made = try await plain.ask(
                "records/modify",
                #"{"operations":[{"operationType":"create","record":{"recordType":"Plant","recordName":"a",\#(Self.zone)}}]}"#)
            #expect(made["records"]?[0]?["zoneID"]?["zoneName"]?.string == "Garden")
            let found = try await plain.ask("records/lookup", #"{"records":[{"recordName":"a",\#(Self.zone)}]}"#)
            #expect(found["records"]?[0]?["recordType"]?.string == "Plant")
            let elsewhere = try await plain.ask(
                "records/lookup", #"{\#(Self.zone),"records":[{"recordName":"a","zoneID":{"zoneName":"Shed"}}]}"#)
            #expect(elsewhere["records"]?[0]?["serverErrorCode"]?.string == "BAD_REQUEST")
        }
    }

    @Test func theSchemaDecidesTheTypeOfAnUntypedValue() async throws {
        try await withGarden { plain in
            func save(_ fields: String) async throws -> JSONValue? {
                try await plain.ask(
                    "records/modify",
                    #"{\#(Self.zone),"operations":[{"operationType":"forceUpdate","record":{"recordType":"Plant","recordName":"a","fields":{\#(fields)}}}]}"#
                )["records"]?[0]
            }
            _ = try await save(
                #""seed":{"type":"BYTES","value":"/wA="},"seeds":{"type":"BYTES_LIST","value":["/wA="]},"n":{"type":"INT64","value":1},"#
                    + #""ns":{"type":"INT64_LIST","value":[1]},"at":{"type":"TIMESTAMP","value":5}"#)
            let saved = try await save(
                #""seed":{"value":"AAA="},"seeds":{"value":["AAA="]},"n":{"value":7.0},"ns":{"value":["8"]},"at":{"value":9.0}"#)?["fields"]
            #expect(saved?["seed"] == .object(["type": .text("BYTES"), "value": .text("AAA=")]))
            #expect(saved?["seeds"] == .object(["type": .text("BYTES_LIST"), "value": .array([.text("AAA=")])]))
            #expect(saved?["n"]?["value"] == .number(7))
            #expect(saved?["at"] == .object(["type": .text("TIMESTAMP"), "value": .number(9)]))
            #expect(saved?["ns"]?["value"] == .array([.number(8)]))
            for wrong in [#""seed":{"value":"no base64"}"#, #""ns":{"value":["x"]}"#, #""n":{"value":7.5}"#] {
                #expect(try await save(wrong)?["serverErrorCode"]?.string == "BAD_REQUEST", "\(wrong)")
            }
            let path = "\(LiveServer.database)/records/modify"
            let body =
                #"{"operations":[{"operationType":"create","record":{"recordType":"P","fields":{"at":{"type":"TIMESTAMP","value":1.5}}}}]}"#
            let refused = try await plain.server.send("POST", path, token: plain.token, body: Array(body.utf8))
            #expect(refused.error?.reason.hasPrefix("Invalid value, expected type TIMESTAMP") == true)
        }
    }

    @Test func numbersAsStringsIsDecidedPerZone() async throws {
        try await withGarden { plain in
            _ = try await plain.ask(
                "records/modify",
                #"{\#(Self.zone),"operations":[{"operationType":"create","record":{"recordType":"Plant","recordName":"a","fields":{"n":{"value":7}}}}]}"#
            )
            _ = try await plain.ask("zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Shed"}}}]}"#)
            _ = try await plain.ask(
                "records/modify",
                #"{"zoneID":{"zoneName":"Shed"},"operations":[{"operationType":"create","record":{"recordType":"Plant","recordName":"b","fields":{"n":{"value":7}}}}]}"#
            )
            let page = try await plain.ask(
                "changes/zone", #"{"zones":[{\#(Self.zone),"numbersAsStrings":true},{"zoneID":{"zoneName":"Shed"}}]}"#)
            func number(_ zone: Int) -> JSONValue? { page["zones"]?[zone]?["records"]?[0]?["fields"]?["n"]?["value"] }
            #expect(number(0) == .text("7"))
            #expect(number(1) == .number(7))
        }
    }

    @Test func aQuerySubscriptionReportsWhetherItIsZoneWide() async throws {
        try await withGarden { plain in
            func save(_ id: String, _ rest: String) async throws -> JSONValue? {
                try await plain.ask(
                    "subscriptions/modify",
                    #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"\#(id)","subscriptionType":"query","firesOn":["create"],"#
                        + #""query":{"recordType":"Plant"}\#(rest)}}]}"#)["subscriptions"]?[0]
            }
            #expect(try await save("all", "")?["zoneWide"] == .flag(true))
            let one = try await save("default", #","zoneWide":false"#)
            #expect(one?["zoneWide"] == .flag(false))
            #expect(one?["zoneID"]?["zoneName"]?.string == ZoneID.defaultZoneName)
            #expect(try await save("garden", ",\(Self.zone)")?["zoneWide"] == .flag(false))
            let again = try await plain.ask(
                "subscriptions/lookup", #"{"subscriptions":[{"subscriptionID":"all"},{"subscriptionID":"default"}]}"#)
            #expect(again["subscriptions"]?[0]?["zoneWide"] == .flag(true))
            #expect(again["subscriptions"]?[1]?["zoneWide"] == .flag(false))
        }
    }

    @Test(arguments: [
        ("database", "private", true), ("database", "shared", true), ("database", "public", false), ("zone", "private", true),
        ("zone", "shared", false), ("zone", "public", false), ("query", "private", true), ("query", "public", true),
        ("query", "shared", false),
    ])
    func aDatabaseAcceptsTheDocumentedSubscriptionTypes(_ kind: String, _ database: String, _ isSupported: Bool) async throws {
        try await withGarden { plain in
            let result = try await plain.ask(
                "subscriptions/modify",
                #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"s","subscriptionType":"\#(kind)",\#(Self.zone),"#
                    + #""firesOn":["create"],"query":{"recordType":"Plant"}}}]}"#, database: database)["subscriptions"]?[0]
            #expect(result?["serverErrorCode"]?.string == (isSupported ? nil : "BAD_REQUEST"))
            #expect(result?["subscriptionID"]?.string == "s")
            // One that was not named is named once it is saved.
            let unnamed = try await plain.ask(
                "subscriptions/modify",
                #"{"operations":[{"operationType":"create","subscription":{"subscriptionType":"\#(kind)",\#(Self.zone),"#
                    + #""firesOn":["create"],"query":{"recordType":"Plant"}}}]}"#, database: database)["subscriptions"]?[0]
            #expect(isSupported ? unnamed?["subscriptionID"]?.string?.isEmpty == false : unnamed?["subscriptionID"] == nil)
        }
    }

    @Test(arguments: [
        (#"{"latitude":91,"longitude":11}"#, false), (#"{"latitude":-90.1,"longitude":11}"#, false),
        (#"{"latitude":48,"longitude":181}"#, false),
        (#"{"latitude":48,"longitude":-180.5}"#, false), (#"{"latitude":"NaN","longitude":11}"#, false),
        (#"{"latitude":48,"longitude":"Infinity"}"#, false), (#"{"latitude":90,"longitude":-180}"#, true),
        (#"{"latitude":-90,"longitude":180}"#, true),
    ])
    func aLocationIsOnTheGlobe(_ location: String, _ isOne: Bool) async throws {
        try await withGarden { plain in
            for (name, value) in [("LOCATION", location), ("LOCATION_LIST", #"[{"latitude":1,"longitude":1},\#(location)]"#)] {
                let record =
                    #"{"recordType":"Plant","recordName":"\#(name)","fields":{"spot\#(name)":{"type":"\#(name)","value":\#(value)}}}"#
                let saved = try await plain.ask(
                    "records/modify", #"{\#(Self.zone),"operations":[{"operationType":"create","record":\#(record)}]}"#)["records"]?[0]
                #expect(saved?["serverErrorCode"]?.string == (isOne ? nil : "BAD_REQUEST"))
                if !isOne { #expect(saved?["reason"]?.string?.contains("'spot\(name)'") == true) }
                let found = try await plain.ask("records/lookup", #"{\#(Self.zone),"records":[{"recordName":"\#(name)"}]}"#)["records"]?[0]
                #expect(found?["serverErrorCode"]?.string == (isOne ? nil : "NOT_FOUND"))
            }
        }
    }
}
