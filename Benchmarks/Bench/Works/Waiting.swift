// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import AsyncHTTPClient
import CloudWire
import Foundation
import NIOCore
import NIOHTTP1

/// Y1 to Y3: a round trip, and how soon another device hears of a change and has it.
enum Waiting {
    static let roundTrip = "round trip"
    private static let count = 300

    static func works(_ stage: CloudStage) -> [Work] {
        [
            Work(id: "Y1", title: "one round trip", unit: .microseconds, entrants: [trips(stage)]),
            Work(
                id: "Y2", title: "a change wakes another device", unit: .microseconds,
                entrants: [wake(stage, fetches: false), trips(stage)]),
            Work(
                id: "Y3", title: "another device has fetched a change", unit: .microseconds,
                entrants: [wake(stage, fetches: true), trips(stage)]),
        ]
    }

    static func trips(_ stage: CloudStage) -> Entrant {
        Entrant(roundTrip) {
            let address = try stage.tarn().address + "/health"
            return Trial { Outcome(check: 1, samples: try blocking { try await trips(to: address) }) }
        }
    }

    private static func trips(to address: String) async throws -> [Duration] {
        let clock = ContinuousClock()
        var samples: [Duration] = []
        for _ in 0..<count {
            let start = clock.now
            let response = try await HTTPClient.shared.execute(HTTPClientRequest(url: address), timeout: .seconds(60))
            _ = try await response.body.collect(upTo: 1 << 20)
            samples.append(clock.now - start)
        }
        return samples
    }

    private static func wake(_ stage: CloudStage, fetches: Bool) -> Entrant {
        Entrant(Entrant.tarn) {
            let server = try stage.tarn("wake")
            let load = HTTPLoad(port: server.port, clients: 1)
            let subscription =
                #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"all","subscriptionType":"database"}}]}"#
            if !isSubscribed {
                _ = try load.run(1) { _ in server.post("subscriptions/modify", Array(subscription.utf8)) }
                isSubscribed = true
            }
            let first = stage.newRows(count + 1).lowerBound
            let (address, token, port) = (server.address, server.token, server.port)
            let creations = (0...count).map { server.modify(first + $0..<first + $0 + 1) }
            let since = try server.newestToken(load)
            let changes = server.changes(after: since)
            return Trial {
                let samples = try blocking {
                    try await wake(address, token, port, creations, fetching: fetches ? changes : nil)
                }
                return Outcome(check: 1, samples: samples)
            }
        }
    }

    nonisolated(unsafe) private static var isSubscribed = false

    /// Another device of the same user holds the stream; this one posts.
    private static func wake(
        _ address: String, _ token: String, _ port: Int, _ creations: [[UInt8]], fetching changes: [UInt8]?
    ) async throws -> [Duration] {
        var request = HTTPClientRequest(url: address + "/device/1/\(TarnServer.container)/development/push/stream")
        request.headers = ["Authorization": "Bearer \(token)", HeaderNames.device: "listener", HeaderNames.capabilities: "push-stream"]
        let stream = try await HTTPClient.shared.execute(request, timeout: .hours(1))
        var events = stream.body.makeAsyncIterator()
        let load = HTTPLoad(port: port, clients: 1)
        let clock = ContinuousClock()
        var samples: [Duration] = []
        for creation in creations {
            let start = clock.now
            _ = try load.run(1) { _ in creation }
            // The stream begins with earlier notifications; lines without a notification are heartbeats.
            while let chunk = try await events.next(), !chunk.readableBytesView.contains(UInt8(ascii: "{")) {}
            if let changes { _ = try load.run(1) { _ in changes } }
            samples.append(clock.now - start)
        }
        return Array(samples.dropFirst())
    }
}
