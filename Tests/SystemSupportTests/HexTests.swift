// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport
import Testing

@Suite struct HexTests {
    static let everyByte = (0...255).map { UInt8($0) }

    @Test func everyByteRoundTrips() {
        let lower = Hex.text(Self.everyByte)
        #expect(lower.hasPrefix("000102"))
        #expect(lower.hasSuffix("fdfeff"))
        #expect(Hex.bytes(lower) == Self.everyByte)
        #expect(Hex.text(Self.everyByte, .upper) == lower.uppercased())
        #expect(Hex.bytes(lower.uppercased(), .upper) == Self.everyByte)
        #expect(Hex.bytes(lower.uppercased(), nil) == Self.everyByte)
    }

    @Test func numbersHaveSixteenDigits() {
        #expect(Hex.text(0xab) == "00000000000000ab")
        #expect(Hex.text(UInt64.max, .upper) == "FFFFFFFFFFFFFFFF")
    }

    /// Tokens have one spelling: another one would be another key for the same bytes.
    @Test(arguments: ["0", "0g", "AB", "ab ", " ab", "0x", "é", "+1", "-1"])
    func otherSpellingsAreRejected(_ text: String) {
        #expect(Hex.bytes(text) == nil)
    }

    @Test func lowerCaseIsRejectedWhereUpperCaseIsRequired() {
        #expect(Hex.bytes("ab", .upper) == nil)
        #expect(Hex.bytes("12", .upper) == [0x12])
        #expect(Hex.bytes("") == [])
    }
}
