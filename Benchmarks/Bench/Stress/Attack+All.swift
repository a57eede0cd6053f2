// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

extension Attack {
    static let all: [Attack] = bodies + connections + queries + writes + credentials + uploads + floods + weights

    static func post(_ sender: Sender, _ operation: String, _ body: String, isAnonymous: Bool = false, scope: String = "private")
        -> [UInt8]
    {
        StressServer.request(operation, body, token: isAnonymous ? nil : sender.token, scope: scope)
    }

    static func prepared(_ sender: Sender, _ operation: String, _ body: String) {
        _ = StressConnection(port: sender.port, timeout: 60).exchange(post(sender, operation, body))
    }

    static func create(_ name: String, _ fields: String, type: String = "Target") -> String {
        #"{"operationType":"forceUpdate","record":{"recordName":"\#(name)","recordType":"\#(type)","fields":{\#(fields)}}}"#
    }

    // MARK: Bodies

    // Large texts are made once: the attackers' processor time is taken from the server.
    private static let manyNumbers = String(repeating: "1,", count: 7_900_000) + "1"
    private static let someNumbers = String(repeating: "1,", count: 490_000) + "1"
    /// 200 MB of spaces in 200 kB of gzip.
    private static let manySpaces = CompressedBody.spaces(megabytes: 200)
    private static let manyFilters = Array(
        repeating: #"{"fieldName":"a","comparator":"EQUALS","fieldValue":{"type":"INT64","value":1}}"#, count: 10_000
    ).joined(separator: ",")
    private static let manyParts = String(
        repeating: "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\nx\r\n", count: 60_000)

    private static let bodies: [Attack] = [
        .repeated("wide lists, anonymous", threads: 12) { sender, _ in
            post(
                sender, "records/query",
                #"{"query":{"recordType":"T","filterBy":{"fieldName":"a","comparator":"IN","fieldValue":{"type":"INT64_LIST","value":[\#(manyNumbers)]}}}}"#,
                isAnonymous: true, scope: "public")
        },
        .repeated("wide lists, signed in", threads: 12) { sender, _ in
            let field = #""list":{"type":"INT64_LIST","value":[\#(someNumbers)]}"#
            return post(sender, "records/modify", #"{"operations":[\#(create("wide", field))]}"#)
        },
        .repeated("many filters", threads: 8) { sender, _ in
            post(sender, "records/query", #"{"query":{"recordType":"T","filterBy":[\#(manyFilters)]}}"#)
        },
        .repeated("deep JSON", threads: 8) { sender, _ in
            post(sender, "records/query", String(repeating: #"{"query":["#, count: 40_000))
        },
        .repeated("compressed bodies", threads: 4) { sender, _ in
            HTTPLoad.request(
                "POST", StressServer.path("records/query"),
                headers: ["Authorization: Bearer \(sender.token)", "Content-Encoding: gzip", "Accept-Encoding: gzip"], body: manySpaces)
        },
        Attack(name: "slow bodies", threads: 1) { sender in
            let head = "POST /database/1/\(StressServer.container)/development/public/records/query HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            let body = [UInt8](repeating: UInt8(ascii: " "), count: 250_000)
            var connections: [StressConnection] = []
            while !sender.isOver() {
                if connections.count < 200 {
                    let connection = StressConnection(port: sender.port, timeout: 2)
                    if connection.write(Array((head + "Content-Length: 256000\r\n\r\n").utf8) + body) { connections.append(connection) }
                } else {
                    for connection in connections where !connection.write([UInt8(ascii: " ")]) {
                        sender.score.note(nil)
                        connection.end()
                    }
                    connections.removeAll { !$0.isOpen }
                    usleep(200_000)
                }
            }
        },
        Attack(name: "form upload of many parts", threads: 4) { sender in
            let connection = StressConnection(port: sender.port)
            while !sender.isOver() {
                // Only an address that the server made reads a form.
                guard let path = uploadPath(sender, connection) else { continue }
                sender.score.note(
                    connection.exchange(
                        HTTPLoad.request(
                            "POST", path, headers: ["Content-Type: multipart/form-data; boundary=b"], body: Array(manyParts.utf8))))
            }
        },
        .repeated("upload addresses", threads: 4) { sender, number in
            let tokens = (0..<200).map { #"{"recordType":"T","recordName":"r\#(number)-\#($0)","fieldName":"f"}"# }.joined(separator: ",")
            return post(sender, "assets/upload", #"{"tokens":[\#(tokens)]}"#)
        },
    ]

    /// - Returns: The path of an upload address; nil if the server refuses one.
    static func uploadPath(_ sender: Sender, _ connection: StressConnection, name: String = "form") -> String? {
        let body = #"{"tokens":[{"recordType":"T","recordName":"\#(name)-\#(sender.thread)","fieldName":"f"}]}"#
        guard let response = connection.exchange(post(sender, "assets/upload", body)), response.status == 200,
            let start = Bytes.end(of: "http://127.0.0.1", in: response.body),
            let slash = response.body[start...].firstIndex(of: UInt8(ascii: "/")),
            let end = response.body[slash...].firstIndex(of: UInt8(ascii: "\""))
        else { return nil }
        return String(decoding: response.body[slash..<end], as: UTF8.self)
    }

    // MARK: Connections

    private static let connections: [Attack] = [
        Attack(name: "many connections", threads: 4) { sender in
            while !sender.isOver() {
                var connections: [StressConnection] = []
                for _ in 0..<250 where !sender.isOver() {
                    let connection = StressConnection(port: sender.port, timeout: 2)
                    if connection.write(Array("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Slow: ".utf8)) {
                        connections.append(connection)
                    } else {
                        sender.score.note(nil)
                    }
                }
                usleep(200_000)
                for connection in connections { connection.end() }
            }
        },
        Attack(name: "held push streams", threads: 2) { sender in
            let request = HTTPLoad.request(
                "GET", "/device/1/\(StressServer.container)/development/push/stream", headers: ["Authorization: Bearer \(sender.token)"])
            var connections: [StressConnection] = []
            while !sender.isOver() {
                if connections.count < 500 {
                    let connection = StressConnection(port: sender.port, timeout: 2)
                    if connection.write(request) { connections.append(connection) } else { sender.score.note(nil) }
                } else {
                    usleep(50_000)
                }
            }
        },
    ]

    // MARK: Queries

    private static let words = (0..<256).map { "\"w\($0)\"" }.joined(separator: ",")
    static let listFilter =
        #"{"fieldName":"list","comparator":"NOT_LIST_CONTAINS_ANY","fieldValue":{"type":"STRING_LIST","value":[\#(words)]}}"#
    static let longList =
        #""list":{"type":"STRING_LIST","value":[\#(Array(repeating: "\"Ω\"", count: 40_000).joined(separator: ","))]}"#

    private static let queries: [Attack] = [
        .repeated(
            "expensive query", threads: 6,
            prepare: { sender in
                prepared(sender, "records/modify", #"{"operations":[\#(create("omega-\(sender.thread)", longList, type: "Omega"))]}"#)
            }
        ) { sender, _ in
            let filters = Array(repeating: listFilter, count: 64).joined(separator: ",")
            return post(sender, "records/query", #"{"query":{"recordType":"Omega","filterBy":[\#(filters)]}}"#)
        },
        .repeated(
            "expensive subscriptions", threads: 4,
            prepare: { sender in
                for number in 0..<40 {
                    let query = #"{"recordType":"Fired","filterBy":[\#(Array(repeating: listFilter, count: 8).joined(separator: ","))]}"#
                    let subscription =
                        #"{"subscriptionID":"fire-\#(sender.thread)-\#(number)","subscriptionType":"query","query":\#(query),"firesOn":["create","update"],"zoneWide":true}"#
                    prepared(
                        sender, "subscriptions/modify", #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#)
                }
            }
        ) { sender, _ in
            post(sender, "records/modify", #"{"operations":[\#(create("fired-\(sender.thread)", longList, type: "Fired"))]}"#)
        },
        .repeated(
            "one zone 200 times", threads: 4,
            prepare: { sender in
                prepared(sender, "zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Large"}}}]}"#)
                let text = String(repeating: "x", count: 90_000)
                for batch in 0..<3 {
                    let records = (0..<18).map { create("l\(batch)-\($0)", #""t":{"value":"\#(text)"}"#) }.joined(separator: ",")
                    prepared(sender, "records/modify", #"{"zoneID":{"zoneName":"Large"},"operations":[\#(records)]}"#)
                }
            }
        ) { sender, _ in
            let zones = Array(repeating: #"{"zoneID":{"zoneName":"Large"}}"#, count: 200).joined(separator: ",")
            return post(sender, "changes/zone", #"{"zones":[\#(zones)]}"#)
        },
        .repeated("pages of a large zone", threads: 8) { sender, _ in
            post(sender, "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Large"}}]}"#)
        },
    ]

    // MARK: Writes

    private static let writes: [Attack] = [
        .repeated("many words in an index", threads: 4) { sender, number in
            let words = (0..<20_000).map { "w\(number)x\($0)" }.joined(separator: " ")
            let operation = create("words-\(sender.thread)", #""t":{"value":"\#(words)"}"#, type: "Words")
            return post(sender, "records/modify", #"{"operations":[\#(operation)]}"#)
        },
        .repeated(
            "deletion by cascade", threads: 2,
            prepare: { sender in
                prepared(sender, "zones/modify", #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"Tree"}}}]}"#)
                let zone = #""zoneID":{"zoneName":"Tree"}"#
                prepared(sender, "records/modify", #"{\#(zone),"operations":[\#(create("root", #""n":{"value":1}"#))]}"#)
                for batch in 0..<10 {
                    let records = (0..<300).map { number in
                        create("c\(batch)-\(number)", #""to":{"type":"REFERENCE","value":{"recordName":"root","action":"NONE"}}"#)
                    }
                    prepared(sender, "records/modify", #"{\#(zone),"operations":[\#(records.joined(separator: ","))]}"#)
                }
            }
        ) { sender, number in
            let chain = (0..<150).map { index in
                create("v\(index)", #""to":{"type":"REFERENCE","value":{"recordName":"v\#(index + 1)-\#(number)","action":"VALIDATE"}}"#)
            }
            let deletions = (0..<150).map { #"{"operationType":"forceDelete","record":{"recordName":"c0-\#($0)"}}"# }
            return post(
                sender, "records/modify", #"{"zoneID":{"zoneName":"Tree"},"operations":[\#((deletions + chain).joined(separator: ","))]}"#)
        },
        .repeated("zone flood", threads: 4) { sender, number in
            let zones = (0..<100).map { index in
                #"{"operationType":"create","zone":{"zoneID":{"zoneName":"Z\#(sender.thread)-\#(number * 100 + index)"}}}"#
            }
            return post(sender, "zones/modify", #"{"operations":[\#(zones.joined(separator: ","))]}"#)
        },
        .repeated("subscription flood", threads: 4) { sender, number in
            let text = String(repeating: "s", count: 60_000)
            let subscription =
                #"{"subscriptionID":"s\#(sender.thread)-\#(number)","subscriptionType":"query","query":{"recordType":"Probe","#
                + #""filterBy":[{"fieldName":"t","comparator":"NOT_EQUALS","fieldValue":{"value":"\#(text)"}}]},"firesOn":["create"],"zoneWide":true}"#
            return post(sender, "subscriptions/modify", #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#)
        },
        .repeated("saves of 2 MB", threads: 6) { sender, number in
            let text = String(repeating: "y", count: 950_000)
            let records = (0..<2).map { create("big-\(sender.thread)-\((number * 2 + $0) % 20)", #""t":{"value":"\#(text)"}"#) }
            return post(sender, "records/modify", #"{"operations":[\#(records.joined(separator: ","))]}"#)
        },
    ]

    // MARK: Credentials

    static func form(_ path: String, _ body: String) -> [UInt8] {
        HTTPLoad.request(
            "POST", path, headers: ["Content-Type: application/x-www-form-urlencoded", "Origin: http://127.0.0.1"], body: Array(body.utf8))
    }

    private static let credentials: [Attack] = [
        .repeated("password guessing", threads: 16) { sender, number in
            form("/console/signin", "name=mia&password=guess-\(sender.thread)-\(number)")
        },
        .repeated("password guessing, made-up names", threads: 16) { sender, number in
            form("/console/signin", "name=nobody-\(sender.thread)-\(number)&password=guess")
        },
        .repeated("token guessing", threads: 8) { sender, number in
            StressServer.request("zones/list", "", token: "tarn_\(String(sender.thread * 1_000_000 + number, radix: 16))")
        },
    ]
}
