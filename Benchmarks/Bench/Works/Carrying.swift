// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation
import Glibc

/// B1: a gigabyte to the server and back, and its cost in memory.
enum Carrying {
    static let sendfile = "sendfile"
    static let write = "write+fsync"

    static func works(_ stage: CloudStage, bytes: Int) -> [Work] {
        let upload = "send \(bytes >> 20) MiB to the server as an asset"
        let download = "fetch \(bytes >> 20) MiB from the server into a file"
        return [
            // Growing measurements first: used memory stays with the process, and hides the needs of the next file.
            memory(stage, "B1UC", "client, \(upload)", bytes, Self.upload) { _ in "self" },
            memory(stage, "B1DC", "client, \(download)", bytes, Self.download, after: Self.upload) { _ in "self" },
            memory(stage, "B1US", "server, \(upload)", bytes, Self.upload) { $0.program.id },
            memory(stage, "B1DS", "server, \(download)", bytes, Self.download, after: Self.upload) { $0.program.id },
            Work(
                id: "B1U", title: upload, roundsMax: 3,
                entrants: [timed(stage, bytes, Self.upload), files(write, stage, bytes, Files.writeAndFlush)]),
            Work(
                id: "B1D", title: download, roundsMax: 3,
                entrants: [timed(stage, bytes, Self.download), files(sendfile, stage, bytes, Files.send)]),
        ]
    }

    // MARK: Ours

    private typealias Carry = @Sendable (CKDatabase, URL) async throws -> Void

    private static let name = CKRecord.ID(recordName: "film")

    private static let upload: Carry = { database, file in
        let record = CKRecord(recordType: "Film", recordID: name)
        record["data"] = CKAsset(fileURL: file)
        let (saved, _) = try await database.modifyRecords(saving: [record], deleting: [], savePolicy: .allKeys)
        _ = try saved[name]?.get()
    }

    private static let download: Carry = { database, _ in
        let asset = try await database.record(for: name)["data"] as? CKAsset
        guard let file = asset?.fileURL else { throw CheckFailure(description: "the asset has no file") }
        try FileManager.default.removeItem(at: file)
    }

    private static func prepare(_ stage: CloudStage, _ bytes: Int, server name: String = "assets") throws -> (TarnServer, CKDatabase, URL) {
        let server = try stage.tarn(name)
        CKContainer.configure(CKContainer.Configuration(server: server.address, token: .init(server.token)))
        return (server, CKContainer(identifier: TarnServer.container).privateCloudDatabase, try Files.source(stage, bytes))
    }

    private static func timed(_ stage: CloudStage, _ bytes: Int, _ carry: @escaping Carry) -> Entrant {
        Entrant(Entrant.tarn) {
            let (_, database, file) = try prepare(stage, bytes)
            return Trial {
                try blocking { try await carry(database, file) }
                return Outcome(check: bytes)
            }
        }
    }

    // MARK: Memory

    private static func memory(
        _ stage: CloudStage, _ id: String, _ title: String, _ bytes: Int, _ carry: @escaping Carry, after before: Carry? = nil,
        _ whose: @escaping (TarnServer) -> String
    ) -> Work {
        let tarn = Entrant(Entrant.tarn) {
            let name = "assets-\(id)"
            let (server, database, file) = try prepare(stage, bytes, server: name)
            let measured = whose(server)
            if let before { try blocking { try await before(database, file) } }
            return Trial {
                let held = Program.memory("VmRSS", of: measured)
                Program.forgetPeak(of: measured)
                try blocking { try await carry(database, file) }
                return Outcome(check: bytes, measured: max(0, Program.memory("VmHWM", of: measured) - held) / 1e6)
            } finish: {
                stage.remove(name)
            }
        }
        return Work(id: id, title: title, unit: .own("MB"), roundsMax: 1, warmsUp: false, entrants: [tarn])
    }

    // MARK: Anchors

    private static func files(
        _ name: String, _ stage: CloudStage, _ bytes: Int, _ carry: @escaping (_ from: URL, _ to: URL) throws -> Void
    ) -> Entrant {
        Entrant(name) {
            let source = try Files.source(stage, bytes)
            let target = try stage.newFolder().appendingPathComponent("copy")
            return Trial {
                try carry(source, target)
                return Outcome(check: bytes)
            } finish: {
                try FileManager.default.removeItem(at: target)
            }
        }
    }
}

/// The system's best time for a file.
enum Files {
    nonisolated(unsafe) private static var made: URL?

    /// A file of that size, made once.
    static func source(_ stage: CloudStage, _ bytes: Int) throws -> URL {
        if let made { return made }
        let file = try stage.newFolder().appendingPathComponent("source")
        let descriptor = creat(file.path, 0o600)
        defer { close(descriptor) }
        var chunk = [UInt64](repeating: 0, count: 1 << 15)
        var state: UInt64 = 42
        for _ in 0..<bytes / (chunk.count * 8) {
            for index in chunk.indices {
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                chunk[index] = state
            }
            guard Glibc.write(descriptor, chunk, chunk.count * 8) == chunk.count * 8 else {
                throw CheckFailure(description: "no room for a file")
            }
        }
        made = file
        return file
    }

    /// Reads and writes in pieces of 256 KiB, and waits for the disk.
    static func writeAndFlush(_ source: URL, _ target: URL) throws {
        let (input, output) = (open(source.path, O_RDONLY), creat(target.path, 0o600))
        try copy(input, output)
        guard fsync(output) == 0 else { throw CheckFailure(description: "the disk does not take a file") }
        close(input)
        close(output)
    }

    /// One thread sends the file through a socket by `sendfile`; this one writes what arrives to a file.
    static func send(_ source: URL, _ target: URL) throws {
        var ends: [Int32] = [0, 0]
        guard socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0 else { throw CheckFailure(description: "no sockets") }
        let (sender, receiver) = (ends[0], ends[1])
        let input = open(source.path, O_RDONLY)
        Thread.detachNewThread {
            while Glibc.sendfile(sender, input, nil, 1 << 18) > 0 {}
            close(sender)
            close(input)
        }
        let output = creat(target.path, 0o600)
        try copy(receiver, output)
        close(receiver)
        close(output)
    }

    private static func copy(_ input: Int32, _ output: Int32) throws {
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        while true {
            let count = read(input, &buffer, buffer.count)
            if count == 0 { return }
            guard count > 0, Glibc.write(output, buffer, count) == count else {
                throw CheckFailure(description: "a file could not be copied")
            }
        }
    }
}
