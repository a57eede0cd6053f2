// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// One event of a stream of server-sent events.
struct ServerEvent: Equatable, Sendable {
    var name: String
    var data: String
}

/// Cuts bytes into server-sent events, wherever the network cut them.
///
/// Source: html.spec.whatwg.org, "Server-sent events". Fields other than `event` and `data` are not used here.
struct ServerEventParser {
    private var line: [UInt8] = []
    private var name = ""
    private var data: [String] = []

    mutating func take(_ bytes: some Collection<UInt8>) -> [ServerEvent] {
        var events: [ServerEvent] = []
        var rest = bytes[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            line += rest[..<end]
            rest = rest[end...].dropFirst()
            if let event = endLine() { events.append(event) }
        }
        line += rest
        return events
    }

    private mutating func endLine() -> ServerEvent? {
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        let text = String(decoding: line, as: UTF8.self)
        line.removeAll(keepingCapacity: true)
        guard text.isEmpty else {
            let field = text.prefix { $0 != ":" }
            var value = text.dropFirst(field.count + 1)
            if value.first == " " { value.removeFirst() }
            if field == "event" { name = String(value) }
            if field == "data" { data.append(String(value)) }
            return nil
        }
        defer { (name, data) = ("", []) }
        return data.isEmpty ? nil : ServerEvent(name: name, data: data.joined(separator: "\n"))
    }
}
