// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

/// Positions of pages that a server repeats.
@Suite struct PagePositionsTests {
    /// Follows positions from the beginning.
    ///
    /// - Returns: How many pages were read before the client stopped; nil if it read all of them.
    private func pagesRead(_ positions: some Sequence<String>) -> Int? {
        var series = PagePositions()
        var last: String?
        var count = 0
        for next in positions {
            guard series.advance(from: last, to: next) else { return count }
            last = next
            count += 1
        }
        return nil
    }

    @Test func differentPositionsAreRead() {
        #expect(pagesRead((0..<5000).map { "\($0)" }) == nil)
        #expect(pagesRead([String]()) == nil)
    }

    @Test func aPositionThatIsReturnedTwiceEndsTheSeries() {
        #expect(pagesRead(["a", "a"]) == 1)
        #expect(pagesRead(["a", "b", "b"]) == 2)
    }

    @Test(arguments: [1, 2, 3, 7, 100], [0, 1, 5, 64]) func aCycleEndsTheSeries(length: Int, pagesBefore: Int) throws {
        let positions = (0..<pagesBefore).map { "before \($0)" } + (0..<10_000).map { "\($0 % length)" }
        let count = try #require(pagesRead(positions))
        #expect(count >= length)
        #expect(count <= 4 * (length + pagesBefore + 1))
    }

    /// A client reads the pages again after it dropped them.
    @Test func aNewSeriesMayHaveTheSamePositions() {
        var series = PagePositions()
        for _ in 0..<20 {
            let isFirstNew = series.advance(from: nil, to: "a")
            let isSecondNew = series.advance(from: "a", to: "b")
            #expect(isFirstNew)
            #expect(isSecondNew)
        }
    }
}
