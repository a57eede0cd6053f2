// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel
import Testing

@Suite struct SHA256Tests {
    private static func text(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    /// Source: NIST, *Secure Hash Standard examples*.
    @Test(arguments: [
        ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
        ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
        (
            "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
        ),
    ])
    func hashesAreThoseOfTheStandard(_ text: String, _ hash: String) {
        #expect(Self.text(SHA256.hash(Array(text.utf8))) == hash)
    }

    /// The hash over the hashes of 0 to 139 bytes: each number of bytes in the last block. Python's `hashlib` has the same.
    @Test func theLastBlockMayHaveAnyLength() {
        var hashes: [UInt8] = []
        for count in 0..<140 { hashes += SHA256.hash((0..<count).map { UInt8($0) }) }
        #expect(Self.text(SHA256.hash(hashes)) == "b5e2091686809060fa0db52805c6a3946e7448fedff09fe19d81335b2d6cbb15")
    }
}
