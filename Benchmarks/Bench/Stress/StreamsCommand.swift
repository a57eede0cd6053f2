// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import Glibc
import TarnCommands

/// Holds push streams, and measures their memory and the latency of a change to all of them.
struct StreamsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "streams", abstract: "Hold push streams, and wake all of them.",
        discussion: """
            Opens streams of the public database, the first thousand of them of signed-in devices. Prints the server's memory, its memory \
            for each stream, and the time from a save until the first and the last stream received its notification. Ends with 1 if a \
            stream is refused or closed, or receives nothing.
            """)

    @Option(help: "The executable tarn.")
    var tarn: String

    @Option(help: "Streams; several numbers are held in turn, the largest last.")
    var streams = [1000, 10_000]

    @Option(help: "Saves, each of which wakes all streams.")
    var rounds = 5

    func validate() throws {
        guard streams.allSatisfy({ (1...25_000).contains($0) }), streams == streams.sorted(), rounds > 0 else {
            throw ValidationError("There are 1 to 25,000 streams, in rising order, and one round at least.")
        }
    }

    private static let users = 20
    private static let streamsPerUser = 50

    func run() throws {
        OpenFiles.allowAll()
        let scratch = try Scratch()
        let server = try StressServer(
            tarn: tarn, folder: scratch.newFile().deletingPathExtension(), arguments: ["--limit", "requestsPerMinute=0"])
        let tokens = try (0..<Self.users).map { try server.newUser("u\($0)") }
        try server.start()
        defer { server.stop() }
        let writer = StressConnection(port: server.port)
        guard writer.exchange(Self.save(0, tokens[0]))?.status == 200 else { throw Program.Failure(description: "a save failed") }
        let idle = server.residentMemory
        print(String(format: "without streams: %.1f MB", idle / 1_048_576))
        print("streams | opened in s | MB | kB per stream | first woken ms | last woken ms (median of \(rounds)) | MB after | descriptors")
        var connections: [StressConnection] = []
        for count in streams {
            let start = ContinuousClock.now
            while connections.count < count {
                // A batch at a time: a listening socket has room for a few hundred connections that were not accepted yet.
                let batch = try (connections.count..<min(count, connections.count + 100)).map { number in
                    let stream = StressConnection(port: server.port, timeout: 30)
                    let isDevice = number < Self.users * Self.streamsPerUser
                    guard stream.write(Self.listen(number, isDevice ? tokens[number % Self.users] : nil)) else {
                        throw Program.Failure(description: "stream \(number) was not accepted")
                    }
                    return stream
                }
                for (index, stream) in batch.enumerated() {
                    guard let head = stream.receive(), head.starts(with: Array("HTTP/1.1 200".utf8)) else {
                        throw Program.Failure(description: "stream \(connections.count + index) was refused")
                    }
                }
                connections += batch
            }
            let opened = Self.milliseconds(since: start) / 1000
            // Heads and first heartbeats of all.
            try drain(connections)
            let held = server.residentMemory
            var first: [Double] = [], last: [Double] = []
            for round in 1...rounds {
                let times = try wake(connections, round, writer, tokens[0])
                first.append(times.first)
                last.append(times.last)
            }
            let cells = [
                "\(count)", String(format: "%.1f", opened), String(format: "%.1f", held / 1_048_576),
                String(format: "%.1f", (held - idle) / 1024 / Double(count)), String(format: "%.1f", first.sorted()[rounds / 2]),
                String(format: "%.1f", last.sorted()[rounds / 2]), String(format: "%.1f", server.residentMemory / 1_048_576),
                "\(server.descriptors)",
            ]
            print(cells.joined(separator: " | "))
            fflush(nil)
        }
    }

    /// Reads received bytes until no more arrive for a while.
    private func drain(_ connections: [StressConnection]) throws {
        var waiting = connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        while poll(&waiting, nfds_t(waiting.count), 500) > 0 {
            for index in waiting.indices where waiting[index].revents != 0 {
                guard connections[index].receive() != nil else { throw Program.Failure(description: "stream \(index) was closed") }
            }
        }
    }

    /// Saves a record, and waits until all streams have received a notification.
    ///
    /// - Returns: Milliseconds from the save until the first and the last stream had it.
    private func wake(
        _ connections: [StressConnection], _ round: Int, _ writer: StressConnection, _ token: String
    ) throws -> (first: Double, last: Double) {
        var waiting = connections.map { pollfd(fd: $0.descriptor, events: Int16(POLLIN), revents: 0) }
        let start = ContinuousClock.now
        guard writer.write(Self.save(round, token)) else { throw Program.Failure(description: "a save failed") }
        var first: Double?
        var left = connections.count
        while left > 0 {
            guard poll(&waiting, nfds_t(waiting.count), 30_000) > 0 else {
                throw Program.Failure(description: "\(left) streams received no notification")
            }
            for index in waiting.indices where waiting[index].revents != 0 {
                guard let bytes = connections[index].receive() else { throw Program.Failure(description: "stream \(index) was closed") }
                // A heartbeat is an empty line in a chunk of its own.
                guard bytes.contains(UInt8(ascii: "{")) else { continue }
                first = first ?? Self.milliseconds(since: start)
                waiting[index].fd = -1
                left -= 1
            }
        }
        let last = Self.milliseconds(since: start)
        guard writer.read()?.status == 200 else { throw Program.Failure(description: "a save failed") }
        return (first ?? last, last)
    }

    private static func milliseconds(since start: ContinuousClock.Instant) -> Double { (ContinuousClock.now - start).nanoseconds / 1e6 }

    private static func listen(_ number: Int, _ token: String?) -> [UInt8] {
        HTTPLoad.request(
            "GET", "/device/1/\(StressServer.container)/development/push/stream?database=public",
            headers: ["X-Tarn-Capabilities: public-changes", "X-Tarn-Device: d\(number)"]
                + (token.map { ["Authorization: Bearer \($0)"] } ?? []))
    }

    private static func save(_ number: Int, _ token: String) -> [UInt8] {
        let record = #"{"recordName":"wake","recordType":"Wake","fields":{"n":{"type":"INT64","value":\#(number)}}}"#
        return StressServer.request(
            "records/modify", #"{"operations":[{"operationType":"forceUpdate","record":\#(record)}]}"#, token: token, scope: "public")
    }
}
