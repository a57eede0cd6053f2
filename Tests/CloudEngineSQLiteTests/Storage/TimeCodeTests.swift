// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudStorageSupport
import Testing

@Suite struct TimeCodeTests {
    /// Source: RFC 6238, appendix B, for SHA-1.
    @Test(
        arguments: [
            (59, "94287082"), (1_111_111_109, "07081804"), (1_111_111_111, "14050471"), (1_234_567_890, "89005924"),
            (2_000_000_000, "69279037"), (20_000_000_000, "65353130"),
        ] as [(Int64, String)])
    func vectorsOfTheStandard(_ seconds: Int64, _ code: String) {
        let secret = Array("12345678901234567890".utf8)
        let step = TimeCode.step(at: seconds * 1000)
        #expect(TimeCode.code(of: secret, step: step, digits: 8) == code)
        #expect(TimeCode.code(of: secret, step: step) == String(code.suffix(6)))
    }
}
