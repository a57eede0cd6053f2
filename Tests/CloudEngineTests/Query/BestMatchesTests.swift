// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

@testable import CloudEngine

@Suite struct BestMatchesTests {
    /// Names of the first matches among 200 of rising positions, and the number of matches that were made.
    private static func best(count: Int, bytesMax: Int) -> (names: [String], madeCount: Int) {
        var best = BestMatches(QueryOrder(ascending: [true]), after: nil, count: count, bytesMax: bytesMax)
        var madeCount = 0
        let zone = StoredZone(key: 1, name: "Garden", change: 1)
        func make(_ name: String, at position: QueryPosition) -> QueryRun.Match {
            madeCount += 1
            return QueryRun.Match(position: position, record: Record(recordName: name, recordType: "Plant"), zone: zone, bytes: 10)
        }
        for number in 0..<200 {
            let name = "r\(number)"
            let position = QueryPosition(keys: [[UInt8(number)]], zone: 1, recordName: name)
            best.take(at: position, make(name, at: position))
        }
        return (best.page.matches.map(\.record.recordName), madeCount)
    }

    @Test func aMatchBehindEnoughOthersIsNotMade() {
        let found = Self.best(count: 2, bytesMax: 1_000_000)
        #expect(found.names == ["r0", "r1"])
        #expect(found.madeCount == 4 * 2 + 64)
    }

    @Test func aMatchBehindOthersWithEnoughBytesIsNotMade() {
        let found = Self.best(count: 100, bytesMax: 10)
        #expect(found.names == ["r0"])
        #expect(found.madeCount == 4)
    }
}
