// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// `tarn serve` with one user and one zone.
final class TarnServer {
    static let container = "iCloud.org.example.bench"
    static let zone = "Bench"

    private(set) var program: Program
    private(set) var port: Int
    let token: String
    /// Records in the zone, as far as a work filled it.
    var rows = 0
    private var newest: String?
    private let path: String
    private let folder: URL
    /// Options of commands that name the data.
    private let place: [String]

    /// - Parameters:
    ///   - path: The executable `tarn`.
    ///   - database: The address of an empty PostgreSQL database; nil for SQLite in the folder.
    init(_ path: String, in folder: URL, database: String? = nil) throws {
        self.path = path
        self.folder = folder
        place = ["--data", folder.path] + (database.map { ["--database", $0] } ?? [])
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        token = try Self.newUser("ann", path, folder, place)
        (program, port) = try Self.start(path, folder, place)
        let zones = #"{"operations":[{"operationType":"create","zone":{"zoneID":{"zoneName":"\#(Self.zone)"}}}]}"#
        _ = try HTTPLoad(port: port, clients: 1).run(1) { _ in post("zones/modify", Array(zones.utf8)) }
    }

    private static func start(_ path: String, _ folder: URL, _ place: [String]) throws -> (Program, port: Int) {
        let program = try Program(
            path,
            ["serve"] + place + [
                "--port", "0", "--log-level", "warning", "--limit", "assetBytes=4000000000", "--limit",
                "requestsPerMinute=0",
                // One account may have half of them, and the clients of a workload, up to 64, are of one account.
                "--limit", "concurrentRequests=128",
                "--exit-with-parent",
            ], log: folder.appendingPathComponent("log"))
        let line = try program.line()
        guard let text = line.split(separator: ":").last, let port = Int(text) else { throw Program.Failure(description: line) }
        return (program, port)
    }

    func stop() { program.stop() }

    /// Restarts it on its stored data, and waits until it is ready.
    func start() throws {
        (program, port) = try Self.start(path, folder, place)
        _ = try HTTPLoad(port: port, clients: 1).run(1) { _ in HTTPLoad.request("GET", "/ready") }
    }

    var address: String { "http://127.0.0.1:\(port)" }

    /// - Returns: The token of a device of a user that was not there before.
    func newUser(_ name: String) throws -> String { try Self.newUser(name, path, folder, place) }

    private static func newUser(_ name: String, _ path: String, _ folder: URL, _ place: [String]) throws -> String {
        let program = try Program(path, ["user", "add", name] + place, log: folder.appendingPathComponent("log"))
        guard let token = try program.lines().last else { throw Program.Failure(description: "no token for \(name)") }
        return token
    }

    /// A request to the private database.
    func post(_ operation: String, _ body: [UInt8]) -> [UInt8] {
        HTTPLoad.request(
            "POST", "/database/1/\(Self.container)/development/private/\(operation)", headers: ["Authorization: Bearer \(token)"],
            body: body)
    }

    func modify(_ records: Range<Int>) -> [UInt8] {
        let operations = records.map { #"{"operationType":"create","record":\#(CloudRows.record($0))}"# }
        return post(
            "records/modify",
            Array(#"{"zoneID":{"zoneName":"\#(Self.zone)"},"operations":[\#(operations.joined(separator: ","))]}"#.utf8))
    }

    func changes(after token: String?, limit: Int = 200) -> [UInt8] {
        let token = token.map { #","syncToken":"\#($0)""# } ?? ""
        return post("changes/zone", Array(#"{"zones":[{"zoneID":{"zoneName":"\#(Self.zone)"},"resultsLimit":\#(limit)\#(token)}]}"#.utf8))
    }

    /// The token of the zone as it is now. The first time the whole zone is walked through; later on what came since.
    func newestToken(_ load: HTTPLoad) throws -> String {
        while true {
            var page: (token: String, moreComing: Bool)?
            _ = try load.run(1) { _ in
                changes(after: newest)
            } answered: {
                page = try Self.page($0)
            }
            newest = page?.token
            if let newest, page?.moreComing == false { return newest }
        }
    }

    /// Finds the token and the end of pages in a response to ``changes(after:limit:)``, without a JSON decoder: that would
    /// be the client's cost.
    static func page(_ answer: [UInt8]) throws -> (token: String, moreComing: Bool) {
        let key = #""syncToken":""#
        guard let start = Bytes.end(of: key, in: answer), let end = answer[start...].firstIndex(of: UInt8(ascii: "\"")) else {
            throw Program.Failure(description: "changes without a token")
        }
        return (String(decoding: answer[start..<end], as: UTF8.self), Bytes.end(of: #""moreComing":true"#, in: answer) != nil)
    }
}

enum Bytes {
    /// Where a text ends in bytes, at its first place.
    static func end(of text: String, in bytes: [UInt8]) -> Int? {
        let wanted = Array(text.utf8)
        return bytes.withUnsafeBytes { bytes in
            guard let start = bytes.baseAddress else { return nil }
            var offset = 0
            while offset + wanted.count <= bytes.count {
                guard let found = memchr(start + offset, Int32(wanted[0]), bytes.count - wanted.count - offset + 1) else { return nil }
                offset = UnsafeRawPointer(found) - start
                if memcmp(start + offset, wanted, wanted.count) == 0 { return offset + wanted.count }
                offset += 1
            }
            return nil
        }
    }
}

/// The stored data of the server's workloads: records of about 376 bytes of JSON.
enum CloudRows {
    static func name(_ index: Int) -> String {
        let digits = String(index)
        return "7D1C0A52-9E0F-4B7A-8C11-" + String(repeating: "0", count: 12 - digits.count) + digits
    }

    static func fields(_ index: Int) -> (title: String, content: String, timestamp: Int) {
        let digits = String(index)
        return (
            "Post " + String(repeating: "0", count: 15 - digits.count) + digits,
            String(decoding: (0..<100).map { UInt8(ascii: "a") + UInt8((index + $0) % 26) }, as: UTF8.self), 1_700_000_000_000 + index
        )
    }

    static func record(_ index: Int) -> String {
        let (title, content, timestamp) = fields(index)
        return #"{"recordName":"\#(name(index))","recordType":"CD_Post","fields":{"CD_title":{"value":"\#(title)","type":"STRING"},"#
            + #""CD_content":{"value":"\#(content)","type":"STRING"},"CD_entityName":{"value":"Post","type":"STRING"},"#
            + #""CD_timestamp":{"value":\#(timestamp),"type":"TIMESTAMP"}}}"#
    }
}
