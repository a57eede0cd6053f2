// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore

/// The events of a run: after each, the lines that changed on each device and on the server.
struct EventTrace {
    let output: @Sendable (String) -> Void
    private var former: [String: Set<String>] = [:]

    init(output: @escaping @Sendable (String) -> Void) { self.output = output }

    mutating func note(_ event: String, _ devices: [Replica], _ zones: [Int64: ServerModel]) {
        output(event)
        for device in devices { compare(device.device, device.traceLines) }
        compare("server", Set(zones.flatMap { number, zone in zone.traceLines.map { "zone \(number) \($0)" } }))
    }

    private mutating func compare(_ name: String, _ lines: Set<String>) {
        let old = former[name] ?? []
        for line in old.subtracting(lines).sorted() { output("  \(name) - \(line)") }
        for line in lines.subtracting(old).sorted() { output("  \(name) + \(line)") }
        former[name] = lines
    }
}

extension Replica {
    fileprivate var traceLines: Set<String> {
        var lines = dump.split(separator: "\n").map { "shows " + $0 }
        for (list, order) in orders {
            lines.append("order \(text(list.owner)).\(list.relationship): \(order.map(text).joined(separator: " "))")
        }
        for (key, positions) in positions {
            lines += positions.map { "position \(text(key)).\($0.key) \($0.value)" }
        }
        for transaction in history {
            let title = "history \(transaction.number) \(transaction.author ?? "app")"
            lines += transaction.changes.map {
                "\(title) \($0.kind) \(text($0.key)) \($0.changedProperties.joined(separator: " "))"
            }
        }
        for number in zones.numbers { lines += zones[number].traceLines.map { "zone \(number) \($0)" } }
        return Set(lines)
    }

    private func text(_ key: RowKey) -> String { name(of: key) ?? "row \(key.primaryKey)" }
}

extension ZoneMetadata {
    fileprivate var traceLines: [String] {
        var lines = ["token \(token ?? "–")\(isFullFetch ? ", full fetch" : "")"]
        for state in records.values {
            lines.append("\(state.recordName) \(state.stage) tag \(state.changeTag ?? "–") mark \(state.mark) \(state.role)")
            if let failure = state.failure { lines.append("\(state.recordName) rejected: \(failure)") }
            for (kind, fields) in [("base", state.ancestor.fields), ("unapplied", state.ancestor.unapplied)] {
                lines += fields.map { "\(state.recordName) \(kind) \($0.key) \($0.value.traceText)" }
            }
        }
        for link in links.values {
            lines.append("link \(link.recordName) \(link.pair.first) \(link.pair.second) \(link.stage) tag \(link.changeTag ?? "–")")
        }
        lines += parked.map { "deferred \($0.key.source).\($0.key.relationship) \($0.value)" }
        lines += withheld.values.map { "withheld \($0.record.recordName), lacks \($0.lacking.sorted().joined(separator: " "))" }
        return lines
    }
}

extension Field {
    fileprivate var traceText: String {
        switch value {
        case .string(let text)?: text
        case .int64(let number)?: "\(number)"
        case .bytes(let bytes)?: String(decoding: bytes, as: UTF8.self)
        case .list(let values, _)?: "\(values)"
        case nil: "nil"
        default: "…"
        }
    }
}

extension ServerModel {
    fileprivate var traceLines: [String] {
        records.values.map { record in
            let fields = record.fields.sorted { $0.key < $1.key }.map { "\($0.key) \($0.value.traceText)" }
            return "\(record.recordName) tag \(record.recordChangeTag ?? "–") \(fields.joined(separator: ", "))"
        }
    }
}
