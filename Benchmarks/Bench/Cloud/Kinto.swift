// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Kinto over PostgreSQL, where `make bench-anchors` has installed them.
final class Kinto {
    let port: Int
    /// The address of an empty database on the same PostgreSQL, for `tarn serve --database`.
    let database: String
    private let program: Program

    private static let rows = "/v1/buckets/bench/collections/posts/records"
    /// Any name and password make an account.
    private static let headers = ["Authorization: Basic \(Data("ann:secret".utf8).base64EncodedString())"]

    /// - Parameter folder: What `make bench-anchors` made; its `serve` starts both and prints the port and the database.
    /// - Returns: Nil if it is not there.
    init?(in folder: String, log: URL) throws {
        let script = folder + "/serve"
        guard FileManager.default.isExecutableFile(atPath: script) else { return nil }
        program = try Program(script, [], log: log)
        let line = try program.line().split(separator: " ")
        guard line.count == 2, let port = Int(line[0]) else { throw Program.Failure(description: "Kinto printed no port") }
        (self.port, database) = (port, String(line[1]))
        for path in ["/v1/buckets/bench", "/v1/buckets/bench/collections/posts"] {
            _ = try HTTPLoad(port: port, clients: 1).run(1) { _ in
                HTTPLoad.request("PUT", path, headers: Self.headers, body: Array("{}".utf8))
            }
        }
    }

    func create(_ index: Int) -> [UInt8] {
        HTTPLoad.request("PUT", "\(Self.rows)/\(CloudRows.name(index))", headers: Self.headers, body: Array(Self.body(index).utf8))
    }

    func create(_ indexes: Range<Int>) -> [UInt8] {
        let requests = indexes.map { #"{"path":"\#(Self.rows)/\#(CloudRows.name($0))","body":\#(Self.body($0))}"# }
        let body = #"{"defaults":{"method":"PUT"},"requests":[\#(requests.joined(separator: ","))]}"#
        return HTTPLoad.request("POST", "/v1/batch", headers: Self.headers, body: Array(body.utf8))
    }

    func rows(after timestamp: String?, limit: Int) -> [UInt8] {
        let since = timestamp.map { "&_since=\($0)" } ?? ""
        return HTTPLoad.request("GET", "\(Self.rows)?_sort=last_modified&_limit=\(limit)\(since)", headers: Self.headers)
    }

    /// When the last row of a page changed: from there the next page goes on.
    static func lastTimestamp(_ page: [UInt8]) throws -> String {
        let key = Array(#""last_modified":"#.utf8)
        guard let start = page.indices.last(where: { page[$0...].starts(with: key) }) else {
            throw Program.Failure(description: "a page without rows")
        }
        return String(decoding: page[(start + key.count)...].prefix { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }, as: UTF8.self)
    }

    private static func body(_ index: Int) -> String {
        let (title, content, timestamp) = CloudRows.fields(index)
        let padding = String(repeating: "x", count: 150)
        return #"{"data":{"title":"\#(title)","content":"\#(content)","entity":"Post","timestamp":\#(timestamp),"rest":"\#(padding)"}}"#
    }
}
