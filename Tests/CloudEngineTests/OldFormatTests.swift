// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudWire
import Foundation
import Testing

/// Every released format has a sample that today's server opens, queries and writes to.
@Suite struct OldFormatTests {
    /// In each sample user `mia` has the zone `Garden` with the plants p1 and p2, a deleted p3 and bed-7.
    @Test(arguments: ["format1"])
    func anOldDataFolderIsBroughtToTheCurrentFormatAndCanBeQueried(_ sample: String) async throws {
        let folder = TemporaryFolder()
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let file = try #require(Bundle.module.url(forResource: sample, withExtension: "sqlite", subdirectory: "Samples"))
        try FileManager.default.copyItem(at: file, to: URL(filePath: folder.path + "/tarn.sqlite"))
        let bench = try Bench(folder: folder)
        let owner = try await bench.store.userRecordName(
            account: 1, containerIdentifier: "iCloud.org.example.notes", proposal: "_new")
        #expect(owner != "_new")
        let mia = bench.call(user: owner)

        let name = Query.plants(QueryFilter(.field("name"), .beginsWith, .string("S")))
        #expect(try await bench.names(name, as: mia).names == ["p1"])
        let word = Query.plants(QueryFilter(.field("tags"), .listContains, .string("herb")))
        #expect(try await bench.names(word, as: mia).names == ["p1"])
        let secret = Query.plants(QueryFilter(.field("secret"), .equals, .string("x")))
        #expect(await refusal { try await bench.names(secret, as: mia) }?.code == .badRequest)

        try await bench.modify(.init(.forceUpdate, .plant("p2", ["name": .string("Savory")])), as: mia)
        #expect(try await bench.names(name, as: mia).names == ["p1", "p2"])
    }
}
