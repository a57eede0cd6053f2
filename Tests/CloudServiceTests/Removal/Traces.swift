// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import Foundation
import GRDB
import ServiceFixtures
import StorageFixtures
import TestBasics

/// Finds a person in a server's data: in every column of every table that the schema has, and among the files.
struct Traces {
    /// Numbers by the columns that have them.
    private let numbers: [String: Set<Int64>]
    /// Lower-case texts, and digests.
    private let needles: [Data]
    private let checksums: Set<String>
    private let place: ServerPlace

    /// Notes all names, addresses, numbers and digests of an account while it is there.
    ///
    /// - Parameter digests: Of its tokens and sessions.
    init(of account: String, in place: ServerPlace, digests: [[UInt8]]) throws {
        self.place = place
        var needles: [Data] = [Data(account.utf8)]
        let rows = try TraceRow.all(in: place)
        let row = rows.first { $0.table == "accounts" && $0.text("name") == account }
        for column in ["email", "phone", "given_name"] {
            if let text = row?.text(column) { needles.append(Data(text.lowercased().utf8)) }
        }
        for column in ["salt", "password"] { if let bytes = row?.bytes(column) { needles.append(bytes) } }
        let number = row?.number("account")
        let names = rows.filter { $0.table == "user_names" && $0.number("account") == number }.compactMap { $0.text("name") }
        needles += names.map { Data($0.utf8) }
        let own = rows.filter { $0.table == "partitions" && names.contains($0.text("owner") ?? "") }
        let parts = Set(own.compactMap { $0.number("part") })
        let files = rows.filter { $0.table == "assets" && parts.contains($0.number("part") ?? 0) }
        checksums = Set(files.compactMap { $0.text("checksum") })
        // SQLite has an account's networks by a hash of its number.
        let owner = number.map { number in
            Int64(bitPattern: SHA256.hash(data: Data("#\(number)".utf8)).prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) })
        }
        numbers = ["account": Set([number].compactMap(\.self)), "part": parts, "owner": Set([owner].compactMap(\.self))]
        needles += digests.map { Data($0) }
        needles += checksums.map { Data($0.utf8) }
        self.needles = needles
    }

    /// Tables with rows that name the person.
    func tables() throws -> Set<String> {
        Set(try TraceRow.all(in: place).filter { row in row.values.contains { isTrace($0.value, in: $0.key) } }.map(\.table))
    }

    /// Files of assets with the person's bytes, and folders of the person's databases.
    func files() -> [String] {
        let paths = (try? FileManager.default.subpathsOfDirectory(atPath: place.folder.path)) ?? []
        return paths.filter { path in
            let parts = path.split(separator: "/")
            guard parts.first == "assets", parts.count > 1 else { return ["incoming", "staged"].contains(parts.first) && parts.count > 1 }
            return checksums.contains(String(parts[parts.count - 1])) || (numbers["part"] ?? []).contains(Int64(parts[1]) ?? -1)
        }
    }

    /// Whether the bytes of the database and its log contain a text, in rows or in free pages; nil for a database that others overwrite.
    func isInBytes(_ text: String) -> Bool? {
        guard place.database == nil else { return nil }
        return ["tarn.sqlite", "tarn.sqlite-wal"].contains { name in
            FileManager.default.contents(atPath: "\(place.folder.path)/\(name)").map { $0.range(of: Data(text.utf8)) != nil } ?? false
        }
    }

    private func isTrace(_ value: TraceRow.Value, in column: String) -> Bool {
        switch value {
        case .number(let number): numbers[column]?.contains(number) ?? false
        case .text(let text): contains(Data(text.lowercased().utf8))
        case .bytes(let bytes): contains(bytes) || contains(Data(String(decoding: bytes, as: UTF8.self).lowercased().utf8))
        }
    }

    private func contains(_ bytes: Data) -> Bool { needles.contains { bytes.range(of: $0) != nil } }
}

/// A row of any table of a server, read without the server's code.
struct TraceRow {
    enum Value {
        case number(Int64), text(String), bytes(Data)
    }

    var table: String
    /// Without nulls, by column.
    var values: [String: Value]

    func number(_ column: String) -> Int64? { if case .number(let number)? = values[column] { number } else { nil } }
    func text(_ column: String) -> String? { if case .text(let text)? = values[column] { text } else { nil } }
    func bytes(_ column: String) -> Data? { if case .bytes(let bytes)? = values[column] { bytes } else { nil } }

    /// The names of all tables.
    static func tables(in place: ServerPlace) throws -> [String] {
        guard place.database != nil else { return try open(place) { try tables($0) } }
        return try place.sql("SELECT tablename FROM pg_tables WHERE schemaname = 'public' ORDER BY 1").split(separator: "\n").map(
            String.init)
    }

    static func all(in place: ServerPlace) throws -> [TraceRow] {
        guard place.database != nil else { return try open(place) { db in try tables(db).flatMap { try rows(of: $0, db) } } }
        let selections = try tables(in: place).map { "SELECT '\($0)', row_to_json(t)::text FROM \($0) t" }
        return try place.sql(selections.joined(separator: " UNION ALL ")).split(separator: "\n").compactMap { line in
            let parts = line.split(separator: "|", maxSplits: 1)
            guard parts.count == 2, let row = try JSONSerialization.jsonObject(with: Data(parts[1].utf8)) as? [String: Any] else {
                return nil
            }
            return TraceRow(table: String(parts[0]), values: row.compactMapValues(value))
        }
    }

    /// - Parameter json: A value of `row_to_json`, which has bytes as text in hexadecimal digits.
    private static func value(_ json: Any) -> Value? {
        if let number = json as? Int64 { return .number(number) }
        // Foundation on Linux reads some negative integers of 64 bits as decimal numbers.
        if let number = (json as? NSDecimalNumber).flatMap({ Int64($0.stringValue) }) { return .number(number) }
        guard let text = json as? String else { return nil }
        guard text.hasPrefix("\\x") else { return .text(text) }
        let digits = Array(text.utf8.dropFirst(2))
        return .bytes(
            Data(
                stride(from: 0, to: digits.count - 1, by: 2).compactMap {
                    UInt8(String(decoding: digits[$0...$0 + 1], as: UTF8.self), radix: 16)
                }))
    }

    private static func rows(of table: String, _ db: Database) throws -> [TraceRow] {
        try Row.fetchAll(db, sql: "SELECT * FROM \(table)").map { row in
            var values: [String: Value] = [:]
            for (column, value) in row {
                switch value.storage {
                case .null, .double: break
                case .int64(let number): values[column] = .number(number)
                case .string(let text): values[column] = .text(text)
                case .blob(let bytes): values[column] = .bytes(bytes)
                }
            }
            return TraceRow(table: table, values: values)
        }
    }

    private static func tables(_ db: Database) throws -> [String] {
        try String.fetchAll(db, sql: "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' ORDER BY name")
    }

    private static func open<Value>(_ place: ServerPlace, _ body: (Database) throws -> Value) throws -> Value {
        var configuration = Configuration()
        configuration.readonly = true
        let queue = try DatabaseQueue(path: "\(place.folder.path)/tarn.sqlite", configuration: configuration)
        return try queue.read(body)
    }
}
