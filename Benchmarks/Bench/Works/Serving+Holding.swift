// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Glibc
import TarnCommands

extension Serving {
    /// From the start of the program until it says that its data can be read.
    static func starting(_ stage: CloudStage, rows: Int) -> Work {
        func entrant(_ name: String, _ server: String, _ count: Int) -> Entrant {
            Entrant(name) {
                let server = try filled(stage, server, count)
                server.stop()
                return Trial {
                    try server.start()
                    return Outcome(check: 1)
                }
            }
        }
        return Work(
            id: "U1", title: "start, until the server is ready",
            entrants: [entrant(Entrant.tarn, "start", 0), entrant("Tarn, \(rows) records", "large", rows)])
    }

    /// The memory of a server while a thousand devices of twenty users listen.
    static func listening(_ stage: CloudStage) -> Work {
        let (devices, users) = (1000, 20)
        let tarn = Entrant(Entrant.tarn) {
            OpenFiles.allowAll()
            let server = try stage.tarn("listening")
            let tokens = try (0..<users).map { try server.newUser("u\($0)") }
            var sockets: [Int32] = []
            return Trial {
                for device in 0..<devices {
                    var connection = try HTTPConnection(port: server.port)
                    sockets.append(connection.socket)
                    try connection.send(
                        HTTPLoad.request(
                            "GET", "/device/1/\(TarnServer.container)/development/push/stream",
                            headers: ["Authorization: Bearer \(tokens[device % users])", "X-Tarn-Device: d\(device)"]), at: .now)
                    var byte: UInt8 = 0
                    guard recv(connection.socket, &byte, 1, 0) == 1 else { throw HTTPLoad.Failure(description: "a stream did not begin") }
                }
                return Outcome(check: 1, measured: Program.memory("VmRSS", of: server.program.id) / 1e6)
            } finish: {
                for socket in sockets { close(socket) }
            }
        }
        return Work(
            id: "U2", title: "megabytes of the server while \(devices) devices listen", unit: .own("MB"), roundsMax: 1, warmsUp: false,
            entrants: [tarn])
    }
}
