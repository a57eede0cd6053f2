// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import Foundation
import GRDBSQLite
import Hummingbird
import Logging
import NIOCore
import Synchronization
import TarnCommands

/// The cost of HTTP and durable SQLite without CloudKit: rows of text are stored and returned unread.
struct BareServer: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "bare-server", shouldDisplay: false)

    @Argument var file: String

    func run() throws {
        ParentProcess.exitWhenGone()
        let database = try BareDatabase(file)
        let router = Router()
        router.get("/hello") { _, _ in "hello" }
        router.post("/rows") { request, _ in
            // One row a line.
            let body = try await request.body.collect(upTo: 64_000_000)
            let rows = body.readableBytesView.split(separator: UInt8(ascii: "\n")).map { Array($0) }
            return "\(try await database.insert(rows))"
        }
        router.get("/rows") { request, _ in
            let after = request.uri.queryParameters.get("after", as: Int64.self) ?? 0
            let limit = request.uri.queryParameters.get("limit", as: Int64.self) ?? 200
            return try ByteBuffer(bytes: database.rows(after: after, limit: limit))
        }
        var logger = Logger(label: "bare")
        logger.logLevel = .error
        let application = Application(
            router: router, configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0), serverName: nil),
            onServerRunning: { channel in
                Program.tell("listening on \(channel.localAddress?.port ?? 0)")
            }, logger: logger)
        try blocking { try await application.runService() }
    }
}

/// Rows by number, one writer with group commit, every commit durable.
private final class BareDatabase: Sendable {
    private typealias Waiting = (rows: [[UInt8]], done: CheckedContinuation<Int, any Error>)

    private let state = Mutex((waiting: [Waiting](), isWriting: false))
    private let queue = DispatchQueue(label: "writer")
    /// Used on the queue alone.
    nonisolated(unsafe) private let writer: SQLiteConnection
    /// Used under its lock alone.
    nonisolated(unsafe) private let reader: SQLiteConnection
    private let reading = NSLock()

    init(_ file: String) throws {
        writer = try SQLiteConnection(URL(fileURLWithPath: file), synchronous: "FULL")
        try writer.execute("CREATE TABLE IF NOT EXISTS row (number INTEGER PRIMARY KEY, body BLOB)")
        reader = try SQLiteConnection(URL(fileURLWithPath: file), synchronous: "FULL")
    }

    func insert(_ rows: [[UInt8]]) async throws -> Int {
        try await withCheckedThrowingContinuation { continuation in
            let starts = state.withLock { state in
                state.waiting.append((rows, continuation))
                defer { state.isWriting = true }
                return !state.isWriting
            }
            if starts { queue.async { self.drain() } }
        }
    }

    private func drain() {
        while true {
            let batch = state.withLock { state in
                let batch = state.waiting
                state.waiting = []
                if batch.isEmpty { state.isWriting = false }
                return batch
            }
            if batch.isEmpty { return }
            do {
                try writer.transaction {
                    try writer.withStatement("INSERT INTO row (body) VALUES (?)") { statement in
                        for row in batch.flatMap(\.rows) {
                            try row.withUnsafeBytes { bytes in
                                sqlite3_bind_blob(statement, 1, bytes.baseAddress, Int32(bytes.count), nil)
                                try writer.run(statement)
                            }
                        }
                    }
                }
                for waiting in batch { waiting.done.resume(returning: waiting.rows.count) }
            } catch {
                for waiting in batch { waiting.done.resume(throwing: error) }
            }
        }
    }

    /// The number of the last row, and the rows, each in a line.
    func rows(after number: Int64, limit: Int64) throws -> [UInt8] {
        try reading.withLock {
            var bytes: [UInt8] = []
            var last = number
            try reader.withStatement("SELECT number, body FROM row WHERE number > ? ORDER BY number LIMIT ?") { statement in
                sqlite3_bind_int64(statement, 1, number)
                sqlite3_bind_int64(statement, 2, limit)
                while sqlite3_step(statement) == SQLITE_ROW {
                    last = sqlite3_column_int64(statement, 0)
                    bytes.append(UInt8(ascii: "\n"))
                    bytes += UnsafeRawBufferPointer(
                        start: sqlite3_column_blob(statement, 1), count: Int(sqlite3_column_bytes(statement, 1)))
                }
            }
            return Array("\(last)".utf8) + bytes
        }
    }
}
