// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SQLiteStore
import SystemSupport

/// The output of `tarn store`.
enum StoreReport {
    static func json(_ description: StoreDescription) throws -> String { try encode(description) }

    static func json(_ check: StoreCheck, of file: String) throws -> String {
        struct Report: Encodable {
            let file: String
            let isSound: Bool
            let counts: [String: Int]
            let violations: [StoreViolation]
        }
        let counts = Dictionary(uniqueKeysWithValues: check.counts.map { ($0.key.rawValue, $0.value) })
        return try encode(
            Report(file: file, isSound: check.counts.isEmpty, counts: counts, violations: check.violations))
    }

    private static func encode(_ value: some Encodable) throws -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.dateEncodingStrategy = .iso8601
        return String(decoding: try encoder.encode(value), as: UTF8.self)
    }

    /// Escapes names and texts of the file, which could contain control sequences for the terminal.
    private static func safe(_ lines: [String]) -> String {
        lines.map { line in
            line.split(separator: "\t", omittingEmptySubsequences: false).map { TerminalText.escaped(String($0)) }.joined(separator: "\t")
        }.joined(separator: "\n")
    }

    static func text(_ check: StoreCheck, of file: String) -> String {
        if check.counts.isEmpty { return "\(file): sound" }
        var lines = check.violations.map { violation in
            [violation.rule.rawValue, violation.table, violation.key.map { "\($0)" } ?? "-", violation.message]
                .joined(separator: "\t")
        }
        for (rule, count) in check.counts.sorted(by: { $0.key.rawValue < $1.key.rawValue }) where count > StoreCheck.listedMax {
            lines.append("\(rule.rawValue)\t\tand \(count - StoreCheck.listedMax) more")
        }
        lines.append("\(file): \(CountText.text(check.counts.values.reduce(0, +), "violation"))")
        return safe(lines)
    }

    static func text(_ store: StoreDescription) -> String {
        var lines = ["store      \(store.path)", "identifier \(store.identifier)"]
        let origin = store.format.map { "opened by this framework, format \($0)" } ?? "written by Apple's framework"
        lines.append("origin     \(origin)\(store.frameworkVersion.map { ", framework version \($0)" } ?? "")")
        let versions = store.modelIdentifiers.filter { !$0.isEmpty }
        if !versions.isEmpty { lines.append("model      \(versions.joined(separator: ", "))") }
        lines.append("files      " + store.files.map { "\($0.name) \(CountText.text($0.bytes, "byte"))" }.joined(separator: ", "))
        lines.append("pages      \(store.pages) of \(store.pageSize) bytes, \(store.freePages) free, journal \(store.journalMode)")
        lines += ["", "entities"]
        for entity in store.entities {
            let parent = entity.parent.map { " : \($0)" } ?? ""
            lines.append(
                "  \(entity.number)\t\(entity.name)\(parent)\t\(CountText.text(entity.rows, "row"))\tlast key \(entity.lastKey)\t\(entity.table ?? "no table")"
            )
        }
        for table in store.tables {
            lines += ["", "table \(table.name) (\(CountText.text(table.rows, "row")))"]
            for column in table.columns {
                lines.append("  \(column.name)\t\(column.type)\(column.leadsTo.map { "\t→ \($0)" } ?? "")")
            }
        }
        if !store.joins.isEmpty { lines += ["", "pairs"] }
        for join in store.joins {
            lines.append(
                "  \(join.table)\t\(join.between.joined(separator: " ↔ "))\t\(CountText.text(join.pairs, "pair"))\(join.isOrdered ? ", ordered" : "")"
            )
        }
        if !store.isModelRecorded { lines += ["", "Relationships are guessed from names: the store has no record of its model."] }
        lines += ["", history(store.history)]
        if let mirroring = store.mirroring {
            let rows = mirroring.rows.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value)" }.joined(separator: ", ")
            lines.append("mirroring  bookkeeping of \(mirroring.bookkeeping): \(rows)")
        }
        if store.externalFiles > 0 {
            lines.append("external   \(CountText.text(store.externalFiles, "file")), \(CountText.text(store.externalBytes, "byte"))")
        }
        if !store.indexes.isEmpty { lines.append("indexes    \(store.indexes.joined(separator: ", "))") }
        if !store.triggers.isEmpty { lines.append("triggers   \(store.triggers.joined(separator: ", "))") }
        lines += ["", "metadata"]
        for (key, value) in store.metadata.sorted(by: { $0.key < $1.key }) { lines.append("  \(key)\t\(value)") }
        return safe(lines)
    }

    private static func history(_ history: StoreDescription.History?) -> String {
        guard let history else { return "history    none" }
        guard let first = history.firstTransaction, let last = history.lastTransaction else { return "history    empty" }
        let format = ISO8601DateFormatter()
        let span = [history.from, history.to].compactMap { $0.map(format.string(from:)) }.joined(separator: " to ")
        let authors = history.authors.isEmpty ? "" : ", authors \(history.authors.joined(separator: ", "))"
        return
            "history    \(CountText.text(history.transactions, "transaction")) (\(first) to \(last)), \(CountText.text(history.changes, "change")), \(span)\(authors)"
    }
}
