// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ServiceFixtures
import Testing

@Suite struct RestrictedOwnerTests {
    @Test func participantsAreRejectedWhileTheOwnersDataIsRestricted() async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo")])
        _ = try await bo.accept(guid)
        #expect(await mia.send(.private, .restrictUser).status == 200)
        for body in [
            { _ = try await bo.lookup("sage", of: mia) },
            { _ = try await bo.modify([RecordOperation(.forceUpdate, .plant("sage"))], of: mia) },
        ] as [@Sendable () async throws -> Void] {
            #expect(await SharingTests.refusal(body)?.code == .accessDenied)
        }
        // Bo's own data is not concerned.
        #expect(try await bo.modify([RecordOperation(.create, .plant("own"))]).first?.record?.recordName == "own")
        #expect(await mia.send(.private, .unrestrictUser).status == 200)
        #expect(try await bo.lookup("sage", of: mia).first?.record?.recordName == "sage")
    }
}
