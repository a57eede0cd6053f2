// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

@Suite struct QueryTests {
    @Test func aQueryReturnsItsResultsInPages() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            for name in ["c", "a", "b"] {
                let record = Record(
                    recordName: name, recordType: "Plant", fields: ["name": Field(.string(name)), "count": Field(.int64(7))])
                #expect(try await server.modify(.init(.create, record), token: token).status == 200)
            }
            let filter = QueryFilter(.field("count"), .equals, .int64(7))
            var request = QueryRecordsRequest(
                query: Query(recordType: "Plant", filters: [filter], sorts: [QuerySort(.field("name"))]),
                zoneID: LiveServer.garden, resultsLimit: 2, desiredKeys: ["count"], numbersAsStrings: true)
            let first = try await server.post(.queryRecords, request, token: token)
            let page = try QueryRecordsResponse(json: first.body)
            #expect(page.results.map(\.recordName) == ["a", "b"])
            #expect(first.text.contains(#""fields":{"count":{"type":"INT64","value":"7"}}"#))
            request.continuationMarker = page.continuationMarker
            let last = try QueryRecordsResponse(json: try await server.post(.queryRecords, request, token: token).body)
            #expect(last.results.map(\.recordName) == ["c"])
            #expect(last.continuationMarker == nil)
        }
    }

    @Test(arguments: [(91.0, 11.0), (48.0, -180.5)])
    func sortingByAnImpossibleLocationIsRejected(_ latitude: Double, _ longitude: Double) async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            let record = Record(
                recordName: "a", recordType: "Plant",
                fields: ["n": Field(.int64(1)), "spot": Field(.location(RecordLocation(latitude: 1, longitude: 1)))])
            _ = try await server.modify(.init(.create, record), token: token)
            let body =
                #"{"zoneID":{"zoneName":"Garden"},"query":{"recordType":"Plant","filterBy":[{"fieldName":"n","comparator":"EQUALS","fieldValue":{"value":1}}],"#
                + #""sortBy":[{"fieldName":"spot","relativeLocation":{"type":"LOCATION","value":{"latitude":\#(latitude),"longitude":\#(longitude)}}}]}}"#
            let answer = try await server.send("POST", "\(LiveServer.database)/records/query", token: token, body: Array(body.utf8))
            #expect(answer.status == 400, "\(answer.text)")
            #expect(answer.error?.reason.contains("latitude from -90 to 90") == true, "\(answer.text)")
        }
    }

    @Test func aQueryErrorNamesTheFieldWithoutIndex() async throws {
        try await LiveServer.run { server in
            let token = try await server.addUser("mia")
            try await server.makeGarden(token: token)
            _ = try await server.modify(.init(.create, Record(recordName: "a", recordType: "Plant")), token: token)
            let request = QueryRecordsRequest(query: Query(recordType: "Plant"), zoneID: LiveServer.garden)
            let answer = try await server.post(.queryRecords, request, token: token)
            #expect(answer.status == 400)
            #expect(answer.error?.reason == "Field 'recordName' is not marked queryable")
        }
    }
}
