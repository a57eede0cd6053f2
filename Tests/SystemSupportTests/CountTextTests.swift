// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport
import Testing

@Suite struct CountTextTests {
    @Test(arguments: [(0, "0 records"), (1, "1 record"), (2, "2 records"), (-1, "-1 records")])
    func nounsHaveTheFormOfTheirCounts(_ count: Int, _ text: String) {
        #expect(CountText.text(count, "record") == text)
        #expect(CountText.text(Int64(count), "record") == text)
    }
}
