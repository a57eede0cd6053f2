// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The servers of one run, started when a work first needs them.
final class CloudStage {
    private let tarnPath: String
    private let anchors: String?
    private let scratch: Scratch
    private var servers: [String: TarnServer] = [:]
    private var bareProgram: (program: Program, port: Int)?
    private var next = 0

    /// - Parameters:
    ///   - tarnPath: The executable `tarn`.
    ///   - anchors: Where `make bench-anchors` installed Kinto.
    init(tarn tarnPath: String, anchors: String?, in scratch: Scratch) {
        self.tarnPath = tarnPath
        self.anchors = anchors
        self.scratch = scratch
    }

    lazy var kinto: Kinto? = {
        guard let anchors else { return nil }
        return try? Kinto(in: anchors, log: scratch.folder.appendingPathComponent("kinto.log"))
    }()

    /// A server of that name; the same for the same name.
    ///
    /// - Parameter database: Of a new server; nil for SQLite in its folder.
    func tarn(_ name: String = "works", database: String? = nil) throws -> TarnServer {
        if let server = servers[name] { return server }
        let server = try TarnServer(tarnPath, in: scratch.folder.appendingPathComponent("server-\(name)"), database: database)
        servers[name] = server
        return server
    }

    /// Stops a server and removes its stored data.
    func remove(_ name: String) {
        servers.removeValue(forKey: name)?.program.stop()
        try? FileManager.default.removeItem(at: scratch.folder.appendingPathComponent("server-\(name)"))
    }

    /// A server on Kinto's PostgreSQL.
    func postgres(_ kinto: Kinto) throws -> TarnServer { try tarn("postgres", database: kinto.database) }

    /// Port of HTTP and SQLite without a CloudKit.
    func bare() throws -> Int {
        if let bareProgram { return bareProgram.port }
        let program = try Program(
            CommandLine.arguments[0], ["bare-server", scratch.newFile().path], log: scratch.folder.appendingPathComponent("bare.log"))
        guard let port = Int(try program.line().split(separator: " ").last ?? "") else { throw Program.Failure(description: "no port") }
        bareProgram = (program, port)
        return port
    }

    /// An empty folder.
    func newFolder() throws -> URL {
        next += 1
        let folder = scratch.folder.appendingPathComponent("folder-\(next)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }

    /// Numbers of rows that no request had yet.
    func newRows(_ count: Int) -> Range<Int> {
        defer { nextRow += count }
        return nextRow..<nextRow + count
    }
    private var nextRow = 0
}
