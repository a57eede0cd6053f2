// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudEngine
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
        try await until {
            switch backups.state {
            case .running, .checking: false
            case .idle, .failed: true
            }
        }
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
            func beginCheck(of name: String, now: Int64) -> Bool { false }
        }
        let (village, _) = try await BrowserSession.signedIn()
        let visitor = await Self.visitor(village, Busy())
        #expect(await visitor.get("/console/backups").text.contains("A backup has been running since 2023-11-14"))
        for verb in ["make", "check"] { #expect(await visitor.post("/console/backups", ["do": verb]).status == 409) }
    }

    @Test func aBackupIsChecked() async throws {
        let (village, _) = try await BrowserSession.signedIn()
        let folder = TemporaryFolder()
        let backups = FolderBackups(of: try #require(village.store as? SQLiteServerStore), data: "\(folder.path)/my data")
        let visitor = await Self.visitor(village, backups)
        _ = await visitor.post("/console/backups", ["do": "make"])
        try await Self.end(of: backups)
        let made = try #require(try await backups.backups().first)
        #expect(made.made == village.clock.now)
        #expect(made.check == nil)
        let page = await visitor.get("/console/backups").text
        #expect(page.contains("Not checked."))
        #expect(page.contains("2030-03-17 17:46:40.000"))
        #expect(page.contains("tarn restore --from &#39;\(made.path)&#39; --data NEW-FOLDER"))

        #expect(await visitor.post("/console/backups", ["do": "check", "name": "../\(made.name)"]).status == 409)
        #expect(await visitor.post("/console/backups", ["do": "check", "name": made.name]).status == 303)
        try await Self.end(of: backups)
        let check = try #require(try await backups.backups().first?.check)
        #expect(check.faults.isEmpty)
        #expect(check.counts == BackupCheck.Counts(users: 1, records: 1, assetFiles: 0))
        let sound = await visitor.get("/console/backups").text
        #expect(sound.contains("Sound"))
        #expect(sound.contains("1 user, 1 record, 0 files"))

        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: "\(made.path)/tarn.sqlite"))
        try file.truncate(atOffset: 5000)
        try file.close()
        _ = await visitor.post("/console/backups", ["do": "check", "name": made.name])
        try await Self.end(of: backups)
        let faulty = try #require(try await backups.backups().first?.check)
        #expect(!faulty.faults.isEmpty)
        let damaged = await visitor.get("/console/backups").text
        #expect(!damaged.contains("Sound"))
        #expect(damaged.contains(#"<p class="problem">The "#))
    }

    private static func savePhoto(_ village: Village) async throws {
        let bo = try await village.villager("bo")
        let item = AssetUploadRequest.Item(recordType: "Plant", recordName: "rose", fieldName: "photo")
        let response = try await bo.ask(
            .private, .uploadAssets, AssetUploadRequest(items: [item], zoneID: bo.zone()), AssetUploadResponse.self)
        guard case .address(let address) = response.results.first else { throw WireError(.internalError, "no address") }
        let path = String(address.url.dropFirst("http://tarn.example".count))
        let answer = await village.service.respond(
            to: ServiceRequest(method: "POST", path: path, body: .bytes([1, 2, 3]), baseURL: "http://tarn.example"))
        guard case .bytes(let bytes) = answer.body else { throw WireError(.internalError, "no receipt") }
        let photo = Field(.asset(try AssetUploadReceipt(json: bytes).asset))
        try await bo.modify([RecordOperation(.create, Record(recordName: "rose", recordType: "Plant", fields: ["photo": photo]))])
    }

    @Test func aCheckFindsMissingFilesOfAssets() async throws {
        let (village, _) = try await BrowserSession.signedIn()
        let folder = TemporaryFolder()
        let store = try #require(village.store as? SQLiteServerStore)
        let backups = FolderBackups(of: store, data: folder.path)
        try await Self.savePhoto(village)
        #expect(backups.begin(now: village.clock.now))
        try await Self.end(of: backups)
        let made = try #require(try await backups.backups().first)
        #expect(try await backups.beginCheck(of: made.name, now: village.clock.now))
        try await Self.end(of: backups)
        #expect(try await backups.backups().first?.check?.counts?.assetFiles == 1)
        #expect(try await backups.backups().first?.check?.faults == [])
        try FileManager.default.removeItem(atPath: "\(made.path)/assets")
        #expect(try await backups.beginCheck(of: made.name, now: village.clock.now))
        try await Self.end(of: backups)
        let faults = try #require(try await backups.backups().first?.check?.faults)
        #expect(faults.first?.hasPrefix("1 file of an asset is missing or of another size, such as ") == true)
    }

    @Test func aDatabaseIsBackedUpByItsOwnProgram() async throws {
        let (village, _) = try await BrowserSession.signedIn()
        let visitor = await Self.visitor(village, nil)
        let page = await visitor.get("/console/backups").text
        #expect(page.contains("pg_dump"))
        #expect(!page.contains("Back up now"))
    }
}
