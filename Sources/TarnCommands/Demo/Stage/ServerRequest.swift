// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// A request in the server's log.
struct ServerRequest: Codable, Equatable, Sendable {
    var identifier: String
    var endpoint: String
    var status: Int
    /// Between the request's head and its response, by the server's clock.
    var milliseconds: Double
    /// When the response was made: milliseconds since 1970.
    var time: Double
    /// The device that sent it, once the device has reported the response.
    var device: DemoCast.Device?

    var span: Journey.Span { Journey.Span(began: time - milliseconds, ended: time) }
}

/// Cuts the server's log into lines, and keeps those about requests.
struct ServerLogReader {
    /// As ``JSONLogHandler`` writes it: every value is a text.
    private struct Line: Decodable {
        var time: String
        var message: String
        var request: String?
        var endpoint: String?
        var status: String?
        var milliseconds: String?
    }

    private var partialLine: [UInt8] = []

    mutating func requests(in bytes: Data) -> [ServerRequest] {
        partialLine += bytes
        guard let end = partialLine.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        let lines = partialLine[..<end].split(separator: UInt8(ascii: "\n"))
        let requests = lines.compactMap { Self.request(in: Data($0)) }
        partialLine.removeSubrange(...end)
        return requests
    }

    private static func request(in line: Data) -> ServerRequest? {
        guard let line = try? JSONDecoder().decode(Line.self, from: line), let identifier = line.request, let endpoint = line.endpoint,
            let status = line.status.flatMap({ Int($0) }), let milliseconds = line.milliseconds.flatMap({ Double($0) }),
            let time = try? Date.ISO8601FormatStyle(includingFractionalSeconds: true).parse(line.time)
        else { return nil }
        return ServerRequest(
            identifier: identifier, endpoint: endpoint, status: status, milliseconds: milliseconds, time: time.timeIntervalSince1970 * 1000)
    }
}
