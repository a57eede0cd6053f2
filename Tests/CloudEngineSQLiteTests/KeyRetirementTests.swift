// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngineSQLite
import Foundation
import GRDB
import TestBasics
import Testing

/// A retired key is deleted from the disk, not from a table alone.
@Suite struct KeyRetirementTests {
    @Test func aRetiredKeyIsInNoFile() async throws {
        let folder = TemporaryFolder()
        let store = try SQLiteServerStore(path: folder.path, use: .command)
        let queue = try DatabaseQueue(path: folder.path + "/tarn.sqlite")
        let key = try #require(try await queue.read { try Data.fetchOne($0, sql: "SELECT value FROM meta WHERE key = 'sealer'") })
        try queue.close()
        func files() throws -> [String] {
            try FileManager.default.contentsOfDirectory(atPath: folder.path).filter { name in
                (try? Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/\(name)")))?.firstRange(of: key) != nil
            }
        }
        #expect(key.count == 32)
        #expect(try !files().isEmpty)
        _ = try await store.rotateSealingKey(now: 5)
        #expect(try await store.retireSealingKey(1))
        #expect(try files() == [])
        try store.close()
    }
}
