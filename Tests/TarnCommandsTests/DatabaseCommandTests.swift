// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudInProcess
import CloudService
import CloudWire
import Foundation
import ServiceFixtures
import StorageFixtures
import TestBasics
import Testing

@testable import TarnCommands

/// `--database`: commands on the servers' PostgreSQL database.
@Suite struct DatabaseCommandTests {
    private static let container = "iCloud.org.example.notes"

    // MARK: Addresses

    @Test(arguments: [
        "postgres://mia:secret@127.0.0.1:1/none", "postgres://mia:x/secret@127.0.0.1:1/none", "postgres://mia:x?secret@127.0.0.1:1/none",
        "postgres://mia:sec%ret@127.0.0.1:1/none", "postgres://mia:x@secret@127.0.0.1:1/none", "postgres://mia:secret/none",
        "postgres://127.0.0.1:1/none?password=secret&secret", "postgres://127.0.0.1:1/none?sslpassword=secret&password=secret",
        "mia:secret@127.0.0.1/none", "host=127.0.0.1 password=secret",
    ])
    func anUnusableAddressIsAnErrorWithoutThePassword(_ address: String) async {
        let folder = TemporaryFolder()
        let place = ["--data", folder.path, "--database", address]
        let list = await CommandRun(["user", "list"] + place)
        let query = await CommandRun(["record", "query", "Note", "--container", Self.container] + place)
        for run in [list, query] {
            #expect(run.status == 1, "\(run.notes)")
            #expect(run.notes.contains("database"), "\(run.notes)")
            #expect(!run.notes.contains("secret"), "\(run.notes)")
            #expect(!run.notes.contains("ret@"), "\(run.notes)")
        }
        #expect(!FileManager.default.fileExists(atPath: folder.path), "no folder is made")
    }

    @Test(arguments: [
        "postgres://h/n", "postgres://mia@h:5432/n", "postgresql://mia:a:b@[::1]:5432,[::1]/n", "postgres://mia:p@/n?host=/tmp",
    ])
    func anAddressOfLibPQIsAccepted(_ text: String) throws {
        #expect(try DatabaseAddress(text).text == text)
    }

    @Test func theEnvironmentIsBeforeTheSettingsFile() throws {
        let folder = ScratchFolder("tarn-settings")
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let file = "\(folder.path)/tarn.conf"
        // Other lines are of no interest here: the port is no number.
        try Data("port = x\n# database = postgres://no/no\ndatabase = postgres://mia:secret@file/n\n".utf8).write(to: URL(filePath: file))
        #expect(try ServerSettings.database(file: file, environment: [:])?.shown == "postgres://mia@file/n")
        #expect(try ServerSettings.database(file: nil, environment: ["TARN_CONFIG": file])?.shown == "postgres://mia@file/n")
        let both = ["TARN_CONFIG": file, "TARN_DATABASE": "postgres://environment/n"]
        #expect(try ServerSettings.database(file: nil, environment: both)?.shown == "postgres://environment/n")
        #expect(try ServerSettings.database(file: nil, environment: [:]) == nil)
        try Data("database = secret\n".utf8).write(to: URL(filePath: file))
        let error = #expect(throws: CommandError.self) { try ServerSettings.database(file: file, environment: [:]) }
        #expect(error?.description.hasPrefix("\(file):1: ") == true)
        #expect(error?.description.contains("secret") == false)
    }

    @Test func aScopeAndAnAddressAreGivenOnceEach() async {
        for values in [["public", "private"], ["postgres://a/b", "postgres://a/c"]] {
            let run = await CommandRun(
                ["record", "get", "n", "--container", Self.container] + values.flatMap { ["--database", $0] })
            #expect(run.status == 64, "\(run.notes)")
            #expect(run.notes.contains("--database is given once as"), "\(run.notes)")
        }
    }
}

#if TARN_POSTGRES
    import CloudEnginePostgres
    import TemporaryPostgres

    extension DatabaseCommandTests {
        /// Commands with the same output on each storage.
        private static func commands(_ files: String) -> [[String]] {
            let place = ["--container", container]
            return [
                ["user", "list"], ["user", "add", "mia"], ["user", "add", "mia"], ["user", "add", "bo", "--json"],
                ["user", "token", "mia", "--device", "phone", "--json"], ["user", "token", "mai"], ["user", "list"],
                ["user", "profile", "mia", "--email", "mia@example.org", "--operator"],
                ["user", "profile", "bo", "--email", "mia@example.org"], ["user", "quota", "mia", "5MB"], ["user", "second-factor", "mia"],
                ["user", "identities", "mia", "--add", "s-1", "--issuer", "https://id.example.com"],
                ["user", "identities", "mia", "--json"],
                ["user", "revoke", "mia", "--device", "phone"], ["user", "revoke", "mia", "--device", "phone"],
                ["user", "sign-out", "mia"],
                ["token", "add", "--label", "site"] + place, ["token", "rotate", "1"], ["token", "remove", "1"], ["token", "remove", "7"],
                ["token", "list"], ["token", "add-key", "\(files)/public.pem", "--label", "job"] + place, ["token", "remove-key", "abc"],
                ["key", "list"], ["key", "rotate", "--json"], ["key", "retire", "2"], ["key", "retire", "9"], ["key", "list", "--json"],
                ["schema", "import", "--file", "\(files)/notes.ckdb"] + place, ["schema", "export"] + place, ["schema", "deploy"] + place,
                ["schema", "diff"] + place, ["schema", "diff", "--container", "iCloud.org.exmple.notes"],
                ["schema", "validate", "--file", "\(files)/notes.ckdb"] + place,
                ["user", "roles", "mia", "Editors"] + place, ["user", "roles", "mia", "Editor"] + place,
                ["record", "put", "n1", "title=Buy milk", "stars=3", "--type", "Note"] + place,
                ["record", "put", "n2", "title=Sleep", "stars=5", "--type", "Note"] + place, ["record", "query", "Note"] + place,
                ["record", "query", "Note", "--where", "stars >= 4", "--json"] + place, ["record", "query", "Nots"] + place,
                ["record", "get", "n1", "n9"] + place, ["record", "export", "--type", "Note", "--format", "csv"] + place,
                ["record", "import", "\(files)/notes.csv", "--type", "Note"] + place,
                ["record", "delete", "n1", "--yes"] + place,
                ["record", "put", "p1", "title=Mine", "--type", "Note", "--database", "private", "--user", "mia"] + place,
                ["record", "query", "Note", "--database", "private", "--user", "mia"] + place, ["zone", "list", "--user", "mia"] + place,
                ["zone", "create", "Drafts", "--user", "mia"] + place, ["zone", "create", "Drafts", "--user", "mia", "--json"] + place,
                ["zone", "delete", "Nots", "--yes", "--user", "mia"] + place,
                ["zone", "delete", "Nots", "--yes", "--user", "mai"] + place,
                ["zone", "delete", "Drafts", "--yes", "--user", "mia"] + place,
                ["zone", "restore", "Nots", "--at", "2030-01-02T03:04:05Z", "--user", "mia"] + place, ["container", "list"],
                ["user", "usage"], ["user", "remove", "bo", "--public-records", "keep", "--yes"], ["user", "list", "--json"],
                ["schema", "reset", "--yes"] + place, ["record", "query", "Note"] + place, ["audit", "--json"],
            ]
        }

        @Test(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil })
        func commandsPrintTheSameOnEachStorage() async throws {
            let files = TemporaryFolder()
            try FileManager.default.createDirectory(atPath: files.path, withIntermediateDirectories: true)
            try Data(
                "DEFINE SCHEMA CREATE ROLE Editors; RECORD TYPE Note (\"___recordID\" REFERENCE QUERYABLE, title STRING QUERYABLE SORTABLE, stars INT64 QUERYABLE SORTABLE);"
                    .utf8
            ).write(to: URL(filePath: "\(files.path)/notes.ckdb"))
            try Data("recordName,title,stars\nn7,Seven,7\n".utf8).write(to: URL(filePath: "\(files.path)/notes.csv"))
            try Data(Self.publicKey.utf8).write(to: URL(filePath: "\(files.path)/public.pem"))
            var texts: [[Substring]] = []
            for kind in ServerKind.allCases {
                let place = try ServerPlace(kind)
                // The first server makes the folder of assets.
                try place.open().close()
                let shown = try place.database.map { try DatabaseAddress($0).shown } ?? place.folder.path
                var transcript = Transcript((place.database ?? "DATA", "DATA"), (shown, "DATA"), (place.folder.path, "DATA"))
                for command in Self.commands(files.path) { await transcript.run(command, in: place.arguments) }
                texts.append(transcript.text.split(separator: "\n", omittingEmptySubsequences: false))
            }
            for (sqlite, postgres) in zip(texts[0], texts[1]) {
                // The bytes of a retired key are elsewhere.
                if sqlite.hasPrefix("The key ended"), postgres.hasPrefix("The key ended") { continue }
                #expect(sqlite == postgres)
            }
            #expect(texts[0].count == texts[1].count)
            #expect(texts[1].contains { $0.contains(#""action":"user.remove","subject":"bo, public records: keep""#) })
        }

        private static let publicKey = """
            -----BEGIN PUBLIC KEY-----
            MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAETW6143sNomk+HS5ppn+5UeQH0B3k
            q3DGbwKEWWJJkH04X2PLxRsyc9oCOojRiKOxVNVFu2g5fk+FmLg1a3F57w==
            -----END PUBLIC KEY-----

            """

        @Test(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil })
        func aCommandThatReadsChangesNothingInAnEmptyDatabase() async throws {
            let place = try ServerPlace(.postgres, hasTables: false)
            let tables = "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
            let list = await CommandRun(["user", "list"] + place.arguments)
            #expect(list.status == 1)
            #expect(list.notes.contains("has no data of a tarn server"), "\(list.notes)")
            #expect(try place.sql(tables) == "0")
            let add = await CommandRun(["user", "add", "mia"] + place.arguments)
            #expect(add.status == 0, "\(add.notes)")
            #expect(try place.sql(tables) != "0")
            // No server has run here, so the files are on another machine.
            for words in [
                ["user", "export", "mia", "--to", place.folder.path], ["user", "remove", "mia", "--yes", "--public-records", "keep"],
            ] {
                let run = await CommandRun(words + place.arguments)
                #expect(run.status == 1)
                #expect(run.notes.contains("has no files of assets"), "\(run.notes)")
            }
            #expect(!FileManager.default.fileExists(atPath: place.folder.path), "no folder is made")
            let doctor = await CommandRun(["doctor", "--json"] + place.arguments)
            #expect(doctor.status == 0, "\(doctor.output)")
            #expect(doctor.output.contains("so this is not a machine of the servers"), "\(doctor.output)")
            #expect(doctor.output.contains("no user is an operator"), "\(doctor.output)")
            let backup = await CommandRun(["backup", "--output", "\(place.folder.path)-copy"] + place.arguments)
            #expect(backup.notes.contains("pg_dump"), "\(backup.notes)")
            let restore = await CommandRun(["restore", "--from", "copy"] + place.arguments)
            #expect(restore.notes.contains("pg_restore"), "\(restore.notes)")
        }

        /// The procedure of Scaling.md: `pg_dump`, loss of later changes, `pg_restore`, `tarn restore`.
        @Test(.enabled("\(TemporaryPostgres.absence)") { TemporaryPostgres.shared != nil })
        func devicesNoticeARestoredDatabase() async throws {
            let server = try #require(TemporaryPostgres.shared)
            let village = try Village(place: ServerPlace(.postgres))
            let mia = try await village.villager("mia")
            try await mia.modify([RecordOperation(.create, .plant("first"))])
            let early = try await Self.changes(mia)
            let dump = "\(village.folder.path)/dump"
            try server.dump(try #require(village.place.database), to: dump)
            try await mia.modify([RecordOperation(.create, .plant("late"))])
            let late = try await Self.changes(mia, since: early.token)
            #expect(late.picture == "+late")

            let copy = try ServerPlace(.postgres, database: server.restore(dump))
            let restore = await CommandRun(["restore", "--json"] + copy.arguments)
            #expect(restore.status == 0, "\(restore.notes)")
            #expect(restore.output.contains(#""partitions":"#), "\(restore.output)")
            let restored = try Village(place: copy)
            let again = Village.Villager(village: restored, account: mia.account, token: mia.token, name: mia.name)
            // The numbers of the lost changes are given again.
            try await again.modify([RecordOperation(.create, .plant("other"))])
            try await again.modify([RecordOperation(.create, .plant("another"))])
            #expect(try await Self.changes(again, since: early.token).picture == "+another +other")
            let lost = try await Self.changes(again, since: late.token, capabilities: [.lostHistory])
            #expect(lost.error?.nativeCode == .changeTokenExpired)
            #expect(lost.error?.isHistoryLost == true)
            #expect(lost.error?.restoredChangeTag != nil)
            // A database of a user that the dump lacks is of another history, too.
            _ = try await restored.villager("bo")
            #expect(try copy.sql("SELECT min(epoch) > 1000000000000 FROM partitions") == "t")
            #expect(try copy.sql("SELECT action FROM audit") == "restore")
        }

        private static func changes(
            _ user: Village.Villager, since token: String? = nil, capabilities: Set<Capability> = []
        ) async throws -> ZoneChangesResult {
            let request = ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: user.zone(), syncToken: token)])
            return try await user.ask(.private, .zoneChanges, request, ZoneChangesResponse.self, capabilities: capabilities).zones[0]
        }
    }
#endif
