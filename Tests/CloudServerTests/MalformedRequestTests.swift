// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import NIOHTTP1
import Testing

@Suite struct MalformedRequestTests {
    struct Case: CustomTestStringConvertible, Sendable {
        let method: String
        let path: String
        var body = ""
        let status: Int
        var reason = ""

        var testDescription: String { "\(method) \(path.suffix(30)) \(body.prefix(40))" }
    }

    private static let database = LiveServer.database
    private static let container = "/database/1/\(LiveServer.container)"

    static let cases: [Case] = [
        Case(method: "GET", path: "/", status: 404, reason: "could not find handler for endpoint"),
        Case(method: "GET", path: "//", status: 404),
        Case(method: "GET", path: "/database/1", status: 404),
        Case(method: "GET", path: "\(database)/records/nonsense", status: 404),
        Case(method: "GET", path: "\(database)/records/modify", status: 404),
        Case(method: "DELETE", path: "\(database)/zones/list", status: 404),
        Case(method: "GET", path: "\(container)/staging/private/zones/list", status: 400),
        Case(method: "GET", path: "\(container)/development/secret/zones/list", status: 400),
        Case(method: "GET", path: "/database/1/..%2F..%2Fetc/development/private/zones/list", status: 400),
        Case(
            method: "POST", path: "\(container)/development/public/zones/modify", status: 400,
            reason: "endpoint not applicable in the database type 'publicdb'"),
        Case(
            method: "POST", path: "\(container)/development/shared/zones/modify", status: 400,
            reason: "endpoint not applicable in the database type 'shareddb'"),
        Case(
            method: "POST", path: "\(database)/records/query", body: #"{"query":{"recordType":"Plant"}}"#, status: 404,
            reason: "Did not find record type: Plant"),
        Case(
            method: "POST", path: "\(database)/records/query", body: #"{"query":{"filterBy":[]}}"#, status: 400),
        Case(method: "POST", path: "\(database)/zones/list", body: "{}", status: 200),
        Case(method: "GET", path: "/asset/1/", status: 404),
        Case(method: "GET", path: "/asset/1/a/development/private/_x/download/00/99999999999/0011", status: 403),
        Case(method: "GET", path: "/asset/1/a/development/private/_x/download/00/xx/0011", status: 404),
        Case(method: "POST", path: "/device/1/a/development/push/stream", status: 404),
    ]

    @Test func unknownPathsMethodsAndMembersHaveDocumentedErrors() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            for item in Self.cases {
                let answer = try await server.send(item.method, item.path, token: token, body: Array(item.body.utf8))
                #expect(answer.status == item.status, "\(item.testDescription)")
                #expect(item.status == 200 || answer.error != nil, "\(item.testDescription)")
                #expect(item.reason.isEmpty || answer.error?.reason == item.reason)
            }
        }
    }

    static let bodies = [
        "", "{", "[]", "null", "7", "\"text\"", "{}", #"{"operations":7}"#, #"{"operations":[{}]}"#, #"{"operations":[null]}"#,
        #"{"operations":[{"operationType":"explode","record":{}}]}"#, #"{"zones":[{"zoneID":{}}]}"#,
        #"{"zones":[{"zoneID":{"zoneName":"Garden"},"resultsLimit":-1}]}"#, #"{"syncToken":7}"#, #"{"resultsLimit":1e99}"#,
        #"{"records":[{"recordName":7}]}"#, #"{"subscriptions":[{"subscriptionID":""}]}"#, "\u{0}\u{1}\u{2}",
        #"{"query":{"recordType":"../../etc"}}"#, #"{"query":{"recordType":"P","filterBy":[{"fieldName":"a"}]}}"#,
        #"{"query":{"recordType":"P","filterBy":[{"fieldName":"a","comparator":"DROP TABLE","fieldValue":{"value":1}}]}}"#,
        #"{"query":{"recordType":"P","sortBy":[{"fieldName":"a","relativeLocation":{"value":7}}]},"continuationMarker":"x"}"#,
        #"{"query":{"recordType":"P","filterBy":["#
            + String(repeating: #"{"fieldName":"a","comparator":"IN","fieldValue":{"value":[]}},"#, count: 10_000)
            + #"{"fieldName":"a","comparator":"IN","fieldValue":{"value":[]}}]}}"#,
        String(repeating: "[", count: 100_000), #"{"operations":[{"operationType":"create","record":{"fields":{"a":{"value":{}}}}}]}"#,
    ]

    /// The answer is an error or an empty result; the server answers the next request as before.
    @Test(arguments: ServicePath.Operation.allCases)
    func malformedBodiesDoNotStopTheServer(_ operation: ServicePath.Operation) async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            for body in Self.bodies where operation.method == "POST" {
                let answer = try await server.send(
                    "POST", "\(LiveServer.database)/\(operation.rawValue)", token: token, body: Array(body.utf8))
                #expect([200, 400, 404].contains(answer.status), "\(body.prefix(60)) is answered \(answer.status)")
                if answer.status == 400 { #expect(answer.error?.code == .badRequest) }
            }
            let broken: [UInt8] = [0x7B, 0x22, 0xFF, 0xFE, 0x22, 0x3A, 0x31, 0x7D]
            let path = "\(LiveServer.database)/\(operation.rawValue)"
            _ = try await server.send(operation.method, path, token: token, body: broken)
            // A request for a pause is granted, with any other content of the body.
            if operation == .restrictUser { _ = try await server.send("POST", "\(LiveServer.database)/users/unrestrict", token: token) }
            #expect(try await server.send("GET", "\(LiveServer.database)/zones/list", token: token).status == 200)
        }
    }

    /// A client that creates a user record, or changes its name, would impersonate another user.
    @Test(arguments: ["private", "public"])
    func clientsCannotCreateUserRecords(_ database: String) async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            let path = "\(Self.container)/development/\(database)/records/modify"
            let others = "_" + String(repeating: "0", count: 32)
            for (name, type) in [(others, "Plant"), ("_mia", "Plant"), (others, "Users"), ("u", "Users")] {
                for kind in [RecordOperation.Kind.create, .forceUpdate, .forceReplace] {
                    let request = ModifyRecordsRequest(operations: [.init(kind, Record(recordName: name, recordType: type))])
                    let answer = try await server.send("POST", path, token: token, body: request.encoded())
                    guard case .failure(_, let error, _)? = try ModifyRecordsResponse(json: answer.body).results.first else {
                        Issue.record("\(kind) made \(name) of type \(type)")
                        continue
                    }
                    #expect([.badRequest, .accessDenied].contains(error.code))
                }
            }
        }
    }

    @Test func aMalformedBodyIsReportedWithItsPosition() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            let answer = try await server.send(
                "POST", "\(LiveServer.database)/zones/modify", token: token, body: Array(#"{"operations":[}"#.utf8))
            #expect(answer.error?.code == .badRequest)
            #expect(answer.error?.reason.contains("15") == true, "the reason names no place: \(answer.error?.reason ?? "")")
        }
    }

    /// Some editors and libraries begin a text with one.
    @Test func aByteOrderMarkIsSkipped() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
            let path = "\(LiveServer.database)/zones/modify"
            #expect(try await server.send("POST", path, token: token, body: mark + Array(#"{"operations":[]}"#.utf8)).status == 200)
            let broken = try await server.send("POST", path, token: token, body: mark + Array(#"{"operations":[}"#.utf8))
            #expect(broken.error?.reason.contains("byte 18") == true, "\(broken.error?.reason ?? "")")
            #expect(try await server.send("POST", path, token: token, body: mark + mark + Array("{}".utf8)).status == 400)
            #expect(try await server.send("POST", path, token: token, body: mark).status == 400)
        }
    }

    @Test func aCompressedBodyIsRejectedWithTheAcceptedEncoding() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            let body = Array(#"{"operations":[]}"#.utf8)
            for path in ["\(LiveServer.database)/zones/modify", "/device/1/\(LiveServer.container)/development/tokens/create"] {
                for coding in ["gzip", "br", "identity, gzip", "x"] {
                    let answer = try await server.send("POST", path, token: token, body: body, headers: [("Content-Encoding", coding)])
                    #expect(answer.status == 415, "\(path) with \(coding): \(answer.status)")
                    #expect(answer.error?.code == .badRequest, "\(path) with \(coding): \(answer.status)")
                    #expect(answer.error?.reason.contains("identity") == true)
                    #expect(answer.headers.first(name: "Accept-Encoding") == "identity")
                    #expect(answer.error?.uuid?.isEmpty == false)
                }
            }
            for coding in ["identity", "Identity"] {
                let path = "\(LiveServer.database)/zones/modify"
                #expect(
                    try await server.send("POST", path, token: token, body: body, headers: [("Content-Encoding", coding)]).status == 200)
            }
        }
    }

    /// A comparison of such text takes time of the square of its length.
    @Test(arguments: ["Cookie", "Origin", "X-Forwarded-Proto", "X-Tarn-Capabilities"])
    func aHeaderOfCombiningMarksIsRejected(_ name: String) async throws {
        try await LiveServer.run { server in
            let raw = try RawConnection(port: server.port)
            let marks = "a" + String(repeating: "\u{301}", count: 1000)
            await raw.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\(name): \(marks)\r\nConnection: close\r\n\r\n")
            #expect(try await raw.readToEnd().hasPrefix("HTTP/1.1 400 "))
        }
    }

    @Test func aBodyOverTheLimitIsRejected() async throws {
        var limits = Limits()
        limits.requestBodyBytes = 1000
        try await LiveServer.run(limits: limits) { server in
            let token = try await server.addUser("mia")
            let path = "\(LiveServer.database)/zones/modify"
            let over = try await server.send("POST", path, token: token, body: Array(repeating: 0x20, count: 1001))
            #expect(over.status == 413)
            #expect(over.error?.nativeCode == .limitExceeded)
            let most = try await server.send(
                "POST", path, token: token,
                body: Array(#"{"operations":[]}"#.utf8) + Array(repeating: 0x20, count: 1000 - 17))
            #expect(most.status == 200)
        }
    }
}
