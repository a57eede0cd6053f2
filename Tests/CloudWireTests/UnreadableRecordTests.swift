// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

@Suite struct UnreadableRecordTests {
    private static let unknown = #"{"fields":{"a":{"value":"x","type":"STRING"},"tint":{"value":[1],"type":"COLOR"}},"recordName":"b"}"#
    private static let readable = #"{"recordName":"a","recordType":"Plant","fields":{"t":{"type":"TIMESTAMP","value":1.5}}}"#

    private func reasons(_ results: [RecordResult]) -> [String] {
        results.map { result in
            switch result {
            case .record(let record): record.recordName
            case .failure(let name, let error, _): "\(name): \(error.reason)"
            }
        }
    }

    @Test func anErrorStandsForARecordThatCannotBeDecoded() throws {
        let json = Array(#"{"records": [\#(Self.readable), \#(Self.unknown) , 7, \#(Self.readable)],"continuationMarker":"m"}"#.utf8)
        #expect(throws: WireError.self) { try QueryRecordsResponse(response: json) }
        let response = try QueryRecordsResponse(response: try #require(UnreadableRecords.replaced(in: json)))
        #expect(
            reasons(response.results) == [
                "a", "b: the field tint of type COLOR cannot be decoded (the type of the field is unknown)",
                ": the record cannot be decoded (expected an object)", "a",
            ])
        #expect(response.continuationMarker == "m")
    }

    /// A change feed has errors of records as records without a type.
    @Test func aPageOfAZoneHasItsOtherRecords() throws {
        let zone = #"{"zoneID":{"zoneName":"Garden"},"syncToken":"s","moreComing":true,"records":[\#(Self.unknown),\#(Self.readable)]}"#
        let body = try #require(UnreadableRecords.replaced(in: Array(#"{"zones":[\#(zone)]}"#.utf8)))
        let response = try ZoneChangesResponse(response: body)
        guard case .changes(let changes)? = response.zones.first else {
            Issue.record("\(response)")
            return
        }
        #expect(changes.records.map(\.recordName) == ["b", "a"])
        #expect(changes.records.map(\.recordType) == ["", "Plant"])
        #expect(changes.syncToken == "s")
    }

    @Test(arguments: [#"{"records":[]}"#, #"{"records":[\#(readable)]}"#, #"{"records":[{"fields":{]}"#, "", "[]", #"{"records":7}"#])
    func otherResponsesAreLeftAsTheyAre(_ json: String) {
        #expect(UnreadableRecords.replaced(in: Array(json.utf8)) == nil)
    }

    /// A server rejects a fraction that a client rounds.
    @Test func onlyResponsesHaveTimesWithFractions() throws {
        for (number, milliseconds) in [("1.5", 2), ("-1.4", -1), ("\"7.25\"", 7), ("3", 3)] as [(String, Int64)] {
            let json = Array(#"{"recordName":"a","fields":{"t":{"type":"TIMESTAMP","value":\#(number)}}}"#.utf8)
            #expect(try Record(response: json).fields["t"]?.value == .timestamp(milliseconds))
            #expect(((try? Record(json: json)) == nil) == (number != "3"))
        }
    }
}
