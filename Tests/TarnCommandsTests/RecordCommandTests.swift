// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngineSQLite
import CloudInProcess
import CloudKit
import CloudService
import CloudWire
import Foundation
import Logging
import Testing

@testable import TarnCommands

@Suite struct RecordCommandTests {
    private static let container = "iCloud.org.example.notes"

    @Test(arguments: [
        ("title == Milk", QueryFilter(.field("title"), .equals, .string("Milk"))),
        ("title='3'", QueryFilter(.field("title"), .equals, .string("3"))),
        ("stars>=3", QueryFilter(.field("stars"), .greaterThanOrEquals, .int64(3))),
        ("stars:double < 3", QueryFilter(.field("stars"), .lessThan, .double(3))),
        ("price != 3.50", QueryFilter(.field("price"), .notEquals, .double(3.5))),
        ("due > 2030-01-02T03:04:05Z", QueryFilter(.field("due"), .greaterThan, .timestamp(1_893_553_445_000))),
        ("due:timestamp > 2030-01-02", QueryFilter(.field("due"), .greaterThan, .timestamp(1_893_542_400_000))),
        ("due > 2030-01-02", QueryFilter(.field("due"), .greaterThan, .string("2030-01-02"))),
        ("list == @shopping", QueryFilter(.field("list"), .equals, .reference(RecordReference(recordName: "shopping")))),
        ("recordName beginswith note-", QueryFilter(.system(.recordName), .beginsWith, .string("note-"))),
        ("tag in (red, 'dark, blue')", QueryFilter(.field("tag"), .isIn, .list([.string("red"), .string("dark, blue")], of: .string))),
        ("tags contains red", QueryFilter(.field("tags"), .listContains, .string("red"))),
        ("text matches 'two words'", QueryFilter(.field("text"), .containsAllTokens, .string("two words"))),
        (
            "place near 48.1,11.5,5000",
            QueryFilter(.field("place"), .near, .location(RecordLocation(latitude: 48.1, longitude: 11.5)), distance: 5000)
        ),
    ])
    func conditionsAreRead(_ text: String, _ filter: QueryFilter) {
        #expect(RecordFilter(argument: text)?.filter == filter)
    }

    @Test(arguments: [
        "", "title", "== 3", "title ~ 3", "stars:color == 3", "stars:int64 == many", "tag in ()", "tag in (1, red)", "tag in (red",
        "place near 200,0,1",
        "ti tle == 3", "tag in ('red)",
    ])
    func invalidConditionsAreRefused(_ text: String) {
        #expect(RecordFilter(argument: text) == nil)
    }

    @Test(arguments: [
        ("spot:location=200,0", "'200,0' isn't a valid location for 'spot'. Write degrees north and east"),
        ("at:timestamp=soon", "'soon' isn't a valid timestamp for 'at'. Write it in UTC"),
        ("tags:string_list=a", "Types are string, int64"), ("=3", "isn't a field"), ("title", "isn't a field"),
    ])
    func invalidAssignmentsAreExplained(_ assignment: String, _ problem: String) async {
        let put = await CommandRun("record", "put", "n1", assignment, "--container", Self.container)
        #expect(put.status == 64)
        #expect(put.notes.contains(problem), "\(put.notes)")
    }

    /// The subject names the owner, container and environment, and no zone: its name is the user's data.
    @Test func restorationsAndDeletionsOfZonesAreAudited() async throws {
        let folder = ScratchFolder("tarn-record")
        let place = ["--container", Self.container, "--data", folder.path]
        _ = await CommandRun("user", "add", "mia", "--data", folder.path)
        try await ServerData(folder: folder.path, database: nil, settingsFile: nil).withStore(mustExist: true) { store in
            try await store.keepHistory(milliseconds: 86_400_000, now: 0)
        }
        #expect(await CommandRun(["record", "put", "n1", "title=Milk", "--type", "Note"] + place).status == 0)
        #expect(await CommandRun(["zone", "create", "Secret", "--user", "mia"] + place).status == 0)
        let own = ["--database", "private", "--user", "mia", "--zone", "Secret"] + place
        #expect(await CommandRun(["record", "put", "n1", "title=Milk", "--type", "Note"] + own).status == 0)
        let stored = try Record(json: Array(await CommandRun(["record", "get", "n1", "--json"] + own).output.utf8))
        let time = TimestampText.iso(try #require(stored.modified).timestamp)
        let restored = await CommandRun(["zone", "restore", "Secret", "--at", time, "--user", "mia"] + place)
        #expect(restored.status == 0, "\(restored.notes)")
        #expect(await CommandRun(["zone", "delete", "Secret", "--yes", "--user", "mia"] + place).status == 0)
        let audit = await CommandRun("audit", "--json", "--data", folder.path).output
        for action in ["zone.restore", "zone.delete"] {
            let event = #""action":"\#(action)","subject":"mia, \#(Self.container) development","outcome":"done""#
            #expect(audit.contains(event), "\(audit)")
        }
        #expect(!audit.contains("Secret"))
    }

    @Test func aQuotationWithoutAnEndIsRefused() async throws {
        let folder = ScratchFolder("tarn-record")
        _ = await CommandRun("user", "add", "mia", "--data", folder.path)
        let file = folder.path + "/notes.csv"
        try Data("recordName,title:STRING\na,\"b".utf8).write(to: URL(filePath: file))
        let run = await CommandRun(
            "record", "import", file, "--type", "Note", "--check", "--container", Self.container, "--data", folder.path)
        #expect(run.status == 1)
        #expect(run.notes.contains("line 2: a quotation mark has no end."), "\(run.notes)")
    }

    /// The same fields are printed whether an index is needed or not.
    @Test(arguments: [[], ["--where", "stars == 3"]] as [[String]]) func chosenFieldsAreThoseOfJSON(_ condition: [String]) async throws {
        let folder = ScratchFolder("tarn-record")
        let place = ["--container", Self.container, "--data", folder.path]
        _ = await CommandRun("user", "add", "mia", "--data", folder.path)
        let schema = folder.path + "/notes.ckdb"
        try Data("DEFINE SCHEMA RECORD TYPE Note (title STRING, stars INT64 QUERYABLE);".utf8).write(to: URL(filePath: schema))
        _ = await CommandRun(["schema", "import", "--file", schema] + place)
        let put = await CommandRun(["record", "put", "n1", "title=Milk", "stars=3", "--type", "Note"] + place)
        #expect(put.status == 0, "\(put.notes)")
        let found = await CommandRun(["record", "query", "Note", "--fields", "title", "--json"] + condition + place)
        #expect(try Record(json: Array(found.output.utf8)).fields.keys.sorted() == ["title"], "\(found.notes)")
        let unknown = await CommandRun(["record", "query", "Note", "--fields", "title,strs"] + condition + place)
        #expect(unknown.status == 1)
        #expect(
            unknown.notes == "Error: The record type Note has no field 'strs'. It has stars, title. Did you mean 'stars'?\n")
    }

    @Test func aFieldHasOneValue() async {
        let put = await CommandRun("record", "put", "n1", "d=3", "d:double=4", "--type", "Note", "--container", Self.container)
        #expect(put.status == 64)
        #expect(put.notes.contains("The field 'd' has two values"), "\(put.notes)")
    }

    /// Without a type, a location is a text, and so is a day.
    @Test func valuesOfAnotherTypeAreExplained() async throws {
        let folder = ScratchFolder("tarn-record")
        let place = ["--container", Self.container, "--data", folder.path]
        _ = await CommandRun("user", "add", "mia", "--data", folder.path)
        let schema = folder.path + "/notes.ckdb"
        let text = "DEFINE SCHEMA RECORD TYPE Note (l LOCATION, t TIMESTAMP QUERYABLE SORTABLE, b BYTES, f ASSET, tags LIST<STRING>);"
        try Data(text.utf8).write(to: URL(filePath: schema))
        _ = await CommandRun(["schema", "import", "--file", schema] + place)
        for (assignment, step) in [
            ("l=48,11", "Write l:location=VALUE. Write degrees north and east"),
            ("t=1970-01-01", "Write t:timestamp=VALUE. Write it in UTC"),
            ("b=&", "Write b:bytes=VALUE. Write it in Base64."), ("f=x", "Set files in the console."),
            ("tags=red", "Set lists in the console, or with 'tarn record import'."),
        ] {
            let put = await CommandRun(["record", "put", "n1", assignment, "--type", "Note"] + place)
            #expect(put.status == 1)
            #expect(put.notes.contains(step), "\(put.notes)")
        }
        let query = await CommandRun(["record", "query", "Note", "--where", "t < 1970-01-01"] + place)
        #expect(query.status == 1)
        #expect(query.notes.contains("Name the type in the condition, such as FIELD:timestamp. Write it in UTC"), "\(query.notes)")
        #expect(await CommandRun(["record", "query", "Note", "--where", "t:timestamp < 1970-01-01"] + place).status == 0)
    }

    /// An export, imported into another container, is the same export.
    @Test(arguments: ["jsonl", "csv"]) func exportAndImportAreInverse(_ format: String) async throws {
        let folder = ScratchFolder("tarn-record")
        let data = folder.path
        _ = await CommandRun("user", "add", "mia", "--data", data)
        let source = ["--container", Self.container, "--data", data], copy = ["--container", "iCloud.org.example.copy", "--data", data]
        for (name, fields) in [
            ("n1", ["title=Buy milk, \"fresh\"", "stars=3", "price=3.5", "due=2030-01-02T03:04:05.678Z", "list=@shopping"]),
            ("n2", ["place:location=48.1,11.5", "key:bytes=AAEC", "title='x\r\ny'"]),
        ] {
            #expect(await CommandRun(["record", "put", name] + fields + ["--type", "Note"] + source).status == 0)
        }
        let file = data + "/notes.\(format)"
        #expect(await CommandRun(["record", "export", "--type", "Note", "--format", format, "--output", file] + source).status == 0)
        #expect(await CommandRun(["record", "put", "other", "a=1", "--type", "Other"] + copy).status == 0)
        let imported = await CommandRun(["record", "import", file, "--type", "Note"] + copy)
        #expect(imported.output == "2 records imported\n", "\(imported.notes)")
        let (first, second) = (
            await CommandRun(["record", "export", "--type", "Note", "--format", "csv"] + source),
            await CommandRun(["record", "export", "--type", "Note", "--format", "csv"] + copy)
        )
        #expect(first.output.contains("2030-01-02T03:04:05.678Z"))
        #expect(first.output == second.output)
    }

    /// CSV lacks actions and parts of locations: the stored records keep them.
    @Test func anImportOfCSVKeepsWhatTheFileLacks() async throws {
        let folder = ScratchFolder("tarn-record")
        let place = ["--container", Self.container, "--data", folder.path]
        _ = await CommandRun("user", "add", "mia", "--data", folder.path)
        let lines = folder.path + "/notes.jsonl"
        try Data(
            (#"{"recordName":"n2","recordType":"Note","fields":{"title":{"type":"STRING","value":"Shopping"}}}"# + "\n"
                + #"{"recordName":"n1","recordType":"Note","fields":{"title":{"type":"STRING","value":"Milk"},"#
                + #""tags":{"type":"STRING_LIST","value":["a","b"]},"#
                + #""list":{"type":"REFERENCE","value":{"recordName":"n2","action":"DELETE_SELF"}},"#
                + #""place":{"type":"LOCATION","value":{"latitude":1.5,"longitude":2.5,"altitude":3.5}}}}"# + "\n").utf8
        ).write(to: URL(filePath: lines))
        let imported = await CommandRun(["record", "import", lines] + place)
        #expect(imported.output == "2 records imported\n", "\(imported.notes)")
        let before = await CommandRun(["record", "get", "n1", "--json"] + place)
        let csv = await CommandRun(["record", "export", "--type", "Note", "--format", "csv"] + place)
        let file = folder.path + "/notes.csv"
        try Data(csv.output.replacing("Milk", with: "Oat milk").utf8).write(to: URL(filePath: file))
        let again = await CommandRun(["record", "import", file, "--type", "Note"] + place)
        #expect(again.output == "2 records imported\n", "\(again.notes)")
        let found = await CommandRun(["record", "get", "n1", "--json"] + place)
        var fields = try Record(json: Array(before.output.utf8)).fields
        #expect(fields.count == 4)
        fields["title"] = Field(.string("Oat milk"))
        #expect(try Record(json: Array(found.output.utf8)).fields == fields)
    }

    @Test func theConsolesExportIsImported() async throws {
        let folder = ScratchFolder("tarn-record")
        let place = ["--container", Self.container, "--data", folder.path]
        _ = await CommandRun("user", "add", "mia", "--data", folder.path)
        let file = folder.path + "/Note.json"
        let record = #"{"recordName":"n1","recordType":"Note","fields":{"title":{"type":"STRING","value":"Milk"}}}"#
        try Data("{\"records\":[\n\(record),\n\(record)\n]}\n".utf8).write(to: URL(filePath: file))
        let twice = await CommandRun(["record", "import", file] + place)
        #expect(twice.notes.contains("line 3: the record n1 is in line 2 already"), "\(twice.notes)")
        try Data("{\"records\":[\n\(record)\n]}\n".utf8).write(to: URL(filePath: file))
        let imported = await CommandRun(["record", "import", file] + place)
        #expect(imported.output == "1 record imported\n", "\(imported.notes)")
        // One line is a file of JSON lines.
        try Data(record.utf8).write(to: URL(filePath: file))
        #expect(await CommandRun(["record", "import", file] + place).output == "1 record imported\n")
    }

    @Test(arguments: ["ü", "_n1"]) func namesOfAFileAreCheckedBeforeTheImport(_ name: String) async throws {
        let folder = ScratchFolder("tarn-record")
        _ = await CommandRun("user", "add", "mia", "--data", folder.path)
        let file = folder.path + "/notes.jsonl"
        try Data(#"{"recordName":"\#(name)","recordType":"Note","fields":{}}"#.utf8).write(to: URL(filePath: file))
        let checked = await CommandRun(
            "record", "import", file, "--check", "--container", Self.container, "--data", folder.path)
        #expect(checked.status == 1)
        #expect(checked.notes.contains("line 1: \(name): "), "\(checked.notes)")
    }

    /// A user's own zone, with the record as a device wrote it.
    @Test func privateRecordsAreReachedInTheDataFolder() async throws {
        let cloud = try InProcessCloud()
        let transport = try await cloud.addUser("mia", device: "phone")
        let client = CloudDatabaseClient(
            containerIdentifier: Self.container, environment: .development, scope: .private, transport: transport)
        let note = Record(recordName: "n1", recordType: "Note", fields: ["title": Field(.string("Milk"))])
        let zone = ZoneID(zoneName: "Notes")
        _ = try await client.modifyZones(ZonesModifyRequest(operations: [.create(zone)]))
        _ = try await client.modifyRecords(
            ModifyRecordsRequest(operations: [RecordOperation(.create, note)], zoneID: zone), idempotencyKey: "n1")
        let folder = ScratchFolder("tarn-record")
        try await cloud.backUp(to: folder.path)
        try cloud.discard()
        let place = ["--database", "private", "--user", "mia", "--zone", "Notes", "--container", Self.container, "--data", folder.path]
        let found = await CommandRun(["record", "query", "Note", "--json"] + place)
        #expect(try Record(json: Array(found.output.utf8)).fields["title"]?.value == .string("Milk"))
        let nobody = await CommandRun(
            "record", "query", "Note", "--database", "private", "--user", "mio", "--container", Self.container, "--data", folder.path)
        #expect(nobody.notes.contains("Did you mean 'mia'?"), "\(nobody.notes)")
        let audit = await CommandRun("audit", "--json", "--data", folder.path)
        #expect(audit.output.contains(#""action":"record.query","subject":"\#(Self.container) development mia""#), "\(audit.output)")
    }

    @Test func aMistypedZoneOrRecordTypeIsAnError() async {
        let folder = ScratchFolder("tarn-record")
        let place = ["--container", Self.container, "--data", folder.path]
        #expect(await CommandRun("user", "add", "mia", "--data", folder.path).status == 0)
        #expect(await CommandRun(["record", "put", "n1", "title=Milk", "--type", "Note"] + place).status == 0)
        #expect(await CommandRun(["zone", "create", "Notes", "--user", "mia"] + place).status == 0)
        let own = ["--database", "private", "--user", "mia", "--zone", "Nots"] + place
        for arguments in [["export"], ["get", "n1"], ["put", "n1", "title=Tea", "--type", "Note"], ["delete", "n1", "--yes"]] {
            let run = await CommandRun(["record"] + arguments + own)
            #expect(run.status == 1)
            #expect(
                run.notes
                    == "Error: The zone Nots does not exist in the private database of mia, \(Self.container), development. It has Notes. Did you mean 'Notes'?\n"
            )
        }
        let shared = await CommandRun(["record", "export", "--zone", "Notes"] + place)
        #expect(shared.notes.contains("A public database has the default zone only: leave --zone out."), "\(shared.notes)")
        let types = await CommandRun(["record", "export", "--type", "Note", "--type", "Nots"] + place)
        #expect(types.status == 1)
        #expect(types.output.isEmpty)
        #expect(types.notes.contains("It has Note. Did you mean 'Note'?"), "\(types.notes)")
    }

    @Test(arguments: [["--where", "titel == Milk"], ["--sort", "-titel"]])
    func aMistypedFieldOfAQueryHasASuggestion(_ option: [String]) async {
        let folder = ScratchFolder("tarn-record")
        let place = ["--container", Self.container, "--data", folder.path]
        #expect(await CommandRun("user", "add", "mia", "--data", folder.path).status == 0)
        #expect(await CommandRun(["record", "put", "n1", "title=Milk", "--type", "Note"] + place).status == 0)
        let run = await CommandRun(["record", "query", "Note"] + option + place)
        #expect(run.status == 1)
        #expect(run.notes == "Error: The record type Note has no field 'titel'. It has title. Did you mean 'title'?\n")
    }

    @Test func aRecordNameDoesNotControlTheTerminal() async {
        let folder = ScratchFolder("tarn-record")
        let place = ["--container", Self.container, "--data", folder.path]
        #expect(await CommandRun("user", "add", "mia", "--data", folder.path).status == 0)
        let put = await CommandRun(["record", "put", "n\u{1B}[31m", "title=Milk", "--type", "Note"] + place)
        #expect(put.output == "n\\u{1b}[31m: created\n", "\(put.notes)")
        let deleted = await CommandRun(["record", "delete", "n\u{1B}[31m", "--yes"] + place)
        #expect(deleted.output == "n\\u{1b}[31m: deleted\n", "\(deleted.notes)")
    }

    @Test func aFailedExportLeavesNoFile() async throws {
        let folder = ScratchFolder("tarn-record")
        let place = ["--container", Self.container, "--data", folder.path]
        let (files, path) = (FileManager.default, folder.path + "/notes.jsonl")
        #expect(await CommandRun("user", "add", "mia", "--data", folder.path).status == 0)
        #expect(await CommandRun(["record", "put", "n1", "title=Milk", "--type", "Note"] + place).status == 0)
        let failed = await CommandRun(["record", "export", "--zone", "Nots", "--output", path] + place)
        #expect(failed.status == 1)
        #expect(!files.fileExists(atPath: path))
        #expect(!files.fileExists(atPath: path + ".partial"))
        // A file of an interrupted export does not keep another from its place.
        #expect(files.createFile(atPath: path + ".partial", contents: Data("left".utf8)))
        #expect(await CommandRun(["record", "export", "--output", path] + place).status == 0)
        #expect(try String(contentsOfFile: path, encoding: .utf8).contains("Milk"))
        #expect(!files.fileExists(atPath: path + ".partial"))
        let again = await CommandRun(["record", "export", "--output", path] + place)
        #expect(again.notes.contains("File exists"), "\(again.notes)")
    }

    @Test func anExportHasItsNameOnceItIsComplete() throws {
        let folder = ScratchFolder("tarn-record")
        try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true)
        let path = folder.path + "/notes.jsonl"
        let file = try ExportFile(path: path)
        try file.line(String(repeating: "a", count: 2 << 20))
        #expect(!FileManager.default.fileExists(atPath: path))
        try file.close()
        #expect(FileManager.default.contents(atPath: path)?.count == (2 << 20) + 1)
    }

    @Test(arguments: [("none", "no such file or directory"), ("folder", "it is a folder")])
    func aFileThatCannotBeReadHasAReason(_ name: String, _ reason: String) async throws {
        let folder = ScratchFolder("tarn-record")
        try FileManager.default.createDirectory(atPath: folder.path + "/folder", withIntermediateDirectories: true)
        let run = await CommandRun("record", "import", "\(folder.path)/\(name)", "--container", Self.container, "--data", folder.path)
        #expect(run.status == 1)
        #expect(
            run.notes == "Error: The file \(folder.path)/\(name) cannot be read (\(reason)): name a file that this user may read.\n")
    }

    // MARK: A server

    @Test func anOperatorsKeyReachesAServer() async throws {
        let folder = ScratchFolder("tarn-record")
        let data = folder.path
        for arguments in [["user", "add", "mia"], ["user", "profile", "mia", "--operator"], ["user", "add", "bo"]] {
            #expect(await CommandRun(arguments + ["--data", data]).status == 0)
        }
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let server = try LocalServer(
            data: data, host: "127.0.0.1", port: 0, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let running = Task { try await server.run(endsOnSignals: false) { continuation.yield($0) } }
        var iterator = ports.makeAsyncIterator()
        let port = try #require(await iterator.next())
        let keyFile = data + "/operator.key"
        let key = await CommandRun("user", "operator-key", "mia", "--data", data)
        #expect(FileManager.default.createFile(atPath: keyFile, contents: Data(key.output.utf8), attributes: [.posixPermissions: 0o600]))
        let place = ["--server", "http://127.0.0.1:\(port)", "--key-file", keyFile, "--container", Self.container]
        let put = await CommandRun(["record", "put", "n1", "title=Milk", "--type", "Note"] + place)
        #expect(put.output == "n1: created\n", "\(put.notes)")
        let found = await CommandRun(["record", "query", "Note", "--json"] + place)
        #expect(try Record(json: Array(found.output.utf8)).fields["title"]?.value == .string("Milk"), "\(found.notes)")
        let deleted = await CommandRun(["record", "delete", "n1", "--yes"] + place)
        #expect(deleted.output == "n1: deleted\n", "\(deleted.notes)")
        // The server's audit log has each request under the operator's name.
        let audit = await CommandRun("audit", "--json", "--data", data)
        #expect(audit.output.contains(#""actor":"mia","network":"127.0.0.1","action":"console.api.records.modify""#), "\(audit.output)")

        // A key file that other users may read is refused.
        let readable = data + "/readable.key"
        #expect(FileManager.default.createFile(atPath: readable, contents: Data(key.output.utf8), attributes: [.posixPermissions: 0o644]))
        let refusedFile = await CommandRun([
            "record", "query", "Note", "--server", "http://127.0.0.1:\(port)", "--key-file", readable, "--container", Self.container,
        ])
        #expect(refusedFile.notes.contains("chmod 600"), "\(refusedFile.notes)")
        let notOperator = await CommandRun("user", "operator-key", "bo", "--data", data)
        #expect(notOperator.notes.contains("bo is not an operator"), "\(notOperator.notes)")

        // Without the operator flag, and after a sign-out, the key has no rights.
        #expect(await CommandRun("user", "profile", "mia", "--no-operator", "--data", data).status == 0)
        let noOperator = await CommandRun(["record", "query", "Note"] + place)
        #expect(noOperator.status == 1)
        #expect(await CommandRun("user", "profile", "mia", "--operator", "--data", data).status == 0)
        #expect(await CommandRun("user", "sign-out", "mia", "--data", data).status == 0)
        let ended = await CommandRun(["record", "query", "Note"] + place)
        #expect(ended.notes.contains("does not accept the operator's key"), "\(ended.notes)")
        running.cancel()
        _ = await running.result
    }

    /// The engine accepts 2 MB of records in one request.
    @Test func anImportSendsWhatTheServerAccepts() {
        let text = FieldValue.string(String(repeating: "x", count: 900_000))
        let large = (0..<5).map { Record(recordName: "r\($0)", recordType: "Note", fields: ["text": Field(text)]) }
        #expect(RecordBatches(large, of: { $0 }).map(\.count) == [2, 2, 1])
        let small = (0..<201).map { Record(recordName: "r\($0)", recordType: "Note") }
        #expect(RecordBatches(small, of: { $0 }).map(\.count) == [200, 1])
    }

    @Test func keysAreShownNowhere() throws {
        let key = try OperatorKey(file: nil, environment: [OperatorKey.variable: "secret-of-mia"])
        #expect("\(key)" == "•••")
        #expect(Mirror(reflecting: key).children.isEmpty)
        #expect(throws: CommandError.self) { try OperatorKey(file: nil, environment: [:]) }
        #expect(throws: CommandError.self) { try OperatorKey(file: nil, environment: [OperatorKey.variable: "two words"]) }
    }
}
