// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngineSQLite
import Foundation
import GRDB

/// Finds a person in a server's data: in every column of every table that the schema has, and among the files.
struct Traces {
    /// Numbers by the columns that have them.
    private let numbers: [String: Set<Int64>]
    /// Lower-case texts, and digests.
    private let needles: [Data]
    private let checksums: Set<String>
    private let path: String

    /// Notes all names, addresses, numbers and digests of an account while it is there.
    ///
    /// - Parameter digests: Of its tokens and sessions.
    init(of account: String, in path: String, digests: [[UInt8]]) throws {
        self.path = path
        var needles: [Data] = [Data(account.utf8)]
        (numbers, checksums) = try Self.open(path) { db in
            let row = try Row.fetchOne(
                db, sql: "SELECT account, email, phone, given_name, salt, password FROM accounts WHERE name = ?", arguments: [account])
            guard let row else { return ([:], []) }
            let number: Int64 = row[0]
            for text: String? in [row[1] as String?, row[2] as String?, row[3] as String?] {
                if let text { needles.append(Data(text.lowercased().utf8)) }
            }
            for digest in [row[4] as Data?, row[5] as Data?] { if let digest { needles.append(digest) } }
            let names = try String.fetchAll(db, sql: "SELECT name FROM user_names WHERE account = ?", arguments: [number])
            needles += names.map { Data($0.utf8) }
            let owners = names.map { "'\($0)'" }.joined(separator: ", ")
            let parts = try Int64.fetchSet(db, sql: "SELECT part FROM partitions WHERE owner IN (\(owners))")
            let files = try parts.flatMap { try String.fetchAll(db, sql: "SELECT checksum FROM assets WHERE part = ?", arguments: [$0]) }
            return (["account": [number], "part": parts], Set(files))
        }
        needles += digests.map { Data($0) }
        needles += checksums.map { Data($0.utf8) }
        self.needles = needles
    }

    /// Tables with rows that name the person.
    func tables() throws -> Set<String> {
        try Self.open(path) { db in
            var found: Set<String> = []
            for table in try Self.tables(db) {
                let rows = try Row.fetchCursor(db, sql: "SELECT * FROM \(table)")
                while let row = try rows.next() {
                    if row.contains(where: { isTrace($0.1, in: $0.0) }) { found.insert(table) }
                }
            }
            return found
        }
    }

    /// Files of assets with the person's bytes, and folders of the person's databases.
    func files() -> [String] {
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: path)) ?? []
        return paths.filter { path in
            let parts = path.split(separator: "/")
            guard parts.first == "assets", parts.count > 1 else { return parts.first == "incoming" && parts.count > 1 }
            return checksums.contains(String(parts[parts.count - 1])) || (numbers["part"] ?? []).contains(Int64(parts[1]) ?? -1)
        }
    }

    /// Whether the bytes of the database and its log contain a text, in rows or in free pages.
    func isInBytes(_ text: String) -> Bool {
        ["tarn.sqlite", "tarn.sqlite-wal"].contains { name in
            FileManager.default.contents(atPath: "\(path)/\(name)").map { $0.range(of: Data(text.utf8)) != nil } ?? false
        }
    }

    static func tables(in path: String) throws -> Set<String> { try open(path) { Set(try tables($0)) } }

    private func isTrace(_ value: DatabaseValue, in column: String) -> Bool {
        switch value.storage {
        case .null, .double: false
        case .int64(let number): numbers[column]?.contains(number) ?? false
        case .string(let text): contains(Data(text.lowercased().utf8))
        case .blob(let bytes): contains(bytes) || contains(Data(String(decoding: bytes, as: UTF8.self).lowercased().utf8))
        }
    }

    private func contains(_ bytes: Data) -> Bool { needles.contains { bytes.range(of: $0) != nil } }

    private static func tables(_ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
    }

    private static func open<Value>(_ path: String, _ body: (Database) throws -> Value) throws -> Value {
        var configuration = Configuration()
        configuration.readonly = true
        let queue = try DatabaseQueue(path: "\(path)/tarn.sqlite", configuration: configuration)
        return try queue.read(body)
    }
}
