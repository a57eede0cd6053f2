// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

/// Frames of the push stream that a malicious server or a bad network sends, in pieces of any size.
@Suite struct PushLinesFuzzTests {
    /// Splits seeded changes of a stream into pieces.
    private struct Numbers: RandomNumberGenerator {
        var state: UInt64

        mutating func next() -> UInt64 {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return state ^ state >> 33
        }
    }

    private static let stream: [UInt8] = {
        let notification = PushNotification(
            notificationID: "n-1", containerIdentifier: "iCloud.org.example.notes", subscriptionID: "all", subject: .database(.private))
        let line = notification.encoded() + [UInt8(ascii: "\n")]
        return line + Array("\n\r\n".utf8) + line + line
    }()

    /// - Returns: The events up to the first failure, and whether there was one.
    private static func events(_ pieces: [[UInt8]]) -> (events: [PushStreamEvent], hasFailed: Bool) {
        var lines = PushLines(), events: [PushStreamEvent] = []
        for piece in pieces {
            guard let received = try? lines.receive(piece) else { return (events, true) }
            events += received
        }
        return (events, false)
    }

    @Test(arguments: [UInt64(1), 2, 3]) func piecesDoNotChangeTheEvents(_ seed: UInt64) {
        var random = Numbers(state: seed)
        for round in 0..<1000 {
            var bytes = Self.stream
            for _ in 0..<(round == 0 ? 0 : Int.random(in: 0..<3, using: &random)) {
                let place = Int.random(in: 0..<bytes.count, using: &random)
                switch Int.random(in: 0..<3, using: &random) {
                case 0: bytes[place] = UInt8.random(in: 0...255, using: &random)
                case 1: bytes.remove(at: place)
                default: bytes.insert(contentsOf: bytes[place...].prefix(7), at: place)
                }
            }
            var pieces: [[UInt8]] = [], start = 0
            while start < bytes.count {
                let end = min(bytes.count, start + Int.random(in: 1...40, using: &random))
                pieces.append(Array(bytes[start..<end]))
                start = end
            }
            let whole = Self.events([bytes]), cut = Self.events(pieces)
            #expect(whole.hasFailed == cut.hasFailed, "seed \(seed), round \(round)")
            // A failure in one piece hides the events before it.
            if !whole.hasFailed { #expect(whole.events == cut.events, "seed \(seed), round \(round)") }
            if round == 0 { #expect(whole.events.count == 5) }
        }
    }

    @Test func endlessLineIsRefused() {
        let pieces = Array(repeating: [UInt8](repeating: UInt8(ascii: "x"), count: 1000), count: 100)
        #expect(Self.events(pieces).hasFailed)
    }
}
