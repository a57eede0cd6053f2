// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudEngineSQLite
import CloudWire
import TestBasics
import Testing

@Suite struct ClosingTests {
    /// Requests are in flight when a server ends: each gets a response or fails, and nothing else happens.
    @Test func readsAndWritesDuringCloseSucceedOrAreRejected() async throws {
        for _ in 0..<40 {
            let folder = TemporaryFolder()
            let store = try SQLiteServerStore(path: folder.path, use: .server)
            let call = Partition(containerIdentifier: "iCloud.org.example.notes", environment: .development, owner: "_mia")
            _ = try await store.write(call) { try $0.raiseCounter(by: 1) }
            let outcomes = await withTaskGroup(of: Bool.self) { group in
                for number in 0..<60 {
                    group.addTask {
                        do {
                            if number.isMultiple(of: 6) {
                                _ = try await store.write(call) { try $0.raiseCounter(by: 1) }
                            } else {
                                for _ in 0..<10 { _ = try await store.read(call) { try $0.state() } }
                            }
                            return true
                        } catch {
                            return (error as? StorageFailure)?.code == .unavailable
                        }
                    }
                }
                group.addTask {
                    do {
                        try store.close()
                        return true
                    } catch {
                        return false
                    }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(outcomes.allSatisfy { $0 }, "an answer, or the failure that the storage is closed")
            let late = await #expect(throws: StorageFailure.self) { try await store.read(call) { try $0.state() } }
            #expect(late?.code == .unavailable)
        }
    }
}
