// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import MirroringCore
import Testing

/// How far a database was read that has no feed.
@Suite struct QueryPositionTests {
    private func record(_ time: Int64) -> Record {
        var record = Record(recordName: "r\(time)")
        record.modified = RecordStamp(timestamp: time, userRecordName: "u")
        return record
    }

    @Test func aQueryPassReadsTypesInOrderAndPageByPage() {
        let types = ["A", "B"]
        var position = QueryPosition()
        var request = position.request(of: types, limit: 2)
        #expect(request.query.recordType == "A")
        #expect(request.query.filters.isEmpty)
        #expect(request.continuationMarker == nil)
        #expect(request.resultsLimit == 2)
        #expect(request.query.sorts == [QuerySort(.system(.modifiedTimestamp))])
        var goesOn = position.advance("A", records: [record(50_000), record(60_000)], marker: "m a r k", types: types)
        #expect(goesOn)
        // It is kept as text after every page.
        position = QueryPosition(position.text)
        request = position.request(of: types, limit: 2)
        #expect(request.query.recordType == "A")
        #expect(request.continuationMarker == "m a r k")
        #expect(request.query.filters.isEmpty)
        goesOn = position.advance("A", records: [record(70_000)], marker: nil, types: types)
        #expect(goesOn)
        position = QueryPosition(position.text)
        #expect(position.request(of: types, limit: 2).query.recordType == "B")
        goesOn = position.advance("B", records: [], marker: nil, types: types)
        #expect(!goesOn)
        position = QueryPosition(position.text)
        // The next pass requests records modified since then, and shortly before.
        request = position.request(of: types, limit: 2)
        #expect(request.query.filters == [QueryFilter(.system(.modifiedTimestamp), .greaterThanOrEquals, .timestamp(40_000))])
        goesOn = position.advance("A", records: [], marker: nil, types: types)
        #expect(goesOn)
        #expect(position.request(of: types, limit: 2).query.filters.isEmpty)
    }

    @Test func aMalformedQueryPositionBeginsANewPass() {
        for text in ["", "x", "query 2\n\nA 7", "query 1", "query 1\nA x", "query 1\n\nA seven\nB"] {
            #expect(QueryPosition(text).request(of: ["A"], limit: 1).query.filters.isEmpty, "\(text)")
        }
        // A type that the model has lost, or that is read first now.
        let position = QueryPosition("query 1\nGone 5 mark\nA 40000")
        let request = position.request(of: ["A"], limit: 1)
        #expect(request.query.recordType == "A")
        #expect(request.continuationMarker == nil)
        #expect(request.query.filters.count == 1)
    }

    /// Positions that an earlier version stored, of records with impossible times.
    @Test(arguments: [Int64.min, .max]) func outOfRangeTimesAreClamped(_ time: Int64) throws {
        let position = QueryPosition("query 1\n\nCD_Post \(time)")
        let filter = try #require(position.request(of: ["CD_Post"], limit: 10).query.filters.first)
        #expect(
            filter
                == QueryFilter(.system(.modifiedTimestamp), .greaterThanOrEquals, .timestamp(UntrustedNumber.milliseconds(time) - 30_000)))
    }
}
