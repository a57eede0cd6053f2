// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import ServiceFixtures
import StorageFixtures
import TestBasics
import Testing

/// Backups that are made in the console.
@Suite(.onSQLite("PostgreSQL is backed up by its own programs"), .timeLimit(.minutes(2))) struct BackupPageTests {
    private static func visitor(_ village: Village, _ backups: (any ServerBackups)?) async -> BrowserSession {
        let visitor = BrowserSession(
            village, console: Console(service: village.service, storage: village.store, backups: backups))
        _ = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        return visitor
    }

    private static func end(of backups: FolderBackups) async throws {
        try await until { if case .running = backups.state { false } else { true } }
    }

    @Test func aBackupIsMadeListedAndRestored() async throws {
        let (village, _) = try await BrowserSession.signedIn()
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let backups = FolderBackups(of: try #require(village.store as? SQLiteServerStore), data: folder)
        let visitor = await Self.visitor(village, backups)
        #expect(await visitor.get("/console/backups").text.contains("No backups."))
        let answer = await visitor.post("/console/backups", ["do": "make"])
        #expect(answer.status == 303)
        #expect(answer.location == "/console/backups")
        try await Self.end(of: backups)
        #expect(backups.state == .idle)
        let made = try #require(try await backups.backups().first)
        #expect(made.databaseBytes > 0)
        let page = await visitor.get("/console/backups").text
        #expect(page.contains("<code>\(made.path)</code>"))
        #expect(page.contains("tarn restore --from \(made.path)"))
        #expect(try await village.store.auditEvents(before: nil, limit: 10).contains { $0.event.action == "console.backups.make" })

        let restored = "\(folder)/restored"
        try await SQLiteServerStore.restore(from: made.path, to: restored, now: village.clock.now)
        let store = try SQLiteServerStore(path: restored, use: .command)
        #expect(try await store.account(named: "mia") != nil)
        try store.close()
    }

    /// A process that ends leaves a copy of an earlier time's name, which no later backup would replace.
    @Test func partialBackupsAreRemovedByTheNextOne() async throws {
        let (village, _) = try await BrowserSession.signedIn()
        let folder = TemporaryFolder()
        let remains = ["2023-01-01T00-00-00Z", "2023-01-01T00-00-01Z", "nightly"].map { "\(folder.path)/backups/\($0).partial" }
        for path in remains {
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
            try Data("half".utf8).write(to: URL(fileURLWithPath: "\(path)/tarn.sqlite"))
        }
        try Data().write(to: URL(fileURLWithPath: "\(remains[1])/chapter"))
        let backups = FolderBackups(of: try #require(village.store as? SQLiteServerStore), data: folder.path)
        #expect(backups.begin(now: village.clock.now))
        try await Self.end(of: backups)
        #expect(try await backups.backups().count == 1)
        #expect(!FileManager.default.fileExists(atPath: remains[0]))
        #expect(FileManager.default.fileExists(atPath: remains[1]), "a folder of another program stays")
        #expect(FileManager.default.fileExists(atPath: remains[2]), "a command may be making it")
    }

    @Test func aFailureIsShown() async throws {
        let (village, _) = try await BrowserSession.signedIn()
        let file = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        #expect(FileManager.default.createFile(atPath: file, contents: nil))
        defer { try? FileManager.default.removeItem(atPath: file) }
        let backups = FolderBackups(of: try #require(village.store as? SQLiteServerStore), data: file)
        let visitor = await Self.visitor(village, backups)
        _ = await visitor.post("/console/backups", ["do": "make"])
        try await Self.end(of: backups)
        let page = await visitor.get("/console/backups").text
        #expect(page.contains("The folder \(file)/backups could not be made."))
        #expect(page.contains("No backups."))
    }

    /// A backup of many records takes long: a second one would take the disk's time and space twice.
    @Test func oneBackupIsMadeAtATime() async throws {
        struct Busy: ServerBackups {
            let folder = "/backups"
            let state = BackupState.running(since: 1_700_000_000_000)
            func backups() async throws -> [ServerBackup] { [] }
            func begin(now: Int64) -> Bool { false }
        }
        let (village, _) = try await BrowserSession.signedIn()
        let visitor = await Self.visitor(village, Busy())
        #expect(await visitor.get("/console/backups").text.contains("A backup has been running since 2023-11-14"))
        #expect(await visitor.post("/console/backups", ["do": "make"]).status == 409)
    }

    @Test func aDatabaseIsBackedUpByItsOwnProgram() async throws {
        let (village, _) = try await BrowserSession.signedIn()
        let visitor = await Self.visitor(village, nil)
        let page = await visitor.get("/console/backups").text
        #expect(page.contains("pg_dump"))
        #expect(!page.contains("Back up now"))
    }
}
