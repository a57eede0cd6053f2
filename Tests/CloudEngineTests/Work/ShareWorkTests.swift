// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import EngineFixtures
import Testing

@Suite struct ShareWorkTests {
    /// Each participant of the list is compared with all others, while other requests that write wait.
    @Test func aListOfTooManyParticipantsIsRejectedBeforeItIsCompared() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("bed")))
        func save(_ addresses: [String]) async throws -> RecordResult? {
            var share = Record(recordName: "share", recordType: ShareDetails.recordType)
            let participants = addresses.map { address in
                let person = UserIdentity(userRecordName: "", lookupInfo: .emailAddress(address))
                return ShareParticipant(identity: person, permission: .readOnly)
            }
            share.sharing.details = ShareDetails(rootRecordName: "bed", participants: participants)
            return try await bench.modify(.init(.create, share)).first
        }
        let addresses = (0..<99).map { "\($0)@example.org" }
        let twice = try await save(["a@example.org", "a@example.org"])
        #expect(twice?.error?.code == .badRequest)
        #expect(twice?.error?.nativeCode == nil)
        for tooMany in [addresses + ["a@example.org"], addresses + ["0@example.org"]] {
            #expect(try await save(tooMany)?.error?.nativeCode == .tooManyParticipants)
        }
        #expect(try await save(addresses)?.word == "saved", "the owner is the hundredth")
    }
}
