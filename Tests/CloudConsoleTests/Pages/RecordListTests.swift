// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import Foundation
import ServiceFixtures
import Testing

@testable import CloudConsole

/// The console's list of records: pages, queries, files, and changes of many records.
@Suite struct RecordListTests {
    private static let list = "\(ConsoleTests.base)/records"
    private let village: Village
    private let visitor: BrowserSession
    private let mia: Village.Villager

    init() async throws {
        (village, visitor) = try await BrowserSession.signedIn()
        let token = try await village.store.addToken(userName: "mia", deviceLabel: "b", now: 0)
        mia = Village.Villager(village: village, account: "mia", token: token, name: "")
    }

    private func create(_ records: [Record]) async throws {
        let results = try await mia.modify(records.map { RecordOperation(.forceReplace, $0) })
        for case .failure(_, let error, _) in results { throw error }
    }

    private func thing(_ name: String, _ fields: [String: FieldValue]) -> Record {
        Record(recordName: name, recordType: "Thing", fields: fields.mapValues { Field($0) })
    }

    private func get(_ items: String) async -> String { await visitor.get("\(Self.list)?place=private/Garden&type=Thing&\(items)").text }

    private func names(_ text: String) -> [String] {
        text.split(separator: #"aria-label="Select "#).dropFirst().map { String($0.prefix { $0 != "\"" }) }.filter {
            $0 != "all records of this page"
        }
    }

    private static func address(_ text: String, _ label: String) -> String? {
        guard let end = text.range(of: ">\(label)</a>")?.lowerBound,
            let start = text.range(of: "href=\"", options: .backwards, range: text.startIndex..<end)?.upperBound
        else { return nil }
        return String(text[start..<end].prefix { $0 != "\"" }).replacing("&amp;", with: "&")
    }

    // MARK: Lists

    @Test func recordsAreListedNewestFirstWithoutAnIndex() async throws {
        try await create((0..<120).map { thing("t\($0)", ["n": .int64(Int64($0))]) })
        let first = await get("")
        #expect(names(first).first == "t119")
        #expect(names(first).count == 50)
        let next = try #require(Self.address(first, "Next page"))
        let second = await visitor.get(next).text
        #expect(names(second).first == "t69")
        let last = await visitor.get(try #require(Self.address(second, "Next page"))).text
        #expect(names(last).last == "t0")
        #expect(Self.address(last, "Next page") == nil)
        let back = await visitor.get(try #require(Self.address(last, "Previous page"))).text
        #expect(names(back).first == "t69")
        let start = await visitor.get(try #require(Self.address(back, "Previous page"))).text
        #expect(names(start).first == "t119")
        #expect(Self.address(start, "Previous page") == nil)
    }

    @Test func aLongWayBackEndsWithALinkToTheFirstPage() async throws {
        for start in stride(from: 0, to: 600, by: 200) {
            try await create((start..<start + 200).map { thing("t\($0)", ["n": .int64(Int64($0))]) })
        }
        var page = await get("")
        for _ in 1..<12 { page = await visitor.get(try #require(Self.address(page, "Next page"))).text }
        #expect(names(page).last == "t0")
        var firstNames: [String] = []
        while let previous = Self.address(page, "Previous page") {
            #expect(Self.address(page, "First page") == nil)
            page = await visitor.get(previous).text
            firstNames.append(names(page).first ?? "")
        }
        // Page 11 to page 4, none left out.
        #expect(firstNames == (4...11).reversed().map { "t\(599 - 50 * ($0 - 1))" })
        page = await visitor.get(try #require(Self.address(page, "First page"))).text
        #expect(names(page).first == "t599")
        #expect(Self.address(page, "First page") == nil)
    }

    @Test func otherTypesAndDeletedRecordsAreNotListed() async throws {
        try await create([thing("a", ["n": .int64(1)]), thing("b", ["n": .int64(1)]), .plant("p")])
        try await mia.modify([RecordOperation(.forceDelete, Record(recordName: "b"))])
        #expect(names(await get("")) == ["a"])
    }

    @Test func aRareRecordTypeIsListedBehindManyRecordsOfOthers() async throws {
        try await create([thing("first", ["n": .int64(1)])])
        for start in stride(from: 0, to: 600, by: 200) { try await create((start..<start + 200).map { .plant("p\($0)") }) }
        #expect(names(await get("")) == ["first"])
    }

    @Test(arguments: ["", "/export.json", "/export.csv", "/import"]) func aTypeThatDoesNotExistIsNamed(_ page: String) async throws {
        try await create([thing("a", [:])])
        let answer = await visitor.get("\(Self.list)\(page)?place=private/Garden&type=Gone")
        #expect(answer.status == 404)
        #expect(answer.text.contains("The record type &#39;Gone&#39; does not exist."), "\(answer.text)")
    }

    @Test func theFirstListShowsAZoneWithRecords() async throws {
        try await create([thing("a", ["n": .int64(1)])])
        let text = await visitor.get("\(Self.list)?type=Thing").text
        // The public database has a record, so it comes first.
        #expect(text.contains(#"<option value="public/_defaultZone" selected>"#))
        #expect(text.contains(#"<option value="private/Garden">My private: Garden (1)</option>"#))
    }

    @Test func theDefaultZoneOfAPrivateDatabaseIsListed() async throws {
        let request = ModifyRecordsRequest(operations: [RecordOperation(.create, thing("d", ["n": .int64(1)]))])
        _ = try await mia.ask(.private, .modifyRecords, request, ModifyRecordsResponse.self)
        let text = await visitor.get("\(Self.list)?place=private/_defaultZone&type=Thing").text
        #expect(names(text) == ["d"])
    }

    // MARK: Queries

    @Test(arguments: [
        ("field=n&comparator=IN&value=1,%203", ["a", "c"]), ("field=n&comparator=NOT_EQUALS&value=1", ["b", "c"]),
        ("field=title&comparator=BEGINS_WITH&value=Ga", ["a", "b"]), ("field=title&comparator=IN&value=%22Gate,%20old%22", ["b"]),
        ("field=spot&comparator=NEAR&value=48,%2011,%20100000", ["a"]), ("field=tags&comparator=LIST_CONTAINS_ANY&value=x,z", ["a", "c"]),
        ("field=title&comparator=BEGINS_WITH&value=Ga&field.1=n&comparator.1=GREATER_THAN&value.1=1", ["b"]),
        ("field=ref&comparator=EQUALS&value=a", ["c"]), ("sort=-n", ["c", "b", "a"]), ("sort=title&sort.1=-n", ["a", "b", "c"]),
        ("field=title&comparator=CONTAINS_ALL_TOKENS&value=old", ["b"]),
    ])
    func fieldsWithoutIndexAreQueryableInDevelopment(_ items: String, _ expected: [String]) async throws {
        let schema = "DEFINE SCHEMA RECORD TYPE Thing (n INT64, title STRING, spot LOCATION, tags LIST<STRING>, ref REFERENCE);"
        _ = try await village.service.schema(of: Village.container).importSchema(ContainerSchema(text: schema))
        try await create([
            thing(
                "a",
                [
                    "n": .int64(1), "title": .string("Garden"), "spot": .location(RecordLocation(latitude: 48, longitude: 11)),
                    "tags": .list([.string("x")], of: .string),
                ]),
            thing(
                "b",
                [
                    "n": .int64(2), "title": .string("Gate, old"), "spot": .location(RecordLocation(latitude: 1, longitude: 1)),
                    "tags": .list([.string("y")], of: .string),
                ]),
            thing(
                "c",
                [
                    "n": .int64(3), "title": .string("House"), "tags": .list([.string("z")], of: .string),
                    "ref": .reference(RecordReference(recordName: "a")),
                ]),
        ])
        let found = names(await get(items))
        #expect((items.contains("sort") ? found : found.sorted()) == expected)
    }

    @Test(arguments: [("field=n&comparator=EQUALS&value=many", "not a valid INT64"), ("field=spot&comparator=NEAR&value=48", "NEAR needs")])
    func valuesOfTheWrongTypeAreReported(_ items: String, _ problem: String) async throws {
        try await create([thing("a", ["n": .int64(1), "spot": .location(RecordLocation(latitude: 48, longitude: 11))])])
        #expect(await get(items).contains(problem))
    }

    @Test(arguments: ["BYTES", "BYTES_LIST", "ASSETID"]) func fieldsThatCannotBeQueriedAreNotOffered(_ type: String) async throws {
        let schema = type == "BYTES" ? "blob BYTES" : type == "ASSETID" ? "blob ASSET" : "blob LIST<BYTES>"
        _ = try await village.service.schema(of: Village.container).importSchema(
            ContainerSchema(text: "DEFINE SCHEMA RECORD TYPE Thing (n INT64, \(schema));"))
        let page = await get("field=blob&comparator=EQUALS&value=AAE=")
        #expect(page.contains("&#39;blob&#39; has the type \(type), which cannot be queried."))
        #expect(page.contains("<option>n</option>"))
        #expect(!page.contains("<option>blob</option>"))
        #expect(!page.contains("<option selected>blob</option>"))
    }

    /// An order needs an index that the type may have, and an order by locations needs a place that the form does not have.
    @Test func ordersThatNoQueryHasAreNotOffered() async throws {
        _ = try await village.service.schema(of: Village.container).importSchema(
            ContainerSchema(
                text:
                    "DEFINE SCHEMA RECORD TYPE Thing (n INT64, spot LOCATION, blob BYTES, file ASSET, tags LIST<STRING>, code ENCRYPTED STRING);"
            ))
        let page = await get("")
        for name in ["n", "recordName", "modifiedTimestamp"] {
            #expect(page.contains(#"<option value="\#(name)">\#(name), ascending</option>"#), "\(name)")
            #expect(page.contains(#"<option value="-\#(name)">\#(name), descending</option>"#), "\(name)")
        }
        for name in ["spot", "blob", "file", "tags", "code"] { #expect(!page.contains("\(name), ascending"), "\(name)") }
    }

    /// Apps, and the console in production, need the index.
    @Test func onlyTheConsoleInDevelopmentQueriesFieldsWithoutIndex() async throws {
        try await create([thing("a", ["n": .int64(1)])])
        _ = try await village.service.schema(of: Village.container).importSchema(
            ContainerSchema(text: "DEFINE SCHEMA RECORD TYPE Thing (n INT64);"))
        #expect(await visitor.confirm("\(ConsoleTests.base)/schema", ["do": "deploy"]).status == 303)
        let production =
            "/console/c/\(Village.container)/production/records?place=public/_defaultZone&type=Thing&field=n&comparator=EQUALS&value=1"
        #expect(await visitor.get(production).text.contains("not marked queryable"))
        let filter = QueryFilter(.field("n"), .equals, .int64(1))
        let request = QueryRecordsRequest(query: Query(recordType: "Thing", filters: [filter]), zoneID: mia.zone())
        await #expect(throws: WireError.self) { try await mia.ask(.private, .queryRecords, request, QueryRecordsResponse.self) }
        #expect(names(await get("field=n&comparator=EQUALS&value=1")) == ["a"])
    }

    @Test func aListShowsCountsColumnsAndCommands() async throws {
        try await create((0..<60).map { thing("t\($0)", ["n": .int64(Int64($0)), "title": .string("it's")]) })
        let text = await get("count=1&columns=1&c.title=1")
        #expect(text.contains("60 records"))
        #expect(text.contains(#"<th scope="col">title</th>"#))
        #expect(!text.contains(#"<th scope="col">n</th>"#))
        #expect(text.contains("curl -X POST &#39;http://tarn.example/database/1/"))
        #expect(await get("field=title&comparator=EQUALS&value=it's").contains(#"it&#39;\&#39;&#39;s"#))
    }

    /// A link to a list, with a filter of an attacker, shows a command that an operator may copy.
    @Test func aQuotationMarkWithACombiningMarkDoesNotEndAWordOfACommand() {
        #expect(CurlText.quoted("it's") == #"'it'\''s'"#)
        #expect(CurlText.quoted("x'\u{301};id;'\u{301}").utf8.elementsEqual("'x'\\''\u{301};id;'\\''\u{301}'".utf8))
    }

    // MARK: Bulk changes

    @Test func selectedRecordsAreDeletedAfterAConfirmation() async throws {
        try await create([thing("a", ["n": .int64(1)]), thing("b", ["n": .int64(1)]), thing("c", ["n": .int64(1)])])
        let tags = try await mia.lookup("a", "b").map { $0.record?.recordChangeTag ?? "" }
        var form = ["do": "delete", "x.0": "a", "t.0": tags[0], "x.1": "b", "t.1": tags[1]]
        let address = "\(Self.list)?place=private/Garden&type=Thing"
        let asked = await visitor.post(address, form)
        #expect(asked.text.contains("Delete 2 records"))
        #expect(names(await get("")).sorted() == ["a", "b", "c"])
        // One of them changes before the confirmation arrives.
        try await create([thing("b", ["n": .int64(2)])])
        form["confirmed"] = "yes"
        let done = await visitor.post(address, form)
        #expect(done.text.contains("1 of 2 records deleted."))
        #expect(names(await get("")).sorted() == ["b", "c"])
        #expect(await visitor.post(address, ["do": "delete"]).status == 400)
    }

    @Test func aFieldIsSetOnSelectedRecords() async throws {
        try await create([thing("a", ["n": .int64(1), "tags": .list([.string("x")], of: .string)]), thing("b", ["n": .int64(1)])])
        let tag = try await mia.lookup("a")[0].record?.recordChangeTag ?? ""
        let address = "\(Self.list)?place=private/Garden&type=Thing"
        #expect(await visitor.post(address, ["do": "edit", "set": "n", "to": "many", "x.0": "a", "t.0": tag]).status == 400)
        let form = ["do": "edit", "set": "tags", "to": #"y, "a, b""#, "x.0": "a", "t.0": tag]
        #expect(await visitor.post(address, form).text.contains("Change 1 record"))
        #expect(await visitor.post(address, form.merging(["confirmed": "yes"]) { $1 }).text.contains("1 of 1 record changed."))
        let changed = try #require(try await mia.lookup("a")[0].record)
        #expect(changed.fields["tags"]?.value == .list([.string("y"), .string("a, b")], of: .string))
        #expect(changed.fields["n"]?.value == .int64(1))
    }

    // MARK: Files

    private static let values: [String: FieldValue] = [
        "text": .string("=1+1,\n\"quoted\""), "apostrophe": .string("'=x"), "number": .int64(-5), "fraction": .double(0.1),
        "at": .timestamp(1_234_567_890_123),
        "blob": .bytes([0, 255, 1]), "ref": .reference(RecordReference(recordName: "a,b")),
        "spot": .location(RecordLocation(latitude: 48.5, longitude: -11)),
        "tags": .list([.string("a, b"), .string(""), .string("c\"d")], of: .string), "numbers": .list([.int64(1), .int64(-2)], of: .int64),
        "blank": .string(""),
    ]

    @Test(arguments: ["csv", "json"])
    func anExportRoundTripsThroughAnImport(_ kind: String) async throws {
        try await create([thing("a,b", Self.values), thing("-minus", ["number": .int64(3)])])
        let place = "place=private/Garden&type=Thing"
        let file = await visitor.get("\(Self.list)/export.\(kind)?\(place)")
        #expect(file.headers.contains { $0.name == "Content-Disposition" && $0.value == "attachment; filename=\"Thing.\(kind)\"" })
        if kind == "csv" { #expect(!file.text.contains("\"=1+1")) }
        let before = try await mia.lookup("a,b", "-minus").map { $0.record?.fields }
        try await mia.modify([
            RecordOperation(.forceDelete, Record(recordName: "a,b")), RecordOperation(.forceDelete, Record(recordName: "-minus")),
        ])
        let done = await visitor.post("\(Self.list)/import?\(place)", ["text": file.text, "existing": "keep"])
        #expect(done.text.contains("2 of 2 records imported."), "\(done.text)")
        #expect(try await mia.lookup("a,b", "-minus").map { $0.record?.fields } == before)
        // Once more: names that exist are kept, or replaced.
        #expect(await visitor.post("\(Self.list)/import?\(place)", ["text": file.text, "existing": "keep"]).text.contains("0 of 2"))
        #expect(await visitor.post("\(Self.list)/import?\(place)", ["text": file.text, "existing": "replace"]).text.contains("2 of 2"))
    }

    /// Browsers change the line breaks of text areas, but not the bytes of a chosen file.
    @Test(arguments: ["csv", "json"]) func aFileKeepsItsLineBreaks(_ kind: String) async throws {
        let fields: [String: FieldValue] = [
            "text": .string("a\r\nb\nc\rd"), "tags": .list([.string("x\r\ny"), .string("z")], of: .string),
        ]
        try await create([thing("a\r\nb", fields)])
        let place = "place=private/Garden&type=Thing"
        let file = await visitor.get("\(Self.list)/export.\(kind)?\(place)")
        let before = try await mia.lookup("a\r\nb").map { $0.record?.fields }
        try await mia.modify([RecordOperation(.forceDelete, Record(recordName: "a\r\nb"))])
        let form = ["file": Base64.encode(Array(file.text.utf8)), "existing": "keep"]
        let done = await visitor.post("\(Self.list)/import?\(place)", form)
        #expect(done.text.contains("1 of 1 record imported."), "\(done.text)")
        #expect(try await mia.lookup("a\r\nb").map { $0.record?.fields } == before)
    }

    /// The CSV that the console wrote before has no types, and other forms of times and locations.
    @Test func earlierFilesOfTheConsoleAreImported() async throws {
        try await create([thing("old", Self.values)])
        let text = #"""
            recordName,at,blank,blob,spot,tags,text
            '-x,2009-02-13 23:31:30.123,"",AP8B,"48.5, -11.0","""a, b"","""",""c""""d""",'=2
            """#
        let done = await visitor.post("\(Self.list)/import?place=private/Garden&type=Thing", ["text": text, "existing": "keep"])
        #expect(done.text.contains("1 of 1 record imported."), "\(done.text)")
        let fields = try await mia.lookup("-x")[0].record?.fields.compactMapValues(\.value)
        let same = ["at", "blank", "blob", "spot", "tags"]
        #expect(fields == Self.values.filter { same.contains($0.key) }.merging(["text": .string("=2")]) { $1 })
    }

    /// The list refers to `tarn record export` for large zones.
    @Test(arguments: [1, 2]) func jsonLinesOfTheCommandLineAreImported(_ count: Int) async throws {
        try await create([thing("old", Self.values)])
        let fields = try #require(try await mia.lookup("old")[0].record).fields
        let lines = (0..<count).map { String(decoding: thing("t\($0)", Self.values).encoded(), as: UTF8.self) + "\n" }
        let done = await visitor.post("\(Self.list)/import?place=private/Garden&type=Thing", ["text": lines.joined(), "existing": "keep"])
        #expect(done.text.contains("\(count) of \(count) \(count == 1 ? "record" : "records") imported."), "\(done.text)")
        #expect(try await mia.lookup("t0")[0].record?.fields == fields)
    }

    @Test func anImportKeepsTheParentsOfRecords() async throws {
        var child = thing("child", ["number": .int64(2)])
        child.sharing.parent = "root"
        try await create([thing("root", ["number": .int64(1)]), child])
        let place = "place=private/Garden&type=Thing"
        let file = await visitor.get("\(Self.list)/export.json?\(place)")
        try await mia.modify([
            RecordOperation(.forceDelete, Record(recordName: "child")), RecordOperation(.forceDelete, Record(recordName: "root")),
        ])
        let done = await visitor.post("\(Self.list)/import?\(place)", ["text": file.text, "existing": "keep"])
        #expect(done.text.contains("2 of 2 records imported."), "\(done.text)")
        #expect(try await mia.lookup("child")[0].record?.sharing.parent == "root")
        #expect(try await mia.lookup("root")[0].record?.sharing.parent == nil)
    }

    /// A replaced record keeps what CSV lacks. JSON has all of it.
    @Test(arguments: ["csv", "json"]) func aReplacedRecordKeepsWhatTheFileLacks(_ kind: String) async throws {
        var place = RecordLocation(latitude: 1.5, longitude: 2.5)
        place.altitude = 3.5
        var child = thing(
            "child", ["other": .reference(RecordReference(recordName: "root", action: .deleteSelf)), "spot": .location(place)])
        child.sharing.parent = "root"
        try await create([thing("root", ["number": .int64(1)]), child])
        let list = "place=private/Garden&type=Thing"
        let file = await visitor.get("\(Self.list)/export.\(kind)?\(list)").text
        let before = try #require(try await mia.lookup("child")[0].record)
        let change = Record(recordName: "child", recordType: "Thing", fields: ["number": Field(.int64(2))])
        try await mia.modify([RecordOperation(.forceUpdate, change)])
        let done = await visitor.post("\(Self.list)/import?\(list)", ["text": file, "existing": "replace"])
        #expect(done.text.contains("2 of 2"), "\(done.text)")
        let after = try #require(try await mia.lookup("child")[0].record)
        #expect(after.fields == before.fields)
        #expect(after.sharing.parent == "root")
    }

    @Test func parentsAreImportedBeforeTheirChildren() {
        func record(_ name: String, _ parent: String? = nil) -> Record {
            var record = thing(name, [:])
            record.sharing.parent = parent
            return record
        }
        let records = [record("c", "b"), record("x"), record("b", "a"), record("a"), record("elsewhere", "none"), record("loop", "loop")]
        #expect(ImportPage.parentsFirst(records).map(\.recordName) == ["x", "a", "elsewhere", "b", "c", "loop"])
    }

    @Test func aCompleteExportHasNoMark() async throws {
        try await create((0..<300).map { thing("t\($0)", ["number": .int64(Int64($0))]) })
        let place = "place=private/Garden&type=Thing"
        let file = await visitor.get("\(Self.list)/export.csv?\(place)")
        #expect(file.text.split(separator: "\r\n").count == 301)
        #expect(!file.headers.contains { $0.name == "X-Tarn-Export" })
        #expect(await get("").contains("the first 10000 records; use <code>tarn record export</code> for all"))
    }

    @Test(arguments: [
        ([200, 200], 1000, false), (Array(repeating: 200, count: 50), 1000, false), (Array(repeating: 200, count: 51), 1000, true),
        (Array(repeating: 300, count: 34), 1000, true), ([200, 200], 50_000_000, true), ([200], 50_000_000, false), ([0, 200], 0, false),
    ])
    func anExportThatIsCutSaysSo(_ pages: [Int], _ bytes: Int, _ isCut: Bool) {
        var (meter, taken) = (ExportMeter(), 0)
        for (index, count) in pages.enumerated() {
            taken += meter.take(count)
            if !meter.goesOn(bytes: bytes, hasMore: index < pages.count - 1) { break }
        }
        #expect(meter.isCut == isCut)
        #expect(taken <= ExportMeter.recordsMax)
        if !isCut { #expect(taken == pages.reduce(0, +)) }
    }

    @Test(arguments: [
        ("recordName,nothing\na,1", "has no field"), ("recordName,number\na,many", "Line 2"), ("recordName\na,b", "more values"),
        ("recordName,at\na,soon", "Write it in UTC"), ("recordName,number:STRING\na,1", "instead of STRING"),
        ("recordName,text\na,\"b", "a quotation mark has no end"),
        ("", "no records"), ("{\"records\":[{]}", "invalid"),
    ])
    func filesThatCannotBeReadAreNamed(_ text: String, _ problem: String) async throws {
        try await create([thing("a", Self.values)])
        let page = await visitor.post("\(Self.list)/import?place=private/Garden&type=Thing", ["text": text])
        #expect(page.text.contains(#"role="alert""#))
        if !text.hasPrefix("{") { #expect(page.text.contains(problem)) }
    }

    /// Editors and imports read the forms that their messages name.
    @Test(arguments: [(FieldType.timestamp, ["2030-01-02T03:04:05Z", "2030-01-02"]), (FieldType.location, ["48.137,11.575"])])
    func advisedFormsAreRead(_ type: FieldType, _ forms: [String]) {
        for form in forms {
            #expect(type.advice.contains(form))
            #expect(FieldText.value(form, type: type.rawValue) != nil, "\(form)")
            #expect(FieldText.value(cell: form, type: type.rawValue) != nil, "\(form)")
        }
    }

    // MARK: One record

    @Test func aRecordLinksToItsTargetsAndReferrers() async throws {
        try await create([thing("a", ["n": .int64(1)]), thing("c", ["ref": .reference(RecordReference(recordName: "a"))])])
        let source = await visitor.get("\(Self.list)/private/Garden/c").text
        #expect(source.contains("/records/private/Garden/a\">Open a</a>"))
        let target = await visitor.get("\(Self.list)/private/Garden/a").text
        let back = try #require(Self.address(target, "Thing.ref"))
        #expect(names(await visitor.get(back).text) == ["c"])
        #expect(target.contains("&quot;recordName&quot;: &quot;a&quot;"))
        #expect(target.contains("/records/lookup"))
    }
}
