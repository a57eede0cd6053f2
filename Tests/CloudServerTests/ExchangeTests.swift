// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Foundation
import TestBasics
import Testing

/// The exchanges that are written down in `Tests/Exchanges`, which the client's tests read, too.
@Suite struct ExchangeTests {
    private static let folder = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        .appendingPathComponent("Exchanges")

    @Test func recordedExchangesGetTheirRecordedResponses() async throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path).sorted()
        try #require(names.count > 10)
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            for name in names {
                let exchange = try JSONValue([UInt8](Data(contentsOf: Self.folder.appendingPathComponent(name))))
                let path =
                    "/database/1/\(LiveServer.container)/development/\(exchange["database"]?.string ?? "")/\(exchange["operation"]?.string ?? "")"
                let request = try exchange["request"]?.bytes
                // With the headers of Tarn's client. `OtherClientTests` has the responses to other clients.
                let asked = [(HeaderNames.capabilities, Capability.headerValue(Capability.ofEachRequest))]
                let answer = try await server.send(
                    request == nil ? "GET" : "POST", path, token: token, body: request ?? [], headers: asked)
                #expect(exchange["status"] == .number(Double(answer.status)), "\(name)")
                let difference = Self.difference(try JSONValue(answer.body), exchange["answer"] ?? .null, at: name)
                #expect(difference == nil)
            }
        }
    }

    /// The path of the first value that differs from the recorded one; `*` stands for any text.
    private static func difference(_ value: JSONValue, _ wanted: JSONValue, at place: String) -> String? {
        switch (value, wanted) {
        case (.text, .text("*")): return nil
        case (.object(let members), .object(let others)):
            guard Set(members.keys) == Set(others.keys) else {
                return "\(place): has \(members.keys.sorted()), not \(others.keys.sorted())"
            }
            return members.keys.sorted().lazy.compactMap { key in
                difference(members[key] ?? .null, others[key] ?? .null, at: "\(place).\(key)")
            }.first
        case (.array(let items), .array(let others)):
            guard items.count == others.count else { return "\(place): has \(items.count) items" }
            return zip(items, others).enumerated().lazy.compactMap { index, pair in
                difference(pair.0, pair.1, at: "\(place)[\(index)]")
            }.first
        default: return value == wanted ? nil : "\(place): is \(value), not \(wanted)"
        }
    }
}
