// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import ServiceFixtures
import Testing

/// Record types, their fields and indexes, and the deployment, by form.
@Suite struct SchemaPagesTests {
    private static let types = "\(ConsoleTests.base)/types"
    private let village: Village
    private let visitor: BrowserSession

    init() async throws { (village, visitor) = try await BrowserSession.signedIn() }

    private func type(_ name: String) async throws -> ContainerSchema.RecordType? {
        try await village.service.schema(of: Village.container).export(.development).types[name]
    }

    @Test func aTypeIsCreatedWithTheDefaultGrants() async throws {
        #expect(await visitor.post(Self.types, ["do": "add-type", "name": "Tree"]).location == "\(Self.types)/Tree")
        #expect(try await type("Tree") == ContainerSchema.RecordType(grants: .standard))
        for name in ["Plant", "1st", "a b", "", "x;y", "_x"] {
            #expect(await visitor.post(Self.types, ["do": "add-type", "name": name]).text.contains(#"role="alert""#), "\(name)")
        }
        let production = "/console/c/\(Village.container)/production/types"
        #expect(await visitor.post(production, ["do": "add-type", "name": "Bush"]).text.contains("from development"))
    }

    @Test func fieldsAreAddedToAType() async throws {
        #expect(await visitor.post("\(Self.types)/Plant", ["do": "add-field", "name": "height", "type": "DOUBLE"]).status == 303)
        #expect(await visitor.post("\(Self.types)/Plant", ["do": "add-field", "name": "tags", "type": "LIST<STRING>"]).status == 303)
        #expect(
            await visitor.post("\(Self.types)/Plant", ["do": "add-field", "name": "secret", "type": "STRING", "encrypted": "yes"]).status
                == 303)
        let fields = try #require(try await type("Plant")).schema.fields
        #expect(fields["height"]?.type == "DOUBLE")
        #expect(fields["tags"]?.type == "STRING_LIST")
        #expect(fields["secret"]?.isEncrypted == true)
        #expect(await visitor.get("\(Self.types)/Plant").text.contains("<td>ENCRYPTED STRING</td>"))
        #expect(fields["name"]?.type == "STRING")
        for (name, kind) in [("name", "INT64"), ("a b", "INT64"), ("x", "NONSENSE"), ("x INT64, y", "INT64"), ("recordName", "STRING")] {
            let refused = await visitor.post("\(Self.types)/Plant?saved=field", ["do": "add-field", "name": name, "type": kind])
            #expect(refused.text.contains(#"role="alert""#), "\(name)")
            #expect(!refused.text.contains("The field was added."), "\(name)")
        }
        #expect(try await type("Plant")?.schema.fields.count == fields.count)
    }

    @Test func oneFormAddsTheIndexesThatMirroredStoresNeed() async throws {
        #expect(await visitor.get("\(Self.types)/Plant").text.contains("Add these indexes"))
        #expect(await visitor.post("\(Self.types)/Plant", ["do": "index"]).status == 303)
        let indexes = try #require(try await type("Plant")).schema.systemIndexes
        #expect(indexes[.recordName] == [.queryable])
        #expect(indexes[.modifiedTimestamp] == [.queryable, .sortable])
        #expect(try await type("Plant")?.grants == .standard)
        #expect(await !visitor.get("\(Self.types)/Plant").text.contains("Add these indexes"))
    }

    @Test func removalsNameTheFieldsAndRecordsThatTheyDelete() async throws {
        let page = "\(Self.types)/Plant"
        let asked = await visitor.post(page, ["do": "remove-field", "field": "count"])
        #expect(asked.text.contains("1 value of field Plant.count"))
        #expect(try await type("Plant")?.schema.fields["count"] != nil)
        // The code of another removal confirms nothing.
        let other = await visitor.post(page, ["do": "remove-field", "field": "name"]).text
        let code = try #require(other.range(of: #"name="confirmed" value=""#).map { String(other[$0.upperBound...].prefix { $0 != "\"" }) })
        _ = await visitor.post(page, ["do": "remove-field", "field": "count", "confirmed": code])
        #expect(try await type("Plant")?.schema.fields["count"] != nil)
        #expect(await visitor.confirm(page, ["do": "remove-field", "field": "count"]).status == 303)
        #expect(try await type("Plant")?.schema.fields["count"] == nil)
        #expect(await visitor.confirm(page, ["do": "remove-type"]).location == Self.types)
        #expect(try await type("Plant") == nil)
    }

    @Test func theRemovalOfATypeWithHeldRecordsIsRefusedBeforeTheConfirmation() async throws {
        let token = try await village.store.addToken(userName: "mia", deviceLabel: "b", now: 0)
        let mia = Village.Villager(village: village, account: "mia", token: token, name: "")
        let reference = FieldValue.reference(RecordReference(recordName: "p<1>", action: .validate))
        let note = Record(recordName: "n", recordType: "Note", fields: ["plant": Field(reference)])
        let request = ModifyRecordsRequest(operations: [RecordOperation(.create, note)])
        let saved = try await mia.ask(.public, .modifyRecords, request, ModifyRecordsResponse.self)
        #expect(saved.results.map { $0.record?.recordName } == ["n"])
        let answer = await visitor.post("\(Self.types)/Plant", ["do": "remove-type"])
        #expect(answer.text.contains("by VALIDATE references: remove the field as well"), "\(answer.text)")
        #expect(!answer.text.contains(#"name="confirmed""#))
        #expect(try await type("Plant") != nil)
    }

    @Test func schemaDifferencesAreExplainedAndDeployedAfterAConfirmation() async throws {
        let schema = "\(ConsoleTests.base)/schema"
        let page = await visitor.get(schema).text
        #expect(page.contains("+ type Plant"))
        #expect(page.contains("Apps can save records of this type."))
        let asked = await visitor.post(schema, ["do": "deploy"])
        let code = try #require(
            asked.text.range(of: #"name="confirmed" value=""#).map { String(asked.text[$0.upperBound...].prefix { $0 != "\"" }) })
        // Another change arrives before the confirmation.
        _ = await visitor.post(Self.types, ["do": "add-type", "name": "Tree"])
        #expect(await visitor.post(schema, ["do": "deploy", "confirmed": code]).text.contains("+ type Tree"))
        #expect(try await village.service.schema(of: Village.container).export(.production).types["Plant"] == nil)
        let done = await visitor.confirm(schema, ["do": "deploy"])
        #expect(try await village.service.schema(of: Village.container).export(.production).types["Tree"] != nil)
        #expect(await visitor.get(try #require(done.location)).text.contains("deployed to production"))
    }

    @Test func rolesAreSavedIfThereAreSome() async throws {
        let page = "\(ConsoleTests.base)/roles?account=mia"
        #expect(await !visitor.get(page).text.contains("Save</button>"))
        _ = try await village.service.schema(of: Village.container).importSchema(
            ContainerSchema(text: "DEFINE SCHEMA CREATE ROLE Moderators; RECORD TYPE Plant (name STRING, count INT64);"))
        let text = await visitor.get(page).text
        #expect(text.contains("Save</button>"))
        #expect(text.contains("Roles of mia"))
        #expect(text.contains("name=\"account\" value=\"mia\""))
    }

    @Test func aRejectedSchemaTextStaysInThePage() async throws {
        let broken = await visitor.post("\(ConsoleTests.base)/schema", ["do": "validate", "text": "DEFINE SCHEMA\nRECORD TIPE X ();"])
        #expect(broken.status == 400)
        #expect(broken.text.contains("RECORD TIPE X"))
        #expect(broken.text.contains("Line 2"))
    }

    @Test func everySchemaChangeHasItsOwnExplanation() {
        let field = FieldSchema(type: "STRING", isEncrypted: false)
        let changes: [SchemaChange] = [
            .addedRole("r"), .removedRole("r"), .addedType("T"), .removedType("T"), .addedField(type: "T", field: "f", field),
            .removedField(type: "T", field: "f", field), .changedField(type: "T", field: "f", from: field, to: field),
            .addedIndexes(type: "T", field: "f", [.queryable, .searchable]), .removedIndexes(type: "T", field: "f", .sortable),
            .changedGrants(type: "T", role: "_world", from: [], to: .read), .changedGrants(type: "T", role: "r", from: .read, to: []),
        ]
        #expect(Set(changes.map(\.meaning)).count == changes.count)
        #expect(changes.allSatisfy { $0.meaning.hasSuffix(".") })
    }
}
