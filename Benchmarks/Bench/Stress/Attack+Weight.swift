// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Small requests that are much work, or have long responses.
extension Attack {
    private static let longText = String(repeating: "t", count: 900_000)

    private static func zoneRequest(_ sender: Sender, _ verb: String) -> [UInt8] {
        let zone = #"{"zoneID":{"zoneName":"Heavy-\#(sender.thread)"}}"#
        return post(sender, "zones/modify", #"{"operations":[{"operationType":"\#(verb)","zone":\#(zone)}]}"#)
    }

    private static func fill(_ sender: Sender, _ start: Int) -> [UInt8] {
        let fields = (0..<8).map { #""f\#($0)":{"type":"STRING","value":"value \#(start) \#($0)"}"# }.joined(separator: ",")
        let operations = (start..<start + 400).map { create("r\($0)", fields, type: "Heavy") }.joined(separator: ",")
        return post(
            sender, "records/modify", #"{"zoneID":{"zoneName":"Heavy-\#(sender.thread)"},"operations":[\#(operations)]}"#)
    }

    static let weights: [Attack] = [
        // 200 connections of each thread that ask for four megabytes and read nothing.
        Attack(
            name: "responses that are not read", threads: 2,
            prepare: { sender in
                let connection = StressConnection(port: sender.port, timeout: 60)
                _ = connection.exchange(zoneRequest(sender, "create"))
                for number in 0..<4 {
                    let record = create("long-\(number)", #""t":{"type":"STRING","value":"\#(longText)"}"#, type: "Long")
                    let body = #"{"zoneID":{"zoneName":"Heavy-\#(sender.thread)"},"operations":[\#(record)]}"#
                    _ = connection.exchange(post(sender, "records/modify", body))
                }
            }
        ) { sender in
            let request = post(sender, "changes/zone", #"{"zones":[{"zoneID":{"zoneName":"Heavy-\#(sender.thread)"}}]}"#)
            var connections: [StressConnection] = []
            while !sender.isOver() {
                if connections.count >= 200 {
                    usleep(50_000)
                    continue
                }
                let connection = StressConnection(port: sender.port, timeout: 2)
                // The second request keeps the connection from counting as idle.
                if !connection.write(request) || !connection.write(request) { sender.score.note(nil) }
                connections.append(connection)
            }
        },
        // Zones of 20,000 records are made, and deleted by one request.
        Attack(name: "deletion of large zones", threads: 2) { sender in
            let connection = StressConnection(port: sender.port, timeout: 60)
            while !sender.isOver() {
                sender.score.note(connection.exchange(zoneRequest(sender, "create")))
                for start in stride(from: 0, to: 20_000, by: 400) where !sender.isOver() {
                    sender.score.note(connection.exchange(fill(sender, start)))
                }
                sender.score.note(connection.exchange(zoneRequest(sender, "delete")))
            }
        },
    ]
}
