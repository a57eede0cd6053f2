// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// S3: changes after a token.
extension Serving {
    private static let page = 200
    private static let feed = 10_000

    /// A zone of 10,000 records, page by page.
    static func pages(_ stage: CloudStage) -> Work {
        func tarn(_ name: String, _ server: @escaping () throws -> TarnServer) -> Entrant {
            pager(name) {
                let server = try filled(stage, server(), feed)
                return (server.port, { server.changes(after: $0, limit: page) }, { try TarnServer.page($0).token })
            }
        }
        let bare = pager(bare) {
            let port = try stage.bare()
            let rows = try countOfRows(port)
            if rows < feed {
                let body = Array(
                    stage.newRows(feed - rows).map { Array(CloudRows.record($0).utf8) }.joined(separator: [UInt8(ascii: "\n")]))
                _ = try HTTPLoad(port: port, clients: 1).run(1) { _ in HTTPLoad.request("POST", "/rows", body: body) }
            }
            return (
                port, { HTTPLoad.request("GET", "/rows?limit=\(page)&after=\($0 ?? "0")") },
                { String(decoding: $0.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self) }
            )
        }
        var entrants = [tarn(Entrant.tarn) { try stage.tarn("pages") }, bare]
        if let kinto = stage.kinto {
            entrants.append(tarn(postgres) { try stage.postgres(kinto) })
            entrants.append(
                pager(Serving.kinto, pages: 10) {
                    let load = HTTPLoad(port: kinto.port, clients: 1)
                    if !hasFilledKinto {
                        for _ in 0..<feed / page {
                            let rows = stage.newRows(page)
                            _ = try load.run(1) { _ in kinto.create(rows) }
                        }
                        hasFilledKinto = true
                    }
                    return (kinto.port, { kinto.rows(after: $0, limit: page) }, Kinto.lastTimestamp)
                })
        }
        return Work(id: "S3", title: "a page of \(page) changes", unit: .own("µs"), entrants: entrants)
    }

    nonisolated(unsafe) private static var hasFilledKinto = false

    private typealias Pages = (port: Int, request: (String?) -> [UInt8], token: ([UInt8]) throws -> String)

    private static func pager(_ name: String, pages: Int = feed / page, _ make: @escaping () throws -> Pages) -> Entrant {
        Entrant(name) {
            let source = try make()
            return Trial {
                var token: String?
                let result = try HTTPLoad(port: source.port, clients: 1).run(pages) { _ in
                    source.request(token)
                } answered: {
                    token = try source.token($0)
                }
                return Outcome(check: 1, samples: result.samples, measured: result.time.nanoseconds / 1e3 / Double(pages))
            }
        }
    }

    private static func countOfRows(_ port: Int) throws -> Int {
        var last = 0
        _ = try HTTPLoad(port: port, clients: 1).run(1) { _ in
            HTTPLoad.request("GET", "/rows?limit=1000000&after=0")
        } answered: {
            last = Int(String(decoding: $0.prefix { $0 != UInt8(ascii: "\n") }, as: UTF8.self)) ?? 0
        }
        return last
    }

    /// A server with that many records in its zone.
    static func filled(_ stage: CloudStage, _ name: String, _ count: Int) throws -> TarnServer {
        try filled(stage, stage.tarn(name), count)
    }

    private static func filled(_ stage: CloudStage, _ server: TarnServer, _ count: Int) throws -> TarnServer {
        if server.rows < count {
            let batch = 400
            _ = try HTTPLoad(port: server.port, clients: 2).run((count - server.rows + batch - 1) / batch) { _ in
                server.modify(stage.newRows(batch))
            }
            server.rows = count
        }
        return server
    }

    /// One record changes; then the changes since before are asked for. A zone of a thousand records shows whether the
    /// size of the zone matters.
    static func oneChange(_ stage: CloudStage, rows: Int) -> Work {
        let small = "Tarn, 1,000 records"
        func entrant(_ name: String, _ server: String, _ count: Int) -> Entrant {
            Entrant(name) {
                let server = try filled(stage, server, count)
                let load = HTTPLoad(port: server.port, clients: 1)
                var token = try server.newestToken(load)
                return Trial {
                    var samples: [Duration] = []
                    for _ in 0..<100 {
                        _ = try load.run(1) { _ in server.modify(stage.newRows(1)) }
                        samples += try load.run(1) { _ in
                            server.changes(after: token)
                        } answered: {
                            token = try TarnServer.page($0).token
                        }.samples
                    }
                    return Outcome(check: 1, samples: samples)
                }
            }
        }
        return Work(
            id: "S3L", title: "one change in a zone of \(rows) records", unit: .microseconds,
            entrants: [entrant(Entrant.tarn, "large", rows), entrant(small, "small", 1000)])
    }
}
