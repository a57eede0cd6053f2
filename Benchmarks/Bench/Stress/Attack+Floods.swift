// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Names that nothing has, and more requests than are read.
extension Attack {
    private static let manyHeaders = (0..<5000).map { "X-Header-\($0): value\r\n" }.joined()
    private static let longHeader = "X-Long: " + String(repeating: "h", count: 70_000) + "\r\n"

    static let floods: [Attack] = [
        .repeated("made-up containers", threads: 8) { sender, number in
            let path = "/database/1/iCloud.made.up.\(sender.thread).x\(number)/development/private/zones/list"
            return HTTPLoad.request("GET", path, headers: ["Authorization: Bearer \(sender.token)"], body: [])
        },
        .repeated("made-up containers, anonymous", threads: 8) { sender, number in
            let path = "/database/1/iCloud.made.up.\(sender.thread).x\(number)/development/public/records/query"
            return HTTPLoad.request("POST", path, headers: [], body: Array(#"{"query":{"recordType":"T"}}"#.utf8))
        },
        Attack(name: "anonymous push streams", threads: 2) { sender in
            var connections: [StressConnection] = []
            while !sender.isOver() {
                guard connections.count < 500 else {
                    usleep(50_000)
                    continue
                }
                let path = "/device/1/iCloud.made.up.\(sender.thread).x\(connections.count)/development/push/stream?database=public"
                let connection = StressConnection(port: sender.port, timeout: 2)
                let request = HTTPLoad.request("GET", path, headers: ["X-Tarn-Capabilities: public-changes"], body: [])
                if !connection.write(request) { sender.score.note(nil) }
                connections.append(connection)
            }
        },
        .repeated("courier addresses", threads: 4) { sender, number in
            HTTPLoad.request(
                "POST", "/device/1/\(StressServer.container)/development/tokens/create",
                headers: ["Authorization: Bearer \(sender.token)", "X-Tarn-Device: made-up-\(sender.thread)-\(number)"],
                body: Array(#"{"apnsEnvironment":"development","clientId":"c-\#(number)"}"#.utf8))
        },
        Attack(name: "pipelined requests that are not read", threads: 4) { sender in
            let request = post(sender, "zones/list", "")
            let many = Array(repeatElement(request, count: 500).joined())
            while !sender.isOver() {
                let connection = StressConnection(port: sender.port, timeout: 2)
                while !sender.isOver(), connection.write(many) {}
                sender.score.note(nil)
                connection.end()
            }
        },
        .repeated("long heads", threads: 8) { sender, number in
            let path = StressServer.path("zones/list")
            let lines = number % 2 == 0 ? manyHeaders : longHeader
            return Array("GET \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer \(sender.token)\r\n\(lines)\r\n".utf8)
        },
        .repeated("sign-in with control characters", threads: 16) { sender, number in
            form("/console/signin", "name=mia%00\(sender.thread)-\(number)&password=guess")
        },
        .repeated(
            "expensive public subscriptions", threads: 4,
            prepare: { sender in
                let filters = Array(repeating: listFilter, count: 8).joined(separator: ",")
                for number in 0..<40 {
                    let subscription =
                        #"{"subscriptionID":"public-\#(sender.thread)-\#(number)","subscriptionType":"query","#
                        + #""query":{"recordType":"Open","filterBy":[\#(filters)]},"firesOn":["create","update"]}"#
                    let body = #"{"operations":[{"operationType":"create","subscription":\#(subscription)}]}"#
                    _ = StressConnection(port: sender.port, timeout: 60).exchange(
                        post(sender, "subscriptions/modify", body, scope: "public"))
                }
            }
        ) { sender, _ in
            post(
                sender, "records/modify", #"{"operations":[\#(create("open-\(sender.thread)", longList, type: "Open"))]}"#, scope: "public")
        },
    ]
}
