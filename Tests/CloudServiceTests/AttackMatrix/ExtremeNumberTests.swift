// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire
import Testing

/// Numbers at the ends of their types in every place of a request that has a number: none ends the process, and none is an
/// error of the server.
@Suite struct ExtremeNumberTests {
    /// `@` is a number.
    static let bodies: [(operation: ServicePath.Operation, body: String)] = [
        (
            .modifyRecords,
            #"{"zoneID":{"zoneName":"Zone-unshared"},"saveGroup":{"id":"g","part":@,"parts":@},"operations":[]}"#
        ),
        (
            .modifyRecords,
            #"{"zoneID":{"zoneName":"Zone-unshared"},"operations":[{"operationType":"forceUpdate","record":{"recordName":"n","recordType":"Numbers","#
                + #""fields":{"i":{"type":"INT64","value":@},"d":{"type":"DOUBLE","value":@},"t":{"type":"TIMESTAMP","value":@},"#
                + #""is":{"type":"INT64_LIST","value":[@]},"ts":{"type":"TIMESTAMP_LIST","value":[@]},"#
                + #""p":{"type":"LOCATION","value":{"latitude":@,"longitude":@,"altitude":@,"horizontalAccuracy":@,"timestamp":@}}}}}]}"#
        ),
        (
            .modifyRecords,
            #"{"zoneID":{"zoneName":"Zone-unshared"},"operations":[{"operationType":"forceUpdate","record":{"recordName":"a","recordType":"Numbers","#
                + #""fields":{"a":{"type":"ASSETID","value":{"fileChecksum":"ab","size":@,"receipt":"r"}}}}}]}"#
        ),
        (
            .modifyRecords,
            #"{"zoneID":{"zoneName":"Zone-unshared"},"operations":[{"operationType":"create","record":{"recordName":"s","recordType":"cloudkit.share","#
                + #""forRecord":{"recordName":"visible"},"participants":[{"dateAddedToShare":@,"userIdentity":{"userRecordName":"_a"}}]}}]}"#
        ),
        (
            .queryRecords,
            #"{"resultsLimit":@,"zoneID":{"zoneName":"Zone-unshared"},"query":{"recordType":"Diary","filterBy":["#
                + #"{"fieldName":"kind","comparator":"EQUALS","fieldValue":{"value":"kind"}}]}}"#
        ),
        (
            .queryRecords,
            #"{"zoneID":{"zoneName":"Zone-unshared"},"query":{"recordType":"Diary","filterBy":[{"fieldName":"___createTime","comparator":"LESS_THAN","#
                + #""fieldValue":{"type":"TIMESTAMP","value":@}},{"fieldName":"place","comparator":"NEAR","distance":@,"#
                + #""fieldValue":{"type":"LOCATION","value":{"latitude":@,"longitude":@}}}],"#
                + #""sortBy":[{"fieldName":"place","relativeLocation":{"latitude":@,"longitude":@}}]}}"#
        ),
        (.zoneChanges, #"{"resultsLimit":@,"zones":[{"zoneID":{"zoneName":"Zone-unshared"},"resultsLimit":@}]}"#),
        (.recordChanges, #"{"resultsLimit":@,"zoneID":{"zoneName":"Zone-unshared"}}"#),
        (.databaseChanges, #"{"resultsLimit":@}"#), (.changedZones, #"{"resultsLimit":@}"#),
        (
            .modifySubscriptions,
            #"{"operations":[{"operationType":"create","subscription":{"subscriptionID":"n","subscriptionType":"query","firesOn":["create"],"#
                + #""query":{"recordType":"Diary","filterBy":[{"fieldName":"i","comparator":"GREATER_THAN","fieldValue":{"type":"INT64","value":@}}]},"#
                + #""notificationInfo":{"shouldBadge":@}}}]}"#
        ),
    ]

    static let numbers = [
        "0", "-1", "-0", "0.5", "1e300", "-1e300", "1e999", "9223372036854775807", "-9223372036854775808", "18446744073709551616",
        "\"9223372036854775807\"", "\"NaN\"", "\"-Infinity\"", "null",
    ]

    @Test func noNumberIsAFailureOfTheServer() async throws {
        let world = try await MatrixWorld()
        world.storage.endRehearsal()
        var requests = 0
        for (operation, body) in Self.bodies {
            let pieces = body.split(separator: "@", omittingEmptySubsequences: false)
            for place in 1..<pieces.count {
                for number in Self.numbers {
                    var text = String(pieces[0])
                    for index in 1..<pieces.count { text += (index == place ? number : "1") + pieces[index] }
                    requests += 1
                    let answer = try await world.sendAsOwner(operation, text, key: "\(requests)")
                    #expect((200..<500).contains(answer.status), "\(operation.rawValue): \(text) is answered \(answer.status)")
                }
            }
        }
    }
}
