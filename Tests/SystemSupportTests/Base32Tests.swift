// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport
import Testing

@Suite struct Base32Tests {
    /// Source: RFC 4648, section 10, without the padding.
    @Test(arguments: [
        ("", ""), ("f", "MY"), ("fo", "MZXQ"), ("foo", "MZXW6"), ("foob", "MZXW6YQ"), ("fooba", "MZXW6YTB"), ("foobar", "MZXW6YTBOI"),
    ])
    func vectorsOfTheStandard(_ plain: String, _ encoded: String) {
        #expect(Base32.text(plain.utf8) == encoded)
    }

    @Test func highBitsAreKept() { #expect(Base32.text([255, 255, 255, 255, 255]) == "77777777") }
}
