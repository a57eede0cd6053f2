// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Files, and responses that the server stores.
extension Attack {
    static let uploads: [Attack] = [
        Attack(name: "endless form", threads: 4) { sender in
            let setup = StressConnection(port: sender.port)
            let piece = [UInt8](repeating: UInt8(ascii: "p"), count: 1 << 16)
            while !sender.isOver() {
                guard let path = uploadPath(sender, setup, name: "endless") else { continue }
                // A preamble, which no boundary ends.
                let head =
                    "POST \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: multipart/form-data; boundary=b\r\n"
                    + "Content-Length: 4000000000\r\n\r\n"
                let connection = StressConnection(port: sender.port, timeout: 2)
                var isTaken = connection.write(Array(head.utf8))
                while isTaken, !sender.isOver() { isTaken = connection.write(piece) }
                sender.score.note(connection.read())
            }
        },
        Attack(name: "many files at one address", threads: 4) { sender in
            let connection = StressConnection(port: sender.port)
            guard let path = uploadPath(sender, connection, name: "one") else { return }
            var number = 0
            while !sender.isOver() {
                let file = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: 900_000)
                sender.score.note(connection.exchange(HTTPLoad.request("PUT", path, headers: [], body: file)))
                number += 1
            }
        },
        Attack(name: "uploads that stop", threads: 1) { sender in
            let setup = StressConnection(port: sender.port)
            let part = [UInt8](repeating: 7, count: 1_900_000)
            var connections: [StressConnection] = []
            while !sender.isOver() {
                guard connections.count < 100, let path = uploadPath(sender, setup, name: "stop-\(connections.count)") else {
                    usleep(50_000)
                    continue
                }
                let connection = StressConnection(port: sender.port, timeout: 2)
                let head = "PUT \(path) HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 2000000\r\n\r\n"
                if !connection.write(Array(head.utf8) + part) { sender.score.note(nil) }
                connections.append(connection)
            }
        },
        .repeated("stored responses", threads: 4) { sender, number in
            let text = String(repeating: "y", count: 900_000)
            let operation = create("stored-\(sender.thread)", #""t":{"value":"\#(text)"}"#)
            return StressServer.request(
                "records/modify", #"{"operations":[\#(operation)]}"#, token: sender.token,
                headers: ["X-Tarn-Idempotency-Key: stored-\(sender.thread)-\(number)"])
        },
    ]
}
