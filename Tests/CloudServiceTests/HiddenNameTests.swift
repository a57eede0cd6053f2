// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ServiceFixtures
import Testing

/// A participant cannot find out the names of records outside of the share.
@Suite struct HiddenNameTests {
    private static func error(_ result: RecordResult) -> WireError? {
        if case .failure(_, let error, _) = result { error } else { nil }
    }

    @Test(arguments: [RecordOperation.Kind.create, .forceUpdate, .forceReplace], [SharePermission.readOnly, .readWrite])
    func aRefusedCreationHasOneErrorForHiddenAndFreeNames(_ kind: RecordOperation.Kind, _ permission: SharePermission) async throws {
        let village = try Village()
        let bo = try await village.villager("bo")
        let (mia, guid) = try await village.bed(with: [.invited("bo", permission)])
        _ = try await bo.accept(guid)
        // Without a parent, and below one where a reader may not write.
        let parents = permission == .readOnly ? [nil, "bed"] : [nil]
        for parent in parents {
            let hidden = Self.error(try await bo.modify([RecordOperation(kind, .plant("own", under: parent))], of: mia)[0])
            let free = Self.error(try await bo.modify([RecordOperation(kind, .plant("free", under: parent))], of: mia)[0])
            #expect(hidden?.code == .accessDenied)
            #expect(hidden?.code == free?.code)
            #expect(hidden?.reason == free?.reason)
        }
    }
}
