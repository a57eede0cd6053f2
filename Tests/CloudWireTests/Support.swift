// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

/// Repeatable random numbers.
///
/// Source: G. Steele, D. Lea, C. Flood, "Fast Splittable Pseudorandom Number Generators", 2014 (SplitMix64).
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ mixed >> 30) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ mixed >> 27) &* 0x94D0_49BB_1331_11EB
        return mixed ^ mixed >> 31
    }
}

func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }

func decode<Message: WireMessage>(_ json: String, as type: Message.Type = Message.self) throws(WireError) -> Message {
    try Message(json: Array(json.utf8))
}

/// The reason why a text is refused, or nil if it is read.
func refusal<Message: WireMessage>(_ json: String, as type: Message.Type) -> String? {
    do {
        _ = try Message(json: Array(json.utf8))
        return nil
    } catch {
        return error.code == .badRequest ? error.reason : "wrong code \(error.code)"
    }
}

/// A message next to the bytes it must have.
struct Golden: Sendable, CustomTestStringConvertible {
    let name: String
    let json: String
    let encoded: @Sendable () -> [UInt8]
    /// Whether these bytes are read as the message.
    let isReadBack: @Sendable ([UInt8]) throws -> Bool

    init<Message: WireMessage>(_ message: Message, _ json: String) {
        self.name = "\(Message.self)"
        self.json = json
        encoded = { message.encoded() }
        isReadBack = { try Message(json: $0) == message }
    }

    var testDescription: String { name }
}
