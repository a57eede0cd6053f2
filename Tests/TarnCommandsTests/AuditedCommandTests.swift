// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudInProcess
import CloudService
import CloudWire
import Foundation
import Testing

@testable import TarnCommands

/// The audit log's line of a command is committed with the command's change.
@Suite struct AuditedCommandTests {
    private struct Interrupted: Error {}

    private static func actions(_ data: String) async throws -> [String] {
        let store = try SQLiteServerStore(path: data, use: .command)
        defer { try? store.close() }
        return try await store.auditEvents(before: nil, limit: 100).map { "\($0.event.action) \($0.event.subject)" }.reversed()
    }

    private static let event = AuditEvent(time: 5, actor: .commandLine("root"), action: "user.remove", subject: "mia", outcome: .done)

    @Test func anInterruptedRemovalLeavesItsLine() async throws {
        let folder = ScratchFolder("tarn-audit")
        _ = await CommandRun("user", "add", "mia", "--data", folder.path)
        let store = try SQLiteServerStore(path: folder.path, use: .command)
        await #expect(throws: Interrupted.self) {
            try await store.recording(Self.event) {
                try await store.service.userRemoval.run(named: "mia", publicRecords: .remove, storage: store) {
                    // After the account's credentials ended, which is its first transaction.
                    if try await store.auditEvents(before: nil, limit: 1).first?.event.action == "user.remove" { throw Interrupted() }
                }
            }
        }
        try store.close()
        #expect(try await Self.actions(folder.path) == ["user.add mia", "user.remove mia"])
        let again = await CommandRun("user", "remove", "mia", "--public-records", "remove", "--yes", "--data", folder.path)
        #expect(again.status == 0, "\(again.notes)")
    }

    @Test func theLastOperatorIsRemovedWithAnOption() async throws {
        let folder = ScratchFolder("tarn-audit")
        for name in ["mia", "bo"] {
            _ = await CommandRun("user", "add", name, "--data", folder.path)
            _ = await CommandRun("user", "profile", name, "--operator", "--data", folder.path)
        }
        let remove = ["--public-records", "remove", "--yes", "--data", folder.path]
        #expect(await CommandRun(["user", "remove", "bo"] + remove).status == 0)
        let refused = await CommandRun(["user", "remove", "mia"] + remove)
        #expect(refused.status == 1)
        #expect(refused.notes.hasPrefix("Error: mia is the only operator: make another"), "\(refused.notes)")
        #expect(try await Self.actions(folder.path).last == "user.remove bo, public records: remove")
        let removed = await CommandRun(["user", "remove", "mia", "--last-operator"] + remove)
        #expect(removed.status == 0, "\(removed.notes)")
    }

    @Test func aChangeHasOneLineAndARefusedOneNone() async throws {
        let folder = ScratchFolder("tarn-audit")
        _ = await CommandRun("user", "add", "mia", "--data", folder.path)
        #expect(await CommandRun("user", "add", "mia", "--data", folder.path).status != 0)
        #expect(await CommandRun("user", "profile", "bo", "--operator", "--data", folder.path).status != 0)
        _ = await CommandRun(
            "record", "put", "n1", "title=1", "--type", "Note", "--container", "iCloud.org.example.notes", "--data", folder.path)
        let copy = ScratchFolder("tarn-audit-copy")
        #expect(await CommandRun("backup", "--output", copy.path + "/copy", "--data", folder.path).status == 0)
        #expect(await CommandRun("user", "list", "--data", folder.path).status == 0)
        #expect(await CommandRun("user", "sessions", "mia", "--data", folder.path).status == 0)
        let actions = try await Self.actions(folder.path)
        #expect(actions.count { $0.hasPrefix("user.add") } == 1)
        #expect(actions.count { $0.hasPrefix("user.profile") } == 0)
        #expect(actions.count { $0.hasPrefix("record.") } == 1)
        #expect(actions.suffix(3) == ["backup server", "user.list server", "user.sessions mia"], "looks into data")
    }

    @Test func aTransactionThatFailsLeavesTheLineToTheNext() async throws {
        let folder = ScratchFolder("tarn-audit")
        let store = try SQLiteServerStore(path: folder.path, use: .command)
        try await store.recording(Self.event) {
            await #expect(throws: StorageFailure.self) { try await store.setPassword("correct horse", ofUser: "nobody") }
            #expect(try await store.auditEvents(before: nil, limit: 10).isEmpty)
            _ = try await store.addUser(name: "mia", deviceLabel: "", now: 1)
            _ = try await store.addUser(name: "bo", deviceLabel: "", now: 1)
        }
        #expect(try await store.auditEvents(before: nil, limit: 10).map(\.event.action) == ["user.remove"])
        try await store.recording(Self.event) {}
        #expect(try await store.auditEvents(before: nil, limit: 10).count == 2, "a change without a transaction")
        try store.close()
    }
}
