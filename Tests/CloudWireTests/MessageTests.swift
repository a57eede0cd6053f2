// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

@Suite struct MessageTests {
    static let goldens = recordGoldens + feedGoldens + otherGoldens + queryGoldens + peopleGoldens

    @Test(arguments: goldens)
    func aMessageHasItsGoldenBytes(_ golden: Golden) throws {
        #expect(text(golden.encoded()) == golden.json)
        #expect(try golden.isReadBack(Array(golden.json.utf8)))
    }

    @Test(arguments: goldens)
    func aMessageTruncatedAtAnyByteIsRejected(_ golden: Golden) {
        let bytes = Array(golden.json.utf8)
        let accepted = bytes.indices.filter { (try? golden.isReadBack(Array(bytes[..<$0]))) != nil }
        #expect(accepted.isEmpty)
    }

    @Test(arguments: goldens)
    func aMessageWithAnyByteReplacedIsReadOrRefusedAndNeverTraps(_ golden: Golden) {
        let bytes = Array(golden.json.utf8)
        var refused = 0
        for position in bytes.indices {
            for other in [UInt8(0), 0x22, 0x2C, 0x5B, 0x5C, 0x7B, 0x7D, 0x80, 0xC0, 0xF4, 0x39] {
                var changed = bytes
                changed[position] = other
                if (try? golden.isReadBack(changed)) == nil { refused += 1 }
            }
        }
        #expect(refused > bytes.count / 2)
    }

    @Test(arguments: [("NONE", RecordReference.Action.none), ("DELETE_SELF", .deleteSelf), ("VALIDATE", .validate)])
    func actionsOfReferencesHaveTheirDocumentedNames(_ name: String, _ action: RecordReference.Action) throws {
        let record: Record = try decode(
            #"{"recordName":"p","fields":{"bed":{"type":"REFERENCE","value":{"recordName":"b","action":"\#(name)"}}}}"#)
        #expect(record.fields == ["bed": Field(.reference(RecordReference(recordName: "b", action: action)))])
    }

    @Test func namesHaveAPhoneticRepresentation() throws {
        let identity: UserIdentity = try decode(
            #"{"userRecordName":"_a","nameComponents":{"givenName":"Siân","phoneticRepresentation":{"givenName":"Sharn"}}}"#)
        #expect(identity.name.givenName == "Siân")
        #expect(identity.name.phoneticRepresentation?.givenName == "Sharn")
    }

    /// Clients add up the sizes of a record's assets, of which each takes more than eight bytes of a message.
    @Test func sizesOfAllAssetsOfAMessageAddUpWithoutOverflow() throws {
        func asset(_ size: Int64) -> [UInt8] { Array(#"{"size":\#(size),"fileChecksum":""}"#.utf8) }
        let most = UntrustedNumber.assetBytesMax
        #expect(try AssetValue(json: asset(most)).size == most)
        #expect(throws: WireError.self) { try AssetValue(json: asset(most + 1)) }
        #expect(!most.multipliedReportingOverflow(by: Int64(Limits.messageBytes / 8)).overflow)
    }

    /// A server hides record names of participants from each other.
    @Test(arguments: [
        UserIdentity(userRecordName: ""), UserIdentity(userRecordName: "", name: NameComponents(givenName: "Mia")),
        UserIdentity(userRecordName: "", lookupInfo: .emailAddress("a@example.org")),
    ])
    func anIdentityWithoutARecordNameIsReadAsItWasWritten(_ identity: UserIdentity) throws {
        #expect(try UserIdentity(json: identity.encoded()) == identity)
        let participant = ShareParticipant(identity: identity, kind: .user, permission: .readOnly)
        #expect(try ShareParticipant(json: participant.encoded()) == participant)
    }

    @Test func unknownKeysAndNullsAreSkipped() throws {
        let record: Record = try decode(
            #" { "recordName" : "p" , "pluginFields":{"a":[1,{"b":null}]}, "recordChangeTag":null,"share":null,"#
                + #""parent":{"recordName":"q"}, "fields":{"f":null,"g":{"value":null,"type":"STRING"}}, "deleted":false}"#)
        var expected = Record(recordName: "p", fields: ["f": Field(nil), "g": Field(nil)])
        expected.sharing.parent = "q"
        #expect(record == expected)
    }

    @Test func aValueBeforeItsTypeIsReadByTheType() throws {
        let record: Record = try decode(
            #"{"recordName":"p","fields":{"a":{"value":3,"type":"DOUBLE"},"b":{"value":"AQ==","type":"BYTES"},"#
                + #""c":{"value":[1,2],"type":"TIMESTAMP_LIST"},"d":{"value":"9007199254740993","type":"INT64"},"#
                + #""e":{"value":{"fileChecksum":"x","size":0},"type":"ASSET"},"f":{"value":true,"type":"INT64"}}}"#)
        #expect(
            record.fields == [
                "a": Field(.double(3)), "b": Field(.bytes([1])), "d": Field(.int64(9_007_199_254_740_993)),
                "c": Field(.list([.timestamp(1), .timestamp(2)], of: .timestamp)),
                "e": Field(.asset(AssetValue(fileChecksum: "x", size: 0))), "f": Field(.int64(1)),
            ])
    }

    @Test func aValueWithoutTypeIsReadByItsJSONType() throws {
        let record: Record = try decode(
            #"{"recordName":"p","fields":{"a":{"value":"x"},"b":{"value":3},"c":{"value":3.5},"d":{"value":true},"#
                + #""e":{"value":[]},"f":{"value":[1,2.5]},"g":{"value":{"zoneID":{"zoneName":"Z"},"recordName":"r"}},"#
                + #""h":{"value":{"latitude":1,"longitude":2}},"i":{"type":"UNKNOWN_LIST","value":["s"]}}}"#)
        #expect(
            record.fields == [
                "a": Field(.string("x")), "b": Field(.int64(3)), "c": Field(.double(3.5)), "d": Field(.int64(1)),
                "e": Field(.list([], of: nil)), "f": Field(.list([.double(1), .double(2.5)], of: .double)),
                "g": Field(.reference(RecordReference(recordName: "r", zoneID: ZoneID(zoneName: "Z")))),
                "h": Field(.location(RecordLocation(latitude: 1, longitude: 2))),
                "i": Field(.list([.string("s")], of: .string)),
            ])
    }

    @Test func aRequestsDefaultsApplyToEachZone() throws {
        let request: ZoneChangesRequest = try decode(
            #"{"desiredKeys":["a"],"zones":[{"zoneID":{"zoneName":"G"}},{"zoneID":{"zoneName":"H"},"desiredKeys":[]}],"#
                + #""desiredRecordTypes":["T"]}"#)
        #expect(request.zones.map(\.desiredKeys) == [["a"], []])
        #expect(request.zones.map(\.desiredRecordTypes) == [["T"], ["T"]])
    }

    @Test func theCallerIsReadFromAListToo() throws {
        let user: UserIdentity = try decode(#"{"users":[{"userRecordName":"_a","lookupInfo":{}}]}"#)
        #expect(user == UserIdentity(userRecordName: "_a"))
    }

    @Test func aQueryMayHaveOneFilterWithoutAList() throws {
        let query: Query = try decode(
            #"{"recordType":"T","filterBy":{"fieldName":"f","comparator":"EQUALS","fieldValue":{"value":1}}}"#)
        #expect(query.filters == [QueryFilter(.field("f"), .equals, .int64(1))])
    }

    @Test func anUnknownErrorCodeIsAServerError() throws {
        let error: WireError = try decode(#"{"serverErrorCode":"NEW_ONE","reason":"who knows","nativeErrorCode":99}"#)
        #expect(error == WireError(.internalError, "NEW_ONE: who knows"))
    }

    @Test func missingAndInvalidKeysAreNamedWithTheirPath() {
        #expect(refusal("{}", as: ModifyRecordsRequest.self) == "the request has no operations, at byte 0")
        #expect(
            refusal(#"{"operations":[{"operationType":"create","record":{}},{"record":{}}]}"#, as: ModifyRecordsRequest.self)
                == "the operation has no operationType, at operations[1] (byte 54)")
        #expect(
            refusal(
                #"{"operations":[{"operationType":"create","record":{"fields":{"f":{"type":"BYTES","value":"§"}}}}]}"#,
                as: ModifyRecordsRequest.self)
                == "Invalid value, expected type BYTES, at operations[0].record.fields.f.value (byte 89)")
        #expect(
            refusal(#"{"recordName":"p","fields":{"f":{"type":"COLOUR","value":"red"}}}"#, as: Record.self)
                == "the type of the field is unknown, at fields.f.type (byte 40)")
        #expect(
            refusal(#"{"recordName":"p","fields":{"f":{"value":[1,"a"]}}}"#, as: Record.self)
                == "a list holds values of different types, at fields.f.value (byte 41)")
    }

    /// A client requests the next page while it decodes the records of one.
    @Test(arguments: [
        (#"{"zoneID":{"zoneName":"home"},"syncToken":"a7","moreComing":true,"records":[]}"#, "a7"),
        (#"{"records":[{"recordName":"}]","fields":{}}],"moreComing":true,"zoneID":{"zoneName":"home"},"syncToken":"a7"}"#, "a7"),
        (#"{"zoneID":{"zoneName":"home"},"syncToken":"a7","moreComing":true,"records":[{"#, "a7"),
        (#"{"zoneID":{"zoneName":"home"},"syncToken":"a7","moreComing":false,"records":[]}"#, nil),
        (#"{"zoneID":{"zoneName":"home"},"syncToken":"a7","records":[]}"#, nil),
        (#"{"zoneID":{"zoneName":"home"},"moreComing":true,"records":[]}"#, nil),
        (#"{"syncToken":7,"moreComing":true}"#, nil),
        (#"[{"syncToken":"a7","moreComing":true}]"#, nil),
        ("", nil),
    ])
    func theTokenBehindAPageIsReadBeforeItsRecords(text: String, token: String?) {
        #expect(ZoneChangesResult.tokenIfMoreComing(json: Array(text.utf8)) == token)
    }

    @Test(arguments: [
        (
            #"{"zoneID":{"zoneName":"home"},"syncToken":"a7","moreComing":true,"records":[]}"#,
            ("a7", 0, false)
        ),
        (
            #"{"records":[{"recordName":"}]"},{"list":[1,[2]]}],"moreComing":true,"syncToken":"a7"}"#,
            ("a7", 2, false)
        ),
        (
            #"{"records":[{"fields":{"CD_data":{"type":"ASSETID_LIST"}}}],"moreComing":true,"syncToken":"a7"}"#,
            ("a7", 1, true)
        ),
        (#"{"syncToken":"a7","moreComing":false,"records":[]}"#, nil),
        (#"{"moreComing":true,"records":[]}"#, nil),
        (#"{"syncToken":"a7","moreComing":true,"records":{}}"#, nil),
        (#"{"syncToken":"a7","moreComing":true,"records":[{]}"#, nil),
        (#"{"syncToken":"a7","moreComing":true,"records":[]}}"#, nil),
        (#"{"syncToken":"a7","moreComing":true,"records":["#, nil),
        ("", nil),
    ])
    func theOutlineOfAPageIsReadWithoutItsRecords(text: String, expected: (token: String, count: Int, hasAssets: Bool)?) {
        let outline = ZoneChangesResult.outlineIfMoreComing(json: Array(text.utf8))
        #expect(outline?.syncToken == expected?.token)
        #expect(outline?.recordCount == expected?.count)
        #expect(outline?.hasAssets == expected?.hasAssets)
    }
}
