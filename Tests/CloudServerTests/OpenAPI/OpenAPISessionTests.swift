// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

/// A session as apps have them, every response of which is what `/openapi.json` says: the schema of an operation is what
/// generated clients read its responses with.
@Suite struct OpenAPISessionTests {
    /// Sends requests and compares the responses with the document.
    final class Session {
        let server: LiveServer
        let token: String
        let document: JSONValue
        private(set) var operations: Set<String> = []

        init(_ server: LiveServer, _ token: String) async throws {
            self.server = server
            self.token = token
            document = try JSONValue(try await server.send("GET", "/openapi.json", token: nil).body)
        }

        /// - Parameter operation: `private/records/modify`, or a device operation such as `tokens/create`.
        @discardableResult
        func send(_ operation: String, _ body: String = "", token: String? = nil) async throws -> JSONValue {
            let isDevice = operation.hasPrefix("tokens/")
            let root = "/\(isDevice ? "device" : "database")/1/\(LiveServer.container)/development"
            let method = body.isEmpty ? "GET" : "POST"
            let answer = try await server.send(method, "\(root)/\(operation)", token: token ?? self.token, body: Array(body.utf8))
            #expect(answer.status == 200, "\(operation): \(answer.text.prefix(500))")
            let name = isDevice ? operation : String(operation.drop { $0 != "/" }.dropFirst())
            operations.insert(name)
            let path = isDevice ? "/device/1/{container}/{environment}/\(name)" : "/database/1/{container}/{environment}/{database}/\(name)"
            let rule = document["paths"]?[path]?[method.lowercased()]?["responses"]?["200"]
            let schema = JSONSchema(document: document)
            let content = try #require(rule.map { schema.resolved($0) }?["content"]?["application/json"]?["schema"], "\(operation)")
            let value = try JSONValue(answer.body)
            #expect(schema.issues(of: value, content) == [], "\(operation): \(answer.text.prefix(2000))")
            return value
        }
    }

    /// Fields of every type, scalar and list.
    static let fields = #"""
        "text":{"value":"Sage"},"empty":{"value":""},"number":{"type":"INT64","value":9007199254740993},"fraction":{"type":"DOUBLE","value":0.5},
        "at":{"type":"TIMESTAMP","value":1893456000000},"blob":{"type":"BYTES","value":"AP8="},
        "ref":{"type":"REFERENCE","value":{"recordName":"sage","action":"NONE"}},
        "spot":{"type":"LOCATION","value":{"latitude":48.1,"longitude":11.5,"altitude":520}},
        "texts":{"type":"STRING_LIST","value":["a, b","c"]},"numbers":{"type":"INT64_LIST","value":[1,2]},
        "fractions":{"type":"DOUBLE_LIST","value":[0.5,1]},"times":{"type":"TIMESTAMP_LIST","value":[0]},
        "blobs":{"type":"BYTES_LIST","value":["AA=="]},"refs":{"type":"REFERENCE_LIST","value":[{"recordName":"sage","action":"NONE"}]},
        "spots":{"type":"LOCATION_LIST","value":[{"latitude":1,"longitude":2}]},"nothing":{"type":"STRING_LIST","value":[]}
        """#

    @Test func everyResponseOfASessionMatchesTheOpenAPIDocument() async throws {
        try await LiveServer.run { server in
            let session = try await Session(server, try await server.addUser("mia"))
            let other = try await server.addUser("ben")
            let zone = #""zoneID":{"zoneName":"Garden"}"#
            try await session.send(
                "private/zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Garden"}}}]}"#)
            let record = #"{"recordName":"sage","recordType":"Plant","fields":{\#(Self.fields)}}"#
            let made = try await session.send(
                "private/records/modify", #"{\#(zone),"operations":[{"operationType":"create","record":\#(record)}]}"#)
            let saved = made["records"]?.list.first?["fields"]
            #expect(saved?["texts"]?["type"]?.string == "STRING_LIST")
            #expect(saved?["texts"]?["value"]?.list.compactMap(\.string) == ["a, b", "c"])

            try await session.send("private/records/lookup", #"{\#(zone),"records":[{"recordName":"sage"},{"recordName":"none"}]}"#)
            try await session.send("private/records/lookup", #"{\#(zone),"records":[{"recordName":"sage"}],"numbersAsStrings":true}"#)
            try await session.send(
                "private/records/query",
                #"{\#(zone),"query":{"recordType":"Plant","filterBy":[{"fieldName":"text","comparator":"EQUALS","fieldValue":{"type":"STRING","value":"Sage"}}]}}"#
            )
            try await session.send("private/changes/database", "{}")
            try await session.send("private/changes/zone", #"{"zones":[{\#(zone)}]}"#)
            try await session.send("private/records/changes", #"{\#(zone)}"#)
            try await session.send("private/zones/changes", "{}")
            let zones = try await session.send("private/zones/list")
            #expect(zones["moreComing"] == .flag(false))
            #expect(zones["syncToken"]?.string != nil)
            try await session.send("private/changes/database", #"{"syncToken":"\#(zones["syncToken"]?.string ?? "")"}"#)
            try await session.send("public/zones/list")
            try await session.send("private/zones/lookup", #"{"zones":[{"zoneName":"Garden"},{"zoneName":"None"}]}"#)
            try await session.send(
                "private/subscriptions/modify",
                #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"all","subscriptionType":"database"}}]}"#)
            try await session.send("private/subscriptions/list")
            try await session.send(
                "private/subscriptions/lookup", #"{"subscriptions":[{"subscriptionID":"all"},{"subscriptionID":"none"}]}"#)
            let deleted = try await session.send(
                "private/subscriptions/modify", #"{"operations":[{"operationType":"delete","subscription":{"subscriptionID":"all"}}]}"#)
            #expect(deleted["subscriptions"]?.list == [.object(["subscriptionID": .text("all"), "deleted": .flag(true)])])
            try await session.send(
                "private/assets/upload", #"{\#(zone),"tokens":[{"recordType":"Plant","recordName":"sage","fieldName":"photo"}]}"#)

            let share =
                #"{"recordName":"s","recordType":"cloudkit.share","forRecord":{"recordName":"sage"},"publicPermission":"READ_ONLY","participants":[]}"#
            let shared = try await session.send(
                "private/records/modify", #"{\#(zone),"operations":[{"operationType":"create","record":\#(share)}]}"#)
            let guid = shared["records"]?.list.first?["shortGUID"]?.string ?? ""
            let guids = #"{"shortGUIDs":[{"value":"\#(guid)","shouldFetchRootRecord":true},{"value":"none"}]}"#
            try await session.send("public/records/resolve", guids, token: other)
            try await session.send("public/records/accept", guids, token: other)
            try await session.send("shared/zones/list", token: other)
            try await session.send("shared/changes/database", "{}", token: other)
            try await session.send("public/users/caller")
            try await session.send("public/users/current")
            try await session.send("public/users/discover", #"{"lookupInfos":[{"emailAddress":"no@example.org"}]}"#)
            let push = try await session.send("tokens/create", #"{"apnsEnvironment":"development"}"#)
            try await session.send(
                "tokens/register", #"{"apnsEnvironment":"development","apnsToken":"\#(push["apnsToken"]?.string ?? "")"}"#)
            try await session.send(
                "private/records/modify", #"{\#(zone),"operations":[{"operationType":"forceDelete","record":{"recordName":"sage"}}]}"#)
            try await session.send(
                "private/zones/modify", #"{"operations":[{"operationType":"delete","zone":{"zoneID":{"zoneName":"Garden"}}}]}"#)
            #expect(session.operations.count >= 20)
        }
    }

    /// A list without elements is answered with the type that the schema knows, however the request wrote it.
    @Test(arguments: [
        #"{"value":[]}"#, #"{"value":[],"type":"EMPTY_LIST"}"#, #"{"value":[],"type":"UNKNOWN_LIST"}"#,
        #"{"value":[],"type":"STRING_LIST"}"#, #"{"value":[],"type":"INT64_LIST"}"#,
    ])
    func anEmptyListHasTheTypeOfItsField(_ field: String) async throws {
        try await LiveServer.run { server in
            let session = try await Session(server, try await server.addUser("mia"))
            func save(_ name: String, _ field: String) async throws -> JSONValue? {
                let body =
                    #"{"operations":[{"operationType":"create","record":{"recordName":"\#(name)","recordType":"Plant","fields":{"tags":\#(field)}}}]}"#
                return try await session.send("private/records/modify", body)["records"]?.list.first?["fields"]?["tags"]
            }
            // Nothing is known of the field yet.
            if !field.contains("STRING"), !field.contains("INT64") {
                #expect(try await save("first", field)?["type"]?.string == "EMPTY_LIST")
            }
            _ = try await save("second", #"{"value":["herb"]}"#)
            let saved = try await save("third", field)
            #expect(saved?["type"]?.string == "STRING_LIST")
            #expect(saved?["value"]?.list == [])
            let read = try await session.send("private/records/lookup", #"{"records":[{"recordName":"third"}]}"#)
            #expect(read["records"]?.list.first?["fields"]?["tags"]?["type"]?.string == "STRING_LIST")
        }
    }

    @Test func aPushTokenIsRegisteredAndNotCreated() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            for root in ["device", "database"] {
                let path = "/\(root)/1/\(LiveServer.container)/development/\(root == "database" ? "public/" : "")tokens/register"
                for body in [#"{"apnsEnvironment":"development"}"#, #"{"apnsEnvironment":"development","apnsToken":""}"#] {
                    let answer = try await server.send("POST", path, token: token, body: Array(body.utf8))
                    if root == "device" || answer.status != 404 {
                        #expect(answer.status == 400)
                        #expect(answer.error?.code == .badRequest)
                        #expect(answer.error?.reason.contains("apnsToken") == true)
                    }
                }
            }
        }
    }
}
