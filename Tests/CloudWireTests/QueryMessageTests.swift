// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

let queryGoldens: [Golden] = [
    Golden(
        QueryRecordsRequest(
            query: Query(
                recordType: "Plant",
                filters: [
                    QueryFilter(.field("count"), .isIn, .list([.int64(1), .int64(2)], of: .int64)),
                    QueryFilter(.system(.recordName), .notEquals, .string("p1")),
                    QueryFilter(.allSearchable, .containsAllTokens, .string("sun")),
                ],
                sorts: [QuerySort(.field("spot"), relativeLocation: RecordLocation(latitude: 1, longitude: 2))]),
            zoneID: ZoneID(zoneName: "Garden"), resultsLimit: 5, continuationMarker: "Aa==", desiredKeys: ["count"],
            numbersAsStrings: true),
        #"{"zoneID":{"zoneName":"Garden"},"resultsLimit":5,"continuationMarker":"Aa==","desiredKeys":["count"],"#
            + #""numbersAsStrings":true,"query":{"recordType":"Plant","filterBy":[{"fieldName":"count","comparator":"IN","#
            + #""fieldValue":{"type":"INT64_LIST","value":[1,2]}},{"systemFieldName":"recordName","comparator":"NOT_EQUALS","#
            + #""fieldValue":{"type":"STRING","value":"p1"}},{"comparator":"CONTAINS_ALL_TOKENS","#
            + #""fieldValue":{"type":"STRING","value":"sun"}}],"sortBy":[{"fieldName":"spot","ascending":true,"#
            + #""relativeLocation":{"type":"LOCATION","value":{"latitude":1.0,"longitude":2.0}}}]}}"#),
    Golden(
        QueryRecordsRequest(query: Query(recordType: "Plant"), zoneWide: true),
        #"{"zoneWide":true,"query":{"recordType":"Plant"}}"#),
    Golden(
        QueryRecordsResponse(results: [.record(Record(recordName: "p1", recordType: "Plant"))], continuationMarker: "Aa=="),
        #"{"records":[{"recordName":"p1","recordType":"Plant","fields":{}}],"continuationMarker":"Aa=="}"#),
    Golden(QueryRecordsResponse(results: []), #"{"records":[]}"#),
]

@Suite struct QueryMessageTests {
    /// What clients send differently and mean alike.
    @Test(arguments: [
        #"{"query":{"recordType":"P","filterBy":{"fieldName":"___modTime","comparator":"LIST_NOT_CONTAINS","fieldValue":{"value":4}}}}"#,
        #"{"zoneWide":0,"query":{"recordType":"P","sortBy":null,"filterBy":[{"systemFieldName":"modifiedTimestamp","#
            + #""comparator":"NOT_LIST_CONTAINS","fieldValue":{"value":"4","type":"INT64"}}]},"zoneID":null,"extra":{}}"#,
    ])
    func spellingsAreReadAlike(_ text: String) throws {
        let request = try QueryRecordsRequest(json: Array(text.utf8))
        let filter = QueryFilter(.system(.modifiedTimestamp), .notListContains, .int64(4))
        #expect(request == QueryRecordsRequest(query: Query(recordType: "P", filters: [filter])))
    }

    @Test func aBareLocationIsReadToo() throws {
        let text = #"{"recordType":"P","sortBy":{"fieldName":"spot","relativeLocation":{"longitude":2,"latitude":1}}}"#
        #expect(try Query(json: Array(text.utf8)).sorts[0].relativeLocation == RecordLocation(latitude: 1, longitude: 2))
    }

    @Test(arguments: [
        #"{}"#, #"{"query":7}"#, #"{"query":{}}"#, #"{"query":{"recordType":"P","filterBy":[{"comparator":"EQUALS"}]}}"#,
        #"{"query":{"recordType":"P","filterBy":[{"fieldName":"a","comparator":"LIKE"}]}}"#,
        #"{"query":{"recordType":"P","sortBy":[{}]}}"#, #"{"query":{"recordType":"P"},"resultsLimit":"many"}"#,
    ])
    func anInvalidQueryIsRejected(_ text: String) {
        let error = #expect(throws: WireError.self) { try QueryRecordsRequest(json: Array(text.utf8)) }
        #expect(error?.code == .badRequest)
    }

    @Test func numbersAreWrittenAsStringsWhenAsked() throws {
        let fields: [String: Field] = [
            "a": Field(.int64(.max)), "b": Field(.double(0.5)), "c": Field(.timestamp(7)), "d": Field(.list([.int64(1)], of: .int64)),
        ]
        let response = QueryRecordsResponse(results: [.record(Record(recordName: "p", fields: fields))])
        let text = String(decoding: response.encoded(numbersAsStrings: true), as: UTF8.self)
        #expect(
            text == #"{"records":[{"recordName":"p","fields":{"a":{"type":"INT64","value":"9223372036854775807"},"#
                + #""b":{"type":"DOUBLE","value":"0.5"},"c":{"type":"TIMESTAMP","value":"7"},"#
                + #""d":{"type":"INT64_LIST","value":["1"]}}}]}"#)
        #expect(try QueryRecordsResponse(json: Array(text.utf8)) == response)
    }
}
