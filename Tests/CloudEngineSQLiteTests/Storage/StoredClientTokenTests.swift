// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import Testing

/// Client change tokens in any storage.
@Suite struct StoredClientTokenTests {
    private static let mia = Partition(containerIdentifier: "iCloud.org.example.notes", environment: .development, owner: "_mia")

    @Test(arguments: StorageKind.installed)
    func onlyANewDeviceRemovesTokensOfOthers(_ kind: StorageKind) async throws {
        let test = try kind.make()
        let storage = try test.storage
        let most = StoredClientTokens.devicesMax
        @Sendable func tokenCount(_ view: any PartitionReader) throws -> Int {
            try (0...most).count { try view.clientToken(ofUser: "_mia", device: "d\($0)", in: 1) != nil }
        }
        let (before, after) = try await storage.write(Self.mia) { unit -> (Int, Int) in
            for number in 0..<most { try unit.setClientToken([1], ofUser: "_mia", device: "d\(number)", in: 1) }
            try unit.setClientToken([2], ofUser: "_mia", device: "d0", in: 1)
            let before = try tokenCount(unit)
            try unit.setClientToken([1], ofUser: "_mia", device: "d\(most)", in: 1)
            return (before, try tokenCount(unit))
        }
        #expect(before == most)
        #expect(after == 1)
        try test.end()
    }
}
