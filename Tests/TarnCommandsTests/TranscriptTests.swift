// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngineSQLite
import CloudInProcess
import CloudKit
import CloudService
import CloudWire
import Foundation
import Testing

@testable import TarnCommands

/// Output, JSON and errors of commands, as golden files.
@Suite struct TranscriptTests {
    private static let container = "iCloud.org.example.notes"

    @Test func accountsAndTokens() async {
        let folder = ScratchFolder("tarn-transcript")
        let data = folder.path
        var transcript = Transcript((data, "DATA"))
        await transcript.run("user", "list", "--data", data)
        await transcript.run("user", "add", "mia", "--data", data)
        await transcript.run("user", "add", "mia", "--data", data)
        await transcript.run("user", "token", "mia", "--device", "phone", "--json", "--data", data)
        await transcript.run("user", "token", "mai", "--data", data)
        await transcript.run("user", "list", "--data", data)
        await transcript.run("user", "list", "--json", "--data", data)
        await transcript.run("user", "second-factor", "mai", "--data", data)
        await transcript.run("user", "usage", "--data", data)
        await transcript.run("user", "revoke", "mia", "--device", "phone", "--data", data)
        await transcript.run("user", "operator-key", "mia", "--data", data)
        await transcript.run("token", "list", "--data", data)
        await transcript.run("token", "add", "--container", Self.container, "--label", "site", "--data", data)
        await transcript.run("token", "list", "--data", data)
        await transcript.run("token", "list", "--json", "--data", data)
        await transcript.run("token", "remove", "7", "--data", data)
        await transcript.run("token", "remove-key", "abc", "--data", data)
        GoldenFile("transcripts/accounts.txt").expect(transcript.text)
        // The log has the user of the machine, so it isn't in the golden file.
        let audit = await CommandRun("audit", "--json", "--data", data)
        #expect(audit.output.split(separator: "\n").count == 6)
        #expect(audit.output.contains(#""action":"user.revoke","subject":"mia, phone","outcome":"done""#))
    }

    @Test func credentials() async {
        let folder = ScratchFolder("tarn-transcript")
        let data = folder.path
        var transcript = Transcript((data, "DATA"))
        _ = await CommandRun("user", "add", "mia", "--data", data)
        _ = await CommandRun("token", "add", "--container", Self.container, "--data", data)
        await transcript.run("user", "second-factor", "mia", "--data", data)
        await transcript.run("user", "second-factor", "mia", "--json", "--data", data)
        await transcript.run("user", "identities", "mia", "--data", data)
        await transcript.run("user", "identities", "mia", "--add", "s-1", "--issuer", "https://id.example.com", "--data", data)
        await transcript.run("user", "identities", "mia", "--data", data)
        await transcript.run("user", "identities", "mia", "--json", "--data", data)
        await transcript.run("key", "list", "--data", data)
        await transcript.run("key", "rotate", "--json", "--data", data)
        await transcript.run("key", "list", "--json", "--data", data)
        await transcript.run("token", "rotate", "1", "--data", data)
        await transcript.run("token", "rotate", "1", "--json", "--data", data)
        GoldenFile("transcripts/credentials.txt").expect(transcript.text)
    }

    /// Changes of accounts and credentials, and backups: `--json` prints an object.
    @Test func changes() async throws {
        let (folder, copies) = (ScratchFolder("tarn-transcript"), ScratchFolder("tarn-copies"))
        let (data, pem) = (folder.path, folder.path + "/public.pem")
        try FileManager.default.createDirectory(atPath: copies.path, withIntermediateDirectories: true)
        var transcript = Transcript((data, "DATA"), (copies.path, "COPIES"))
        _ = await CommandRun("user", "add", "mia", "--data", data)
        _ = await CommandRun("user", "token", "mia", "--device", "phone", "--data", data)
        _ = await CommandRun("token", "add", "--container", Self.container, "--data", data)
        try Data("DEFINE SCHEMA CREATE ROLE Editors;".utf8).write(to: URL(filePath: data + "/notes.ckdb"))
        _ = await CommandRun("schema", "import", "--container", Self.container, "--file", data + "/notes.ckdb", "--data", data)
        try Data(Self.publicKey.utf8).write(to: URL(filePath: pem))
        await transcript.run("user", "profile", "mia", "--email", "mia@example.org", "--discoverable", "--json", "--data", data)
        await transcript.run("user", "profile", "mia", "--operator", "--data", data)
        await transcript.run("user", "quota", "mia", "500MB", "--data", data)
        await transcript.run("user", "quota", "mia", "500MB", "--json", "--data", data)
        await transcript.run("user", "quota", "mia", "default", "--json", "--data", data)
        await transcript.run("user", "roles", "mia", "Editors", "--container", Self.container, "--json", "--data", data)
        await transcript.run("user", "sign-out", "mia", "--data", data)
        await transcript.run("user", "sign-out", "mia", "--json", "--data", data)
        await transcript.run("user", "revoke", "mia", "--device", "phone", "--json", "--data", data)
        await transcript.run("token", "remove", "1", "--json", "--data", data)
        let added = await transcript.run("token", "add-key", pem, "--container", Self.container, "--data", data)
        let key = added.output.trimmingCharacters(in: .whitespacesAndNewlines)
        await transcript.run("token", "rotate-key", key, pem, "--data", data)
        await transcript.run("token", "rotate-key", key, pem, "--json", "--data", data)
        await transcript.run("token", "remove-key", key, "--json", "--data", data)
        await transcript.run("backup", "--output", copies.path + "/first", "--data", data)
        await transcript.run("backup", "--output", copies.path + "/first", "--data", data)
        await transcript.run("backup", "--output", copies.path + "/second", "--json", "--data", data)
        GoldenFile("transcripts/changes.txt").expect(transcript.text)
    }

    private static let publicKey = """
        -----BEGIN PUBLIC KEY-----
        MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAETW6143sNomk+HS5ppn+5UeQH0B3k
        q3DGbwKEWWJJkH04X2PLxRsyc9oCOojRiKOxVNVFu2g5fk+FmLg1a3F57w==
        -----END PUBLIC KEY-----

        """

    /// Names that do not exist are errors with the nearest name.
    @Test func unknownNames() async throws {
        let folder = ScratchFolder("tarn-transcript")
        let data = folder.path
        var transcript = Transcript((data, "DATA"))
        _ = await CommandRun("user", "add", "mia", "--data", data)
        try Data("DEFINE SCHEMA CREATE ROLE Editors; RECORD TYPE Note (title STRING QUERYABLE SORTABLE, stars INT64 QUERYABLE);".utf8)
            .write(to: URL(filePath: data + "/notes.ckdb"))
        await transcript.run("container", "list", "--data", data)
        await transcript.run("schema", "export", "--container", Self.container, "--data", data)
        await transcript.run("schema", "validate", "--container", Self.container, "--file", data + "/notes.ckdb", "--json", "--data", data)
        await transcript.run("schema", "import", "--container", Self.container, "--file", data + "/notes.ckdb", "--data", data)
        await transcript.run("schema", "diff", "--container", "iCloud.org.exmple.notes", "--data", data)
        await transcript.run("schema", "diff", "--container", Self.container, "--data", data)
        await transcript.run("schema", "diff", "--container", Self.container, "--json", "--data", data)
        await transcript.run("user", "roles", "mia", "Editor", "--container", Self.container, "--data", data)
        await transcript.run("record", "query", "Nots", "--container", Self.container, "--data", data)
        await transcript.run("zone", "list", "--user", "mia", "--container", Self.container, "--data", data)
        await transcript.run("zone", "delete", "Nots", "--yes", "--user", "mia", "--container", Self.container, "--data", data)
        await transcript.run("serve", "--limit", "recordBytes=abc", "--data", data)
        await transcript.run("serve", "--limit", "recordByte=1", "--data", data)
        await transcript.run("serve", "--tls-certificate", "/nope", "--tls-key", "/nope", "--data", data)
        await transcript.run("store", "check", data + "/tarn.sqlite")
        GoldenFile("transcripts/unknown-names.txt").expect(transcript.text)
    }

    /// Events of a fixed actor: those of commands have the user of the machine.
    @Test func auditLog() async throws {
        let folder = ScratchFolder("tarn-transcript")
        let data = folder.path
        var transcript = Transcript((data, "DATA"))
        await transcript.run("audit", "--data", data)
        let store = try SQLiteServerStore(path: data, use: .server)
        let events: [(AuditEvent.Actor, String, String, String, AuditEvent.Outcome)] = [
            (.account("mia"), "192.0.2.1", "console.sign-in", "console", .done),
            (.anonymous, "2001:db8::", "console.sign-in", "unknown account", .refused),
            (.account("mia"), "192.0.2.1", "console.api.schema.deploy", Self.container, .done),
            (.commandLine("root"), "", "user.add", "bo", .done),
        ]
        for (number, event) in events.enumerated() {
            try await store.append(
                AuditEvent(
                    time: 1_893_553_445_000 + Int64(number), actor: event.0, network: event.1, action: event.2, subject: event.3,
                    outcome: event.4))
        }
        try store.close()
        await transcript.run("audit", "--data", data)
        await transcript.run("audit", "--limit", "1", "--data", data)
        await transcript.run("audit", "--json", "--data", data)
        await transcript.run("audit", "--limit", "0", "--data", data)
        GoldenFile("transcripts/audit.txt").expect(transcript.text)
    }

    @Test func zones() async throws {
        let cloud = try InProcessCloud()
        let client = CloudDatabaseClient(
            containerIdentifier: Self.container, environment: .development, scope: .private,
            transport: try await cloud.addUser("mia", device: "phone"))
        let zone = ZoneID(zoneName: "Notes")
        _ = try await client.modifyZones(ZonesModifyRequest(operations: [.create(zone), .create(ZoneID(zoneName: "Empty"))]))
        let note = Record(recordName: "n1", recordType: "Note", fields: ["title": Field(.string("Milk"))])
        _ = try await client.modifyRecords(
            ModifyRecordsRequest(operations: [RecordOperation(.create, note)], zoneID: zone), idempotencyKey: "n1")
        let folder = ScratchFolder("tarn-transcript")
        try await cloud.backUp(to: folder.path)
        try cloud.discard()
        let data = folder.path
        var transcript = Transcript((data, "DATA"))
        let place = ["--container", Self.container, "--data", data]
        await transcript.run(["zone", "list", "--user", "mia"] + place, in: [])
        await transcript.run(["zone", "list", "--user", "mia", "--json"] + place, in: [])
        await transcript.run(["zone", "list", "--user", "mia", "--environment", "production"] + place, in: [])
        await transcript.run(["zone", "list", "--user", "mai"] + place, in: [])
        await transcript.run(["zone", "create", "Drafts", "--user", "mia"] + place, in: [])
        await transcript.run(["zone", "create", "Drafts", "--user", "mia", "--json"] + place, in: [])
        await transcript.run(["zone", "create", "_drafts", "--user", "mia"] + place, in: [])
        await transcript.run(["zone", "delete", "Notes", "--user", "mia"] + place, in: [])
        await transcript.run(["zone", "delete", "Notes", "--yes", "--user", "mia"] + place, in: [])
        await transcript.run(["zone", "delete", "Drafts", "--yes", "--user", "mia", "--json"] + place, in: [])
        await transcript.run(["zone", "list", "--user", "mia"] + place, in: [])
        await transcript.run("zone", "list", "--user", "mia", "--container", "iCloud.org.exmple.notes", "--data", data)
        await transcript.run("zone", "list", "--user", "mia", "--container", Self.container, "--server", "cloud")
        await transcript.run("zone", "list", "--user", "mia", "--container", Self.container, "--key-file", "mia.key")
        GoldenFile("transcripts/zones.txt").expect(transcript.text)
    }

    @Test func schemaChecks() async throws {
        let folder = ScratchFolder("tarn-transcript")
        let data = folder.path
        try FileManager.default.createDirectory(atPath: data, withIntermediateDirectories: true)
        let (model, schema) = (data + "/Notes.xcdatamodeld", data + "/production.ckdb")
        var transcript = Transcript((data, "DATA"))
        try SQLiteServerStore(path: data + "/server", use: .server).close()
        let server = ["--container", Self.container, "--data", data + "/server"]
        _ = await CommandRun("model", "new", model, "--entity", "Note", "--cloud", "title:String", "stars:Integer16=3")
        try Data("DEFINE SCHEMA RECORD TYPE CD_Note (CD_title STRING, CD_mood DOUBLE);".utf8).write(to: URL(filePath: schema))
        _ = await CommandRun(["schema", "import", "--file", schema] + server)
        await transcript.run("schema", "check", model, "--against", schema)
        await transcript.run("schema", "check", model, "--against", schema, "--earlier")
        await transcript.run("schema", "check", model, "--against", schema, "--json")
        await transcript.run(["schema", "check", model, "--against", "development", "--earlier"] + server, in: [])
        await transcript.run(["schema", "check", model, "--against", "production"] + server, in: [])
        await transcript.run("schema", "check", model, "--against", "production")
        await transcript.run("schema", "check", model, "--against", data + "/none.ckdb")
        await transcript.run(
            "schema", "check", model, "--against", "production", "--container", "iCloud.org.exmple.notes", "--data", data + "/server")
        GoldenFile("transcripts/schema-check.txt").expect(transcript.text)
    }

    @Test func records() async throws {
        let folder = ScratchFolder("tarn-transcript")
        let data = folder.path
        var transcript = Transcript((data, "DATA"))
        let place = ["--container", Self.container, "--data", data]
        _ = await CommandRun("user", "add", "mia", "--data", data)
        try Data(
            "DEFINE SCHEMA RECORD TYPE Note (\"___recordID\" REFERENCE QUERYABLE, title STRING QUERYABLE SORTABLE, stars INT64 QUERYABLE SORTABLE, due TIMESTAMP);"
                .utf8
        )
        .write(to: URL(filePath: data + "/notes.ckdb"))
        _ = await CommandRun(["schema", "import", "--file", data + "/notes.ckdb"] + place)
        await transcript.run("record", "put", "n1", "title=Buy milk", "stars=3", "--type", "Note", place[0], place[1], place[2], place[3])
        await transcript.run(
            "record", "put", "n2", "title=Call 'mia', now", "stars=5", "due=2030-01-02T03:04:05Z", "--type", "Note", place[0], place[1],
            place[2], place[3])
        await transcript.run("record", "put", "n3", "title=Sleep", place[0], place[1], place[2], place[3])
        await transcript.run("record", "put", "n1", "stars=4", "--json", place[0], place[1], place[2], place[3])
        await transcript.run("record", "query", "Note", place[0], place[1], place[2], place[3])
        await transcript.run("record", "query", "Note", "--where", "stars >= 5", place[0], place[1], place[2], place[3])
        await transcript.run(
            "record", "query", "Note", "--where", "title beginswith 'Buy m'", "--sort", "-stars", "--json", place[0], place[1], place[2],
            place[3])
        await transcript.run(
            "record", "query", "Note", "--where", "stars in (3, 4)", "--fields", "stars", place[0], place[1], place[2], place[3])
        await transcript.run("record", "query", "Note", "--where", "due > 2030-01-01T00:00:00Z", place[0], place[1], place[2], place[3])
        await transcript.run("record", "query", "Note", "--where", "nonsense", place[0], place[1], place[2], place[3])
        await transcript.run("record", "query", "Note", "--limit", "1", place[0], place[1], place[2], place[3])
        await transcript.run("record", "get", "n2", "n9", place[0], place[1], place[2], place[3])
        await transcript.run("record", "export", "--type", "Note", "--format", "csv", place[0], place[1], place[2], place[3])
        await transcript.run("record", "delete", "n1", "n9", "--yes", place[0], place[1], place[2], place[3])
        await transcript.run("container", "list", "--data", data)
        await transcript.run("container", "list", "--json", "--data", data)
        await transcript.run("record", "query", "Note", "--database", "private", place[0], place[1], place[2], place[3])
        await transcript.run("record", "query", "Note", "--server", "cloud", "--container", Self.container)
        GoldenFile("transcripts/records.txt").expect(transcript.text)
    }

    @Test func invalidLinesOfAnImportAreNumbered() async throws {
        let folder = ScratchFolder("tarn-transcript")
        let data = folder.path
        var transcript = Transcript((data, "DATA"))
        let place = ["--container", Self.container, "--data", data]
        _ = await CommandRun("user", "add", "mia", "--data", data)
        _ = await CommandRun(["record", "put", "first", "title=One", "--type", "Note"] + place)
        let lines = [
            #"{"recordName":"a","recordType":"Note","fields":{"title":{"value":"A","type":"STRING"}}}"#, "no JSON", "",
            #"{"recordName":"b","fields":{}}"#, #"{"recordName":"a","recordType":"Note","fields":{}}"#,
        ]
        try Data(lines.joined(separator: "\n").utf8).write(to: URL(filePath: data + "/bad.jsonl"))
        await transcript.run("record", "import", data + "/bad.jsonl", place[0], place[1], place[2], place[3])
        try Data("recordName,title:STRING,stars:INT64\na,\"two\nlines\",1\nb,x,many\nc,x\n".utf8).write(
            to: URL(filePath: data + "/bad.csv"))
        await transcript.run("record", "import", data + "/bad.csv", "--type", "Note", place[0], place[1], place[2], place[3])
        await transcript.run("record", "get", "a", place[0], place[1], place[2], place[3])
        try Data("recordName,title:STRING,stars:INT64\na,\"two\nlines\",1\nb,\"\",\n".utf8).write(to: URL(filePath: data + "/good.csv"))
        await transcript.run("record", "import", data + "/good.csv", "--type", "Note", "--check", place[0], place[1], place[2], place[3])
        await transcript.run("record", "import", data + "/good.csv", "--type", "Note", "--json", place[0], place[1], place[2], place[3])
        await transcript.run("record", "export", "--type", "Note", "--format", "csv", place[0], place[1], place[2], place[3])
        GoldenFile("transcripts/import.txt").expect(transcript.text)
    }
}
