// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDBSQLite

/// S1 to S4: the server's work for one request, for a batch, for a page of changes, and for an empty request.
enum Serving {
    static let bare = "HTTP+SQLite"
    static let kinto = "Kinto"
    static let postgres = "Tarn on PostgreSQL"
    static let constant = "S4 constant answer"
    static let bareConstant = "S4 HTTP+SQLite"

    static func works(_ stage: CloudStage, large: Bool) -> [Work] {
        let rows = large ? 1_000_000 : 100_000
        return [
            memory(stage, "G21I", "megabytes of the server at rest", clients: 0),
            creating(stage, "S1", clients: 16, count: 3200, withKinto: true),
            creating(stage, "S1W", clients: 64, count: 6400, withKinto: false),
            memory(stage, "G21B", "megabytes of the server under 64 clients", clients: 64),
            batches(stage), pages(stage), oneChange(stage, rows: rows), starting(stage, rows: rows), listening(stage),
        ]
    }

    private static func entrant(
        _ name: String, count: Int, each: Double = 1, _ load: @escaping () throws -> HTTPLoad.Result
    ) -> Entrant {
        Entrant(name) {
            Trial {
                let result = try load()
                return Outcome(
                    check: 1, samples: result.samples, measured: result.time.nanoseconds / 1e3 / Double(count) / each)
            }
        }
    }

    private static func bareRow(_ index: Int) -> [UInt8] { Array(CloudRows.record(index).utf8) }

    private static func creating(_ stage: CloudStage, _ id: String, clients: Int, count: Int, withKinto: Bool) -> Work {
        func tarn(_ name: String, _ server: @escaping () throws -> TarnServer) -> Entrant {
            entrant(name, count: count) {
                let server = try server()
                let first = stage.newRows(count).lowerBound
                return try HTTPLoad(port: server.port, clients: clients).run(count) { server.modify(first + $0..<first + $0 + 1) }
            }
        }
        let bare = entrant(bare, count: count) {
            let first = stage.newRows(count).lowerBound
            return try HTTPLoad(port: try stage.bare(), clients: clients).run(count) {
                HTTPLoad.request("POST", "/rows", body: bareRow(first + $0))
            }
        }
        var entrants = [tarn(Entrant.tarn) { try stage.tarn() }, bare]
        if withKinto, let kinto = stage.kinto {
            entrants.append(tarn(postgres) { try stage.postgres(kinto) })
            let fewer = count / 16
            entrants.append(
                entrant(Serving.kinto, count: fewer) {
                    let first = stage.newRows(fewer).lowerBound
                    return try HTTPLoad(port: kinto.port, clients: clients).run(fewer) { kinto.create(first + $0) }
                })
        }
        if !withKinto { entrants += hello(stage, clients: clients, count: count) }
        return Work(id: id, title: "create one record a request, \(clients) clients", unit: .own("µs"), entrants: entrants)
    }

    /// The upper bound of the server: a response without work.
    private static func hello(_ stage: CloudStage, clients: Int, count: Int) -> [Entrant] {
        let request = HTTPLoad.request("GET", "/health")
        let bareRequest = HTTPLoad.request("GET", "/hello")
        return [
            entrant(constant, count: count) {
                try HTTPLoad(port: try stage.tarn().port, clients: clients).run(count) { _ in request }
            },
            entrant(bareConstant, count: count) {
                try HTTPLoad(port: try stage.bare(), clients: clients).run(count) { _ in bareRequest }
            },
        ]
    }

    /// 200 records a request, from 4 clients.
    private static func batches(_ stage: CloudStage) -> Work {
        let (batch, count, clients) = (200, 60, 4)
        func tarn(_ name: String, _ server: @escaping () throws -> TarnServer) -> Entrant {
            entrant(name, count: count, each: Double(batch)) {
                let server = try server()
                let requests = (0..<count).map { _ in server.modify(stage.newRows(batch)) }
                return try HTTPLoad(port: server.port, clients: clients).run(count) { requests[$0] }
            }
        }
        let bare = entrant(bare, count: count, each: Double(batch)) {
            let port = try stage.bare()
            let requests = (0..<count).map { _ in
                HTTPLoad.request("POST", "/rows", body: Array(stage.newRows(batch).map(bareRow).joined(separator: [UInt8(ascii: "\n")])))
            }
            return try HTTPLoad(port: port, clients: clients).run(count) { requests[$0] }
        }
        var entrants = [tarn(Entrant.tarn) { try stage.tarn() }, bare, sqlite(stage, batch, count)]
        if let kinto = stage.kinto {
            entrants.append(tarn(postgres) { try stage.postgres(kinto) })
            let fewer = 4
            entrants.append(
                entrant(Serving.kinto, count: fewer, each: Double(batch)) {
                    let requests = (0..<fewer).map { _ in kinto.create(stage.newRows(batch)) }
                    return try HTTPLoad(port: kinto.port, clients: clients).run(fewer) { requests[$0] }
                })
        }
        return Work(id: "S2", title: "create a record, \(batch) a request, \(clients) clients", unit: .own("µs"), entrants: entrants)
    }

    /// The same rows by SQLite's C API, in transactions of as many, durable, with a key of text as the server has it.
    private static func sqlite(_ stage: CloudStage, _ batch: Int, _ count: Int) -> Entrant {
        Entrant(Entrant.sqlite) {
            let file = try stage.newFolder().appendingPathComponent("rows.sqlite")
            let connection = try SQLiteConnection(file, synchronous: "FULL")
            try connection.execute(
                "CREATE TABLE record (name TEXT, change INTEGER, body BLOB, PRIMARY KEY (name)) WITHOUT ROWID; CREATE INDEX change ON record (change)"
            )
            let batches = (0..<count).map { _ in stage.newRows(batch).map { (CloudRows.name($0), $0, bareRow($0)) } }
            return Trial {
                let time = try ContinuousClock().measure {
                    for rows in batches {
                        try connection.transaction {
                            try connection.withStatement("INSERT INTO record VALUES (?, ?, ?)") { statement in
                                for (name, change, body) in rows {
                                    try bind(name, 1, statement) {
                                        sqlite3_bind_int64(statement, 2, Int64(change))
                                        try body.withUnsafeBytes { bytes in
                                            sqlite3_bind_blob(statement, 3, bytes.baseAddress, Int32(bytes.count), nil)
                                            try connection.run(statement)
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
                return Outcome(check: 1, measured: time.nanoseconds / 1e3 / Double(batch * count))
            } finish: {
                connection.close()
            }
        }
    }

    private static func memory(_ stage: CloudStage, _ id: String, _ title: String, clients: Int) -> Work {
        let tarn = Entrant(Entrant.tarn) {
            Trial {
                let server = try stage.tarn("memory")
                if clients > 0 {
                    let first = stage.newRows(6400).lowerBound
                    _ = try HTTPLoad(port: server.port, clients: clients).run(6400) { server.modify(first + $0..<first + $0 + 1) }
                }
                return Outcome(check: 1, measured: Program.memory("VmRSS", of: server.program.id) / 1e6)
            }
        }
        return Work(id: id, title: title, unit: .own("MB"), roundsMax: 1, warmsUp: false, entrants: [tarn])
    }
}
