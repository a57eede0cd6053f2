// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Testing

@Suite struct SchemaTextTests {
    static let garden = """
        define schema // a garden
            Create Role Moderators; -- who may clean up

            RECORD TYPE Plant (
                "___recordID" REFERENCE QUERYABLE, "___modTime" TIMESTAMP SORTABLE QUERYABLE,
                name STRING QUERYABLE SEARCHABLE SORTABLE, /* all
                there is */ "count" int64 QUERYABLE,
                bed REFERENCE, photo ASSET, tags LIST<STRING> QUERYABLE, note ENCRYPTED STRING,
                legacy NUMBER PREFERRED AS INT64, "Queryable" NUMBER, plain LIST < NUMBER > ,
                GRANT WRITE TO "_creator", GRANT READ, CREATE TO Moderators, GRANT WRITE TO Moderators
            );
            RECORD TYPE "Empty" ();
        """

    static let printed = """
        DEFINE SCHEMA

            CREATE ROLE Moderators;

            RECORD TYPE Empty (
                "___createTime" TIMESTAMP,
                "___createdBy"  REFERENCE,
                "___etag"       STRING,
                "___modTime"    TIMESTAMP,
                "___modifiedBy" REFERENCE,
                "___recordID"   REFERENCE
            );

            RECORD TYPE Plant (
                "___createTime" TIMESTAMP,
                "___createdBy"  REFERENCE,
                "___etag"       STRING,
                "___modTime"    TIMESTAMP QUERYABLE SORTABLE,
                "___modifiedBy" REFERENCE,
                "___recordID"   REFERENCE QUERYABLE,
                "Queryable"     NUMBER,
                bed             REFERENCE,
                count           INT64 QUERYABLE,
                legacy          NUMBER PREFERRED AS INT64,
                name            STRING QUERYABLE SEARCHABLE SORTABLE,
                note            ENCRYPTED STRING,
                photo           ASSET,
                plain           LIST<NUMBER>,
                tags            LIST<STRING> QUERYABLE,
                GRANT WRITE TO "_creator",
                GRANT READ, CREATE, WRITE TO Moderators
            );

        """

    @Test func aSchemaIsReadAndPrintedInOneForm() throws {
        let schema = try ContainerSchema(text: Self.garden)
        #expect(schema.text == Self.printed)
        #expect(try ContainerSchema(text: schema.text) == schema)
        #expect(schema.types["Plant"]?.schema.systemIndexes == [.recordName: .queryable, .modifiedTimestamp: [.queryable, .sortable]])
        #expect(schema.types["Plant"]?.grants.byRole == ["_creator": .write, "Moderators": [.read, .create, .write]])
    }

    @Test(arguments: [
        ("", "line 1, column 1: found the end, expected DEFINE"),
        (
            "DEFINE SCHEMA RECORD TYPE P (a STRNG);",
            "line 1, column 32: found 'STRNG', expected ASSET, BYTES, DOUBLE, INT64, LOCATION, NUMBER, REFERENCE, STRING, TIMESTAMP, ENCRYPTED, LIST"
        ),
        ("DEFINE SCHEMA\nRECORD TYPE P (\n  a STRING\n  b STRING\n);", "line 4, column 3: found 'b', expected ',' or ')'"),
        ("DEFINE SCHEMA RECORD TYPE P ()", "line 1, column 31: found the end, expected ';'"),
        ("DEFINE SCHEMA DROP TABLE;", "line 1, column 15: found 'DROP', expected CREATE ROLE or RECORD TYPE"),
        ("DEFINE SCHEMA CREATE ROLE A; CREATE ROLE A;", "line 1, column 42: the role 'A' is made twice"),
        ("DEFINE SCHEMA RECORD TYPE P (); RECORD TYPE \"P\" ();", "line 1, column 45: the record type \"P\" stands twice"),
        ("DEFINE SCHEMA RECORD TYPE 9 ();", "line 1, column 27: '9' has no meaning here"),
        (
            "DEFINE SCHEMA RECORD TYPE \"a b\" ();",
            "line 1, column 27: a record type begins with a letter, followed by letters, digits and underscores"
        ),
        ("DEFINE SCHEMA RECORD TYPE P (a STRING, a INT64);", "line 1, column 40: the field 'a' stands twice"),
        (
            "DEFINE SCHEMA RECORD TYPE P (SORTABLE STRING);",
            "line 1, column 30: found 'SORTABLE': put it in quotes to use it as a field's name"
        ),
        (
            "DEFINE SCHEMA RECORD TYPE P (a ENCRYPTED REFERENCE);",
            "line 1, column 42: found 'REFERENCE', expected BYTES, DOUBLE, INT64, LOCATION, STRING, TIMESTAMP"
        ),
        ("DEFINE SCHEMA RECORD TYPE P (a NUMBER PREFERRED AS STRING);", "line 1, column 52: found 'STRING', expected INT64 or DOUBLE"),
        (
            "DEFINE SCHEMA RECORD TYPE P (GRANT READ TO Nobody);",
            "line 1, column 44: the role 'Nobody' does not exist: create it with CREATE ROLE"
        ),
        ("DEFINE SCHEMA RECORD TYPE P (GRANT DELETE TO \"_icloud\");", "line 1, column 36: found 'DELETE', expected READ, CREATE or WRITE"),
        ("DEFINE SCHEMA /* no end", "line 1, column 15: the comment does not end"),
        ("DEFINE SCHEMA RECORD TYPE \"P", "line 1, column 27: the quoted name does not end"),
        ("DEFINE SCHEMA RECORD TYPE \"P\n\" ();", "line 1, column 27: the quoted name does not end in its line"),
        ("DEFINE SCHEMA ; ;", "line 1, column 15: found ';', expected CREATE ROLE or RECORD TYPE"),
    ])
    func whatIsWrongIsNamedWithItsPlace(_ text: String, _ expected: String) {
        let fault = #expect(throws: SchemaFault.self) { try ContainerSchema(text: text) }
        #expect(fault?.description == expected)
    }

    /// What exports of the live service have and this server does not is left out, and said.
    @Test(arguments: [
        (
            "(a BYTES QUERYABLE SORTABLE)", "a BYTES",
            [
                "QUERYABLE is left out: a field of type BYTES cannot be QUERYABLE",
                "SORTABLE is left out: a field of type BYTES cannot be SORTABLE",
            ]
        ),
        ("(a ASSET QUERYABLE)", "a ASSET", ["QUERYABLE is left out: a field of type ASSET cannot be QUERYABLE"]),
        (
            "(a ENCRYPTED STRING QUERYABLE)", "a ENCRYPTED STRING",
            ["QUERYABLE is left out: a field of type ENCRYPTED STRING cannot be QUERYABLE"]
        ),
        ("(a ENCRYPTED ASSET)", "a ASSET", ["ENCRYPTED is left out: a field of type ASSET cannot be ENCRYPTED"]),
        ("(a ENCRYPTED LIST<STRING>)", "a LIST<ENCRYPTED STRING>", []),
        ("(a LIST<ENCRYPTED STRING>)", "a LIST<ENCRYPTED STRING>", []),
        ("(a LIST<INT64> SORTABLE)", "a LIST<INT64>", ["SORTABLE is left out: a field of type LIST<INT64> cannot be SORTABLE"]),
        ("(a STRING SORTABLE SORTABLE)", "a STRING SORTABLE", ["SORTABLE stands twice"]),
        ("(\"___recordID\" STRING)", "", ["the system field \"___recordID\" is of type REFERENCE"]),
        ("(\"___etag\" STRING QUERYABLE)", "", ["the system field \"___etag\" cannot have indexes"]),
        (
            "(\"___share\" REFERENCE, \"___parent\" REFERENCE QUERYABLE)", "",
            [
                "the system field \"___share\" is left out: the schema language does not have it",
                "the system field \"___parent\" is left out: the schema language does not have it",
            ]
        ),
        ("(___recordID REFERENCE)", "", ["names that begin with an underscore stand in quotes"]),
        ("(\"cloudkit.title\" STRING)", "", ["the field \"cloudkit.title\" is left out: the server does not have it"]),
        ("(GRANT READ, WRITE TO \"_world\")", "GRANT READ TO \"_world\"", ["the role \"_world\" can only be granted READ"]),
        ("(GRANT WRITE TO \"_world\")", "", ["the role \"_world\" can only be granted READ"]),
        ("(GRANT READ TO \"_admin\")", "", ["the grant is left out: the role \"_admin\" does not exist"]),
        ("(); RECORD TYPE \"_pcs_data\" (x BYTES)", "", ["the system type \"_pcs_data\" is left out: the server does not have it"]),
        (
            "(); RECORD TYPE \"cloudkit.other\" (x BYTES)", "",
            ["the system type \"cloudkit.other\" is left out: the server does not have it"]
        ),
    ])
    func whatHasNoMeaningHereIsLeftOutWithAWarning(_ body: String, _ line: String, _ warnings: [String]) throws {
        let (schema, found) = try ContainerSchema.read("DEFINE SCHEMA RECORD TYPE P \(body);")
        #expect(found.map(\.what) == warnings)
        #expect(Array(schema.types.keys) == ["P"])
        let printed = schema.text.split(separator: "\n").map { $0.split { " ,".contains($0) }.joined(separator: " ") }
        #expect(printed.filter { !$0.hasPrefix("\"___") } == ["DEFINE SCHEMA", "RECORD TYPE P ("] + (line.isEmpty ? [] : [line]) + [");"])
    }

    /// The schema of an app with Core Data and sharing, as the console of the live service prints it.
    @Test func anExportWithSharesUsersAndRolesIsReadWhole() throws {
        let text = """
            DEFINE SCHEMA\r
            \tCREATE ROLE "App Admin";\r
            -- shares\r
                RECORD TYPE "cloudkit.share" (
                    "___createTime"               TIMESTAMP,
                    "___recordID"                 REFERENCE QUERYABLE,
                    "cloudkit.thumbnailImageData" BYTES,
                    "cloudkit.title"              STRING QUERYABLE SEARCHABLE SORTABLE,
                    "cloudkit.type"               STRING,
                    color                         STRING,
                    GRANT WRITE TO "_creator"
                );
                RECORD TYPE Users (
                    "___recordID" REFERENCE,
                    roles LIST<INT64>,
                    GRANT WRITE TO "_creator", GRANT READ TO "_world"
                );
                record type CD_Post (
                    CD_content_ckAsset ASSET, CD_data BYTES QUERYABLE SORTABLE, CD_moveReceipt BYTES,
                    grant read, create, write to "App Admin", "grant" string,
                    GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud", GRANT READ TO "_world"
                );
            """
        let (schema, warnings) = try ContainerSchema.read(text)
        #expect(
            warnings.map(\.what) == [
                "QUERYABLE is left out: a field of type BYTES cannot be QUERYABLE",
                "SORTABLE is left out: a field of type BYTES cannot be SORTABLE",
            ])
        #expect(warnings.map(\.line) == [19, 19])
        #expect(schema.types.keys.sorted() == ["CD_Post", "Users", "cloudkit.share"])
        #expect(schema.roles == ["App Admin"])
        #expect(schema.types["cloudkit.share"]?.schema.fields["cloudkit.title"]?.indexes == [.queryable, .searchable, .sortable])
        #expect(schema.types["CD_Post"]?.grants.byRole["App Admin"] == [.read, .create, .write])
        let again = try ContainerSchema.read(schema.text)
        #expect(again.schema == schema)
        #expect(again.warnings.isEmpty)
    }

    @Test func aTextThatIsTooLongIsRefused() {
        let text = "DEFINE SCHEMA " + String(repeating: " ", count: ContainerSchema.textBytesMax)
        #expect(throws: SchemaFault.self) { try ContainerSchema(text: text) }
    }

    @Test(arguments: 0..<60 as Range<UInt64>)
    func printedSchemasParse(_ seed: UInt64) throws {
        var world = SchemaWorld(random: SeededGenerator(seed: seed))
        let schema = world.schema()
        #expect(try ContainerSchema(text: schema.text) == schema)
        #expect(schema.changes(to: schema).isEmpty)
        let other = world.schema()
        #expect(schema.changes(to: other).count == other.changes(to: schema).count || !schema.changes(to: other).isEmpty)
        // Deploying is additive: nothing that production had is gone or different afterwards, and a second time changes nothing.
        if let deployed = try? schema.deploying(other) {
            #expect(schema.changes(to: deployed).allSatisfy { $0.refusalInProduction == nil && !$0.line.hasPrefix("- ") })
            #expect(try deployed.deploying(other) == deployed)
        } else {
            #expect(schema.changes(to: other).contains { $0.refusalInProduction != nil })
        }
    }

    /// Texts with one character changed, removed or doubled are read or refused, and never end the process.
    @Test(arguments: 0..<40 as Range<UInt64>)
    func damagedTextsAreReadOrRefused(_ seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<50 {
            var characters = Array(Self.garden)
            for _ in 0..<Int.random(in: 1...3, using: &random) {
                let place = Int.random(in: 0..<characters.count, using: &random)
                switch Int.random(in: 0...2, using: &random) {
                case 0: characters[place] = Array("()<>,;\"/*-_ \n9Zé")[Int.random(in: 0..<16, using: &random)]
                case 1: characters.remove(at: place)
                default: characters.insert(characters[place], at: place)
                }
            }
            do {
                let schema = try ContainerSchema(text: String(characters))
                #expect(try ContainerSchema(text: schema.text) == schema)
            } catch {
                #expect(error.line > 0)
                #expect(error.column > 0)
            }
        }
    }
}

/// Random schemas of few names, so that two of them have much in common.
struct SchemaWorld {
    var random: SeededGenerator

    mutating func pick<Element>(_ elements: [Element]) -> Element { elements[Int.random(in: 0..<elements.count, using: &random)] }

    mutating func indexes(_ type: String) -> FieldIndexes {
        FieldIndexes(rawValue: Int.random(in: 0...7, using: &random)).intersection(FieldIndexes.possible(forType: type))
    }

    mutating func schema() -> ContainerSchema {
        var schema = ContainerSchema(roles: Set((0..<Int.random(in: 0...2, using: &random)).map { "Role\($0)" }))
        let types = [
            "STRING", "INT64", "DOUBLE", "NUMBER", "NUMBER_INT64", "NUMBER_DOUBLE", "TIMESTAMP", "BYTES", "REFERENCE", "LOCATION",
            "ASSETID",
            "STRING_LIST", "REFERENCE_LIST", "ASSETID_LIST", "NUMBER_LIST",
        ]
        for name in ["A", "B", "C_1"] where Bool.random(using: &random) {
            var type = ContainerSchema.RecordType()
            for field in ["a", "b", "grant", "Sortable", "list", "define"] where Bool.random(using: &random) {
                let word = pick(types)
                let isEncrypted = ["STRING", "BYTES", "LOCATION"].contains(word) && Bool.random(using: &random)
                type.schema.fields[field] = FieldSchema(type: word, isEncrypted: isEncrypted, indexes: isEncrypted ? [] : indexes(word))
            }
            for field in [QueryKey.SystemField.recordName, .modifiedTimestamp, .createdUserRecordName] {
                let words = indexes(field.type)
                if !words.isEmpty { type.schema.systemIndexes[field] = words }
            }
            for role in schema.roles.union(["_creator", "_icloud"]).sorted() where Bool.random(using: &random) {
                type.grants.byRole[role] = RolePermissions(rawValue: Int.random(in: 1...7, using: &random))
            }
            if Bool.random(using: &random) { type.grants.byRole["_world"] = .read }
            schema.types[name] = type
        }
        return schema
    }
}
