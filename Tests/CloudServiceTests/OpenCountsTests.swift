// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Testing

@testable import CloudService

@Suite struct OpenCountsTests {
    @Test func aHolderHasAsManyPlacesAsItMay() throws {
        let counts = OpenCounts(atMost: 2)
        let first = try #require(counts.place(for: "192.0.2.7")), second = try #require(counts.place(for: "192.0.2.7"))
        #expect(counts.place(for: "192.0.2.7") == nil)
        #expect(counts.place(for: "192.0.2.8") != nil)
        first.end()
        first.end()
        #expect(counts.place(for: "192.0.2.7") != nil)
        second.end()
        #expect(counts.count == 0)
    }

    @Test func zeroIsNoLimit() {
        let counts = OpenCounts(atMost: 0)
        let places = (0..<1000).compactMap { _ in counts.place(for: "") }
        #expect(places.count == 1000)
    }
}
