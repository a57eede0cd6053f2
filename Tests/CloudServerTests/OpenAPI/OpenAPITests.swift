// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import TestBasics
import Testing

/// The protocol's document against the running server.
@Suite struct OpenAPITests {
    private static func document(_ server: LiveServer) async throws -> JSONValue {
        let answer = try await server.send("GET", "/openapi.json", token: nil)
        try #require(answer.status == 200)
        return try JSONValue(answer.body)
    }

    @Test func theCommittedOpenAPIDocumentEqualsTheServers() async throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("Documentation/openapi.json")
        try await LiveServer.run { server in
            let served = try await server.send("GET", "/openapi.json", token: nil)
            #expect(
                try [UInt8](Data(contentsOf: file)) == served.body,
                "the protocol changed: write it down again with `tarn openapi > Documentation/openapi.json`, and read the difference")
        }
    }

    @Test func everyReferenceResolvesAndEveryOperationIsDescribed() async throws {
        try await LiveServer.run { server in
            let document = try await Self.document(server)
            #expect(document["openapi"]?.string == "3.1.0")
            var references: Set<String> = []
            Self.collect(document, into: &references)
            #expect(references.count > 50)
            let schema = JSONSchema(document: document)
            for reference in references.sorted() {
                let found = schema.resolved(.object(["$ref": .text(reference)]))
                #expect(found != .null, "\(reference) leads nowhere")
            }
            let paths = document["paths"]?.members ?? [:]
            for operation in ServicePath.Operation.allCases {
                let path = paths["/database/1/{container}/{environment}/{database}/\(operation.rawValue)"]
                #expect(path?[operation.method.lowercased()] != nil, "\(operation) is missing")
            }
            for operation in DevicePath.Operation.allCases {
                #expect(paths["/device/1/{container}/{environment}/\(operation.rawValue)"] != nil, "\(operation) is missing")
            }
        }
    }

    private static func collect(_ value: JSONValue, into references: inout Set<String>) {
        if let reference = value["$ref"]?.string { references.insert(reference) }
        for member in value.members.values { collect(member, into: &references) }
        for item in value.list { collect(item, into: &references) }
    }

    // MARK: Any request

    private struct Endpoint: Sendable {
        var name: String
        var path: String
        var method: String
        var request: JSONValue?
        var answers: [String: JSONValue]
    }

    /// Every operation in every database that has it; long-lived responses are tested elsewhere.
    private static func endpoints(_ document: JSONValue) -> [Endpoint] {
        var endpoints: [Endpoint] = []
        for (path, item) in (document["paths"]?.members ?? [:]).sorted(by: { $0.key < $1.key }) {
            guard path.hasPrefix("/database/") || path.hasPrefix("/device/"), !path.hasSuffix("push/stream") else { continue }
            let databases = (item["parameters"]?.list ?? []).first { $0["name"]?.string == "database" }?["schema"]?["enum"]?.list
            for database in databases?.compactMap(\.string) ?? [""] {
                for method in ["get", "post"] {
                    guard let operation = item[method] else { continue }
                    endpoints.append(
                        Endpoint(
                            name: "\(operation["operationId"]?.string ?? "") \(database)",
                            path: path.replacing("{container}", with: LiveServer.container)
                                .replacing("{environment}", with: "development").replacing("{database}", with: database),
                            method: method.uppercased(),
                            request: operation["requestBody"]?["content"]?["application/json"]?["schema"],
                            answers: operation["responses"]?.members ?? [:]))
                }
            }
        }
        return endpoints
    }

    /// Seeds of requests: two, and as many more as TARN_OPENAPI_SEEDS says.
    static let seeds = (1...max(2, UInt64(ProcessInfo.processInfo.environment["TARN_OPENAPI_SEEDS"] ?? "") ?? 2)).map(\.self)

    @Test(arguments: seeds)
    func generatedRequestsGetDescribedResponses(_ seed: UInt64) async throws {
        try await LiveServer.run { server in
            let document = try await Self.document(server)
            let schema = JSONSchema(document: document)
            var random = SeededNumbers(seed: seed)
            var neverAnswered: [String] = []
            for (number, endpoint) in Self.endpoints(document).enumerated() {
                // A user of its own: one of the operations pauses the user.
                let token = try await server.addUser("user\(number)")
                try await Self.plant(server, token)
                var successes = 0
                for attempt in 0..<(endpoint.request == nil ? 1 : 10) {
                    var body: JSONValue?
                    if let request = endpoint.request {
                        let known = attempt == 0 ? Self.known[endpoint.name] : nil
                        let value = try known.map { try JSONValue($0.utf8) } ?? schema.value(of: request, using: &random)
                        #expect(schema.issues(of: value, request) == [], "the request is not what was meant")
                        body = attempt % 2 == 0 ? value : schema.broken(value, using: &random)
                    }
                    let answer = try await server.send(
                        endpoint.method, endpoint.path, token: token, body: try body?.bytes ?? [],
                        // A client without capabilities is answered as a program for the live service.
                        headers: attempt % 4 < 2 ? [(HeaderNames.capabilities, Capability.headerValue(Set(Capability.allCases)))] : [])
                    let sent = body.map { String(decoding: (try? $0.bytes) ?? [], as: UTF8.self).prefix(2000) } ?? ""
                    let issues = Self.issues(of: answer, endpoint, document, schema)
                    #expect(issues == [], "seed \(seed), \(endpoint.name): \(sent) is answered \(answer.status) \(answer.text.prefix(600))")
                    if answer.status == 200 { successes += 1 }
                }
                if successes == 0 { neverAnswered.append(endpoint.name) }
            }
            // A web auth token needs an API token of the operator, a snapshot its identifier, and zones of others need a share.
            #expect(neverAnswered.filter { $0 != "webAuthToken " && $0 != "zoneSnapshot private" && !$0.hasSuffix(" shared") } == [])
        }
    }

    /// Requests that chance would not find.
    private static let known: [String: String] = [
        "modifyRecords private": #"{"operations":[{"operationType":"create","record":{"recordType":"Plant","fields":{}}}]}"#,
        "modifyRecords public": #"{"operations":[{"operationType":"create","record":{"recordType":"Plant","fields":{}}}]}"#,
        "recordChanges private": #"{"zoneID":{"zoneName":"Garden"}}"#,
        "queryRecords private": #"{"query":{"recordType":"Plant","filterBy":[{"fieldName":"name","comparator":"EQUALS","#
            + #""fieldValue":{"type":"STRING","value":"Sage"}}]},"zoneID":{"zoneName":"Garden"}}"#,
        "modifySubscriptions private": #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"all","#
            + #""subscriptionType":"database"}}]}"#,
        "modifySubscriptions public": #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"plants","#
            + #""subscriptionType":"query","query":{"recordType":"Plant"},"firesOn":["create"]}}]}"#,
        "queryRecords public": #"{"query":{"recordType":"Plant","filterBy":[{"fieldName":"count","comparator":"EQUALS","#
            + #""fieldValue":{"type":"INT64","value":3}}]}}"#,
    ]

    private static func issues(
        of answer: Answer, _ endpoint: Endpoint, _ document: JSONValue, _ schema: JSONSchema
    ) -> [String] {
        guard let described = endpoint.answers["\(answer.status)"] else { return ["the document knows no answer \(answer.status)"] }
        guard let rule = schema.resolved(described)["content"]?["application/json"]?["schema"] else { return ["no schema"] }
        guard let value = try? JSONValue(answer.body) else { return ["no JSON"] }
        return schema.issues(of: value, rule)
    }

    private static func plant(_ server: LiveServer, _ token: String) async throws {
        try await server.makeGarden(token: token)
        let fields = ["name": Field(.string("Sage")), "count": Field(.int64(3))]
        _ = try await server.modify(
            RecordOperation(.forceUpdate, Record(recordName: "sage", recordType: "Plant", fields: fields)),
            RecordOperation(.forceUpdate, Record(recordName: "bed", recordType: "Bed", fields: fields)), token: token)
        let open = RecordOperation(.create, Record(recordName: "", recordType: "Plant", fields: fields))
        _ = try await server.send(
            "POST", "/database/1/\(LiveServer.container)/development/public/records/modify", token: token,
            body: ModifyRecordsRequest(operations: [open]).encoded())
    }
}
