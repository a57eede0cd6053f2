// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

@Suite struct FieldValueSizeTests {
    /// A list of a million numbers takes as many times its size.
    @Test func aValueTakes24Bytes() { #expect(MemoryLayout<FieldValue>.stride == 24) }
}
