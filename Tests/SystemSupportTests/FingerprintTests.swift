// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport
import Testing

@Suite struct FingerprintTests {
    /// Source: the test vectors of the FNV draft.
    @Test(
        arguments: [
            ("", 0xcbf2_9ce4_8422_2325, "6c62272e07bb014262b821756295c58d"),
            ("a", 0xaf63_dc4c_8601_ec8c, "d228cb696f1a8caf78912b704e4a8964"),
            ("foobar", 0x8594_4171_f739_67e8, "343e1662793c64bf6f0d3597ba446f18"),
            ("chongo was here!\n", 0x4681_0940_eff5_f915, "d09f538fec03781a034e1e32bab19a75"),
        ] as [(String, UInt64, String)])
    func hashesAreThoseOfTheDraft(_ text: String, _ narrow: UInt64, _ wide: String) {
        #expect(Fingerprint(text.utf8).value == narrow)
        var fingerprint = WideFingerprint()
        Array(text.utf8).withUnsafeBytes { fingerprint.combine($0) }
        #expect(String(fingerprint.value, radix: 16) == wide)
    }

    @Test func piecesCombineToTheHashOfTheWhole() {
        var fingerprint = Fingerprint("foo".utf8)
        fingerprint.combine("bar".utf8)
        #expect(fingerprint == Fingerprint("foobar".utf8))
    }

    /// Stored documents and devices of other versions depend on it.
    @Test func numbersCombineInOneStep() {
        var fingerprint = Fingerprint()
        fingerprint.combine(number: 1)
        fingerprint.combine(number: UInt64.max)
        let first = (0xcbf2_9ce4_8422_2325 ^ 1 as UInt64) &* 0x0000_0100_0000_01b3
        let second = ((first ^ first >> 29) ^ UInt64.max) &* 0x0000_0100_0000_01b3
        #expect(fingerprint.value == second ^ second >> 29)
    }
}
