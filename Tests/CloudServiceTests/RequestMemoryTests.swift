// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Testing

@testable import CloudService

@Suite struct RequestMemoryTests {
    private let memory = RequestMemory(bytesMax: 1000)

    @Test func reservedMemoryIsReleased() throws {
        let lease = memory.lease(for: .account("mia"))
        try lease.take(100)
        try lease.take(50)
        #expect(memory.bytes == 150)
        lease.end()
        #expect(memory.bytes == 0)
        lease.end()
        #expect(memory.bytes == 0)
    }

    @Test func allTogetherHoldNoMoreThanThereIs() throws {
        let leases = (0..<5).map { memory.lease(for: .account("\($0)")) }
        for lease in leases.prefix(4) { try lease.take(250) }
        #expect(throws: WireError.self) { try leases[4].take(1) }
        #expect(memory.bytes == 1000)
        leases[0].end()
        try leases[4].take(250)
    }

    /// One request may be longer than a sender's part; a second one is rejected.
    @Test func oneSenderLeavesRoomForOthers() throws {
        let (long, second) = (memory.lease(for: .account("mia")), memory.lease(for: .account("mia")))
        let other = memory.lease(for: .account("bo"))
        try long.take(700)
        #expect(throws: WireError.self) { try second.take(1) }
        try other.take(200)
        long.end()
        try second.take(200)
        let third = memory.lease(for: .account("mia"))
        #expect(throws: WireError.self) { try third.take(51) }
        try third.take(50)
        #expect(throws: WireError.self) { try second.take(1) }
        #expect(memory.bytes == 450)
    }

    @Test func anonymousSendersLeaveRoomForAccounts() throws {
        let leases = (0..<3).map { memory.lease(for: .network("\($0)")) }
        for lease in leases.prefix(2) { try lease.take(250) }
        #expect(throws: WireError.self) { try leases[2].take(1) }
        try memory.lease(for: .account("mia")).take(250)
        leases[0].end()
        try leases[2].take(250)
    }

    @Test func aLeaseEndsWithItsLastReference() throws {
        do {
            let lease = memory.lease(for: .account("mia"))
            try lease.take(100)
        }
        #expect(memory.bytes == 0)
    }

    @Test(arguments: [("", 0), ("{}", 1), (#"{"a":[1,2,3],"b":{"c":","}}"#, 7), ("[[[[", 4)])
    func valuesAreCountedBeforeTheyAreDecoded(_ text: String, _ count: Int) {
        #expect(RequestBodies.valuesAtMost(in: Array(text.utf8)) == count)
    }

    @Test func onlyRecordsAreLong() {
        let limits = Limits()
        #expect(ServicePath.Operation.modifyRecords.bodyBytes(limits, isAnonymous: false) == limits.requestBodyBytes)
        #expect(ServicePath.Operation.queryRecords.bodyBytes(limits, isAnonymous: false) == limits.shortBodyBytes)
        for operation in ServicePath.Operation.allCases {
            #expect(operation.bodyBytes(limits, isAnonymous: true) <= limits.anonymousBodyBytes)
        }
    }
}
