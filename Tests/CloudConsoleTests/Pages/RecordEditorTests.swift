// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudConsole
import CloudEngine
import CloudEngineSQLite
import CloudService
import CloudWire
import ServiceFixtures
import TestBasics
import Testing

/// The console's record editor never changes fields that the user did not edit.
@Suite struct RecordEditorTests {
    /// An operator's browser on records of the operator's own zone.
    struct Editor {
        let mia: Village.Villager
        let visitor: BrowserSession

        init(schema: String? = nil) async throws {
            let (village, visitor) = try await BrowserSession.signedIn()
            let token = try await village.store.addToken(userName: "mia", deviceLabel: "b", now: 0)
            mia = Village.Villager(village: village, account: "mia", token: token, name: "")
            self.visitor = visitor
            if let schema { _ = try await village.service.schema(of: Village.container).importSchema(ContainerSchema(text: schema)) }
        }

        func page(_ name: String) -> String { "\(ConsoleTests.base)/records/private/Garden/\(QueryItems.encode(name))" }

        func record(_ name: String) async throws -> Record { try #require(try await mia.lookup(name)[0].record) }

        func form(_ name: String) async throws -> BrowserForm { try BrowserForm(record: await visitor.get(page(name)).text) }

        func submit(_ form: BrowserForm, _ name: String, pressing button: String = "do", _ value: String = "save") async
            -> BrowserSession.Answer
        {
            await visitor.send("POST", page(name), form.body(pressing: button, value))
        }

        @discardableResult
        func create(_ name: String, _ fields: [String: FieldValue]) async throws -> Record {
            let record = Record(recordName: name, recordType: "Thing", fields: fields.mapValues { Field($0) })
            let results = try await mia.modify([RecordOperation(.forceReplace, record)])
            if case .failure(_, let error, _) = results[0] { throw error }
            return try await self.record(name)
        }
    }

    static let schema = """
        DEFINE SCHEMA
        RECORD TYPE Thing (
            text STRING, number INT64, fraction DOUBLE, at TIMESTAMP, ref REFERENCE, place LOCATION, blob BYTES, any NUMBER,
            secret ENCRYPTED STRING, texts LIST<STRING>, numbers LIST<INT64>, fractions LIST<DOUBLE>, times LIST<TIMESTAMP>,
            refs LIST<REFERENCE>, places LIST<LOCATION>, blobs LIST<BYTES>, empty LIST<STRING>, other STRING
        );
        """

    // MARK: Random records

    /// Texts that HTML, browsers and Swift treat in their own ways.
    static let texts = [
        "", "\n", "\n\n", "\na", "a\n", "a\nb", "a\r\nb", "a\rb", "a\r\nb\nc\rd", " lead", "trail ", "\t", "a, b", "a,b\nc", "null",
        "<b>&amp;&lt;\"'", "</textarea><script>alert(1)</script>", "\"\u{301} onfocus=\"x", "<\u{301}", "'\u{20DD}", "e\u{301}", "\u{E9}",
        "\u{FEFF}x", "\u{2028}", "👩‍👩‍👧", "\u{0}", "a\u{0}b", "\u{1}\u{7F}", "%41+&=", "\u{FFFD}", "dear Ben,\nsee you.\n",
        String(repeating: "long\n", count: 200),
    ]
    static let integers: [Int64] = [.min, .max, 0, -1, 1, 9_007_199_254_740_993]
    static let fractions: [Double] = [0, -0.0, 0.1, 1, 1e300, .leastNonzeroMagnitude, -1.5, .pi, 1e15, 123_456_789.123_456_79]
    static let times: [Int64] = [0, 1, -1, 999, 1_234_567_890_123, .min, .max, -62_167_219_200_001, 253_402_300_800_000, 4_102_444_799_999]

    static func reference(_ random: inout SeededNumbers) -> RecordReference {
        // One that deletes its source needs its target; `VALIDATE` and `NONE` do, or do not.
        RecordReference(
            recordName: ["target", "target 2", "a,b"].randomElement(using: &random) ?? "target",
            zoneID: Bool.random(using: &random) ? ZoneID(zoneName: Village.garden) : nil,
            action: [.none, .deleteSelf].randomElement(using: &random) ?? .none)
    }

    static func location(_ random: inout SeededNumbers) -> RecordLocation {
        var place = RecordLocation(
            latitude: Double.random(in: -90...90, using: &random), longitude: Double.random(in: -180...180, using: &random))
        if Bool.random(using: &random) { place.altitude = 1200 }
        if Bool.random(using: &random) { place.horizontalAccuracy = 5.25 }
        if Bool.random(using: &random) { place.verticalAccuracy = 0.1 }
        if Bool.random(using: &random) { place.speed = 3 }
        if Bool.random(using: &random) { place.course = 181.5 }
        if Bool.random(using: &random) { place.timestamp = 1_700_000_000_001 }
        return place
    }

    static func value(_ type: FieldType, _ random: inout SeededNumbers) -> FieldValue {
        switch type {
        case .string: .string(texts.randomElement(using: &random) ?? "")
        case .int64: .int64(integers.randomElement(using: &random) ?? 0)
        case .double: .double(fractions.randomElement(using: &random) ?? 0)
        case .timestamp: .timestamp(times.randomElement(using: &random) ?? 0)
        case .bytes, .asset: .bytes((0..<Int.random(in: 0...40, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) })
        case .reference: .reference(reference(&random))
        case .location: .location(location(&random))
        }
    }

    static let types: [(name: String, type: FieldType, isList: Bool)] = [
        ("text", .string, false), ("number", .int64, false), ("fraction", .double, false), ("at", .timestamp, false),
        ("ref", .reference, false), ("place", .location, false), ("blob", .bytes, false), ("other", .string, false),
        ("texts", .string, true), ("numbers", .int64, true), ("fractions", .double, true), ("times", .timestamp, true),
        ("refs", .reference, true), ("places", .location, true), ("blobs", .bytes, true),
    ]

    static func fields(_ random: inout SeededNumbers) -> [String: FieldValue] {
        var fields: [String: FieldValue] = [:]
        for (name, type, isList) in types where Int.random(in: 0..<5, using: &random) > 0 {
            if isList {
                let count = Int.random(in: 0...4, using: &random)
                fields[name] = .list((0..<count).map { _ in value(type, &random) }, of: type)
            } else {
                fields[name] = value(type, &random)
            }
        }
        if Bool.random(using: &random) { fields["any"] = Bool.random(using: &random) ? .int64(7) : .double(7.5) }
        if Bool.random(using: &random) { fields["empty"] = .list([], of: .string) }
        return fields
    }

    @Test func savingAnUntouchedFormWritesNothing() async throws {
        let editor = try await Editor(schema: Self.schema)
        for target in ["target", "target 2", "a,b"] { try await editor.create(target, [:]) }
        for seed in 0..<60 as Range<UInt64> {
            var random = SeededNumbers(seed: seed)
            let before = try await editor.create("random", Self.fields(&random))
            let form = try await editor.form("random")
            let answer = await editor.submit(form, "random")
            #expect(answer.status == 303, "seed \(seed): \(answer.text)")
            let after = try await editor.record("random")
            #expect(after == before, "seed \(seed)")
            #expect(after.encoded() == before.encoded(), "seed \(seed)")
            // Not even one more row for a list, which shows the form again.
            let more = try BrowserForm(record: await editor.submit(form, "random", pressing: "more", "texts").text)
            #expect(await editor.submit(more, "random").status == 303)
            #expect(try await editor.record("random") == before, "seed \(seed)")
        }
    }

    @Test func editingOneFieldChangesNoOther() async throws {
        let editor = try await Editor(schema: Self.schema)
        for target in ["target", "target 2", "a,b"] { try await editor.create(target, [:]) }
        let texts: [FieldType: (String, FieldValue)] = [
            .string: ("new\nlines", .string("new\nlines")), .int64: ("-42", .int64(-42)), .double: ("2.5", .double(2.5)),
            .timestamp: ("2030-01-02 03:04:05.5", .timestamp(1_893_553_445_500)),
        ]
        for seed in 0..<60 as Range<UInt64> {
            var random = SeededNumbers(seed: seed)
            let before = try await editor.create("random", Self.fields(&random))
            var form = try await editor.form("random")
            let (name, type, isList) = Self.types[Int(seed) % Self.types.count]
            guard let (text, new) = texts[type], let control = form.names(of: name).last else { continue }
            form[control] = text
            #expect(await editor.submit(form, "random").status == 303, "seed \(seed)")
            let after = try await editor.record("random")
            var expected = before
            var value = new
            if isList {
                var elements: [FieldValue] = []
                if case .list(let old, _)? = before.fields[name]?.value { elements = old }
                value = .list(elements + [new], of: type)
            } else if case .string(let old)? = before.fields[name]?.value, old.utf8.contains(13), !old.utf8.contains(10) {
                value = .string("new\rlines")
            } else if case .string("a\r\nb")? = before.fields[name]?.value {
                value = .string("new\r\nlines")
            }
            expected.fields[name] = Field(value)
            #expect(after.fields == expected.fields, "seed \(seed), \(name)")
        }
    }

    // MARK: One by one

    @Test func editingAReferenceOrALocationKeepsItsHiddenMembers() async throws {
        let editor = try await Editor(schema: Self.schema)
        for target in ["target", "second"] { try await editor.create(target, [:]) }
        var place = RecordLocation(latitude: 46.1, longitude: 7.5)
        (place.altitude, place.horizontalAccuracy, place.timestamp) = (1200, 5, 1_700_000_000_000)
        let reference = RecordReference(recordName: "target", zoneID: ZoneID(zoneName: Village.garden), action: .deleteSelf)
        try await editor.create(
            "r", ["ref": .reference(reference), "place": .location(place), "refs": .list([.reference(reference)], of: .reference)])
        let stored = try await editor.record("r")
        var form = try await editor.form("r")
        form["f.ref"] = "second"
        form["f.place"] = "46.2, 7.5"
        form["v.0.refs"] = "second"
        #expect(await editor.submit(form, "r").status == 303)
        let after = try await editor.record("r")
        guard case .reference(var expected)? = stored.fields["ref"]?.value else {
            Issue.record("no reference")
            return
        }
        expected.recordName = "second"
        place.latitude = 46.2
        #expect(expected.action == .deleteSelf)
        #expect(after.fields["ref"]?.value == .reference(expected))
        #expect(after.fields["refs"]?.value == .list([.reference(expected)], of: .reference))
        #expect(after.fields["place"]?.value == .location(place))
        let shown = await editor.visitor.get(editor.page("r")).text
        #expect(shown.contains("DELETE_SELF"))
        #expect(shown.contains("altitude 1200.0 m"))
    }

    @Test func aListIsEditedByElement() async throws {
        let editor = try await Editor(schema: Self.schema)
        try await editor.create("l", ["texts": .list(["a, b", "c", "", "d\ne"].map { .string($0) }, of: .string)])
        var form = try await editor.form("l")
        #expect(form.names(of: "texts").count == 5)
        form["v.1.texts"] = "x, y"
        form.check("x.0.texts")
        form["v.4.texts"] = ""
        form.check("k.4.texts")
        #expect(await editor.submit(form, "l").status == 303)
        #expect(try await editor.record("l").fields["texts"]?.value == .list(["x, y", "", "d\ne", ""].map { .string($0) }, of: .string))
        var all = try await editor.form("l")
        for index in 0..<4 { all.check("x.\(index).texts") }
        #expect(await editor.submit(all, "l").status == 303)
        #expect(try await editor.record("l").fields["texts"]?.value == .list([], of: .string))
        // Five more rows, which keep the texts of the former ones.
        var rows = try await editor.form("l")
        rows["v.0.texts"] = "first"
        var more = try BrowserForm(record: await editor.submit(rows, "l", pressing: "more", "texts").text)
        #expect(more["v.0.texts"] == "first")
        #expect(more.names(of: "texts").count >= 6)
        more["v.3.texts"] = "second"
        #expect(await editor.submit(more, "l").status == 303)
        #expect(try await editor.record("l").fields["texts"]?.value == .list([.string("first"), .string("second")], of: .string))
    }

    @Test func anEmptyStringDiffersFromNoValue() async throws {
        let editor = try await Editor(schema: Self.schema)
        try await editor.create("n", ["text": .string("x"), "number": .int64(1), "texts": .list([.string("x")], of: .string)])
        var form = try await editor.form("n")
        #expect(form.isChecked("n.text") == false)
        #expect(form.isChecked("n.other") == true)
        form["f.text"] = ""
        form.check("n.other", false)
        form["f.number"] = ""
        form.check("n.texts")
        form.check("n.numbers", false)
        #expect(await editor.submit(form, "n").status == 303)
        let after = try await editor.record("n")
        #expect(after.fields["text"]?.value == .string(""))
        #expect(after.fields["other"]?.value == .string(""))
        #expect(after.fields["number"] == nil)
        #expect(after.fields["texts"] == nil)
        #expect(after.fields["numbers"]?.value == .list([], of: .int64))
        var again = try await editor.form("n")
        again.check("n.text")
        again["f.number"] = "7"
        #expect(await editor.submit(again, "n").status == 303)
        let last = try await editor.record("n")
        #expect(last.fields["text"] == nil)
        #expect(last.fields["number"]?.value == .int64(7))
        #expect(last.fields["other"]?.value == .string(""))
        var wrong = try await editor.form("n")
        wrong.check("n.fraction", false)
        #expect(await editor.submit(wrong, "n").text.contains("&#39;fraction&#39; needs a value"))
    }

    @Test func encryptedFieldsStayEncrypted() async throws {
        let editor = try await Editor(schema: Self.schema)
        let record = Record(
            recordName: "e", recordType: "Thing",
            fields: ["secret": Field(.string("a\nb"), isEncrypted: true), "text": Field(.string("t"))])
        try await editor.mia.modify([RecordOperation(.create, record)])
        let before = try await editor.record("e")
        #expect(await editor.submit(try await editor.form("e"), "e").status == 303)
        #expect(try await editor.record("e") == before)
        var form = try await editor.form("e")
        form["f.secret"] = "c\nd"
        #expect(await editor.submit(form, "e").status == 303)
        #expect(
            try await editor.record("e").fields["secret"]
                == Field(.string("c\nd"), isEncrypted: before.fields["secret"]?.isEncrypted ?? false))
    }

    @Test func anImpossibleDateIsRejected() async throws {
        let editor = try await Editor(schema: Self.schema)
        try await editor.create("d", ["at": .timestamp(0)])
        for text in ["2030-02-30 00:00:00.000", "2030-13-01", "2029-02-29", "2030-01-01 24:00:00"] {
            var form = try await editor.form("d")
            form["f.at"] = text
            #expect(await editor.submit(form, "d").text.contains("is not a valid TIMESTAMP for &#39;at&#39;. Write it in UTC"), "\(text)")
        }
        #expect(try await editor.record("d").fields["at"]?.value == .timestamp(0))
    }

    /// The page shows UTC. A text with another zone, half of the day or era is rejected.
    @Test func aTimeIsParsedAsUTCOrRejected() async throws {
        let editor = try await Editor(schema: Self.schema)
        try await editor.create("d", ["at": .timestamp(0)])
        for text in [
            "2030-01-02T03:04+02:00", "2030-01-02T03:04:05-02", "2030-01-02T03:04:05+02:00", "2030-01-02 03:04:05 PM", "-2030-01-02",
            "10.11.12", "2030-01-02 03", "2030-01-02 03:04:05.1234", "x2030-01-01y",
        ] {
            var form = try await editor.form("d")
            form["f.at"] = text
            #expect(await editor.submit(form, "d").text.contains("is not a valid TIMESTAMP for &#39;at&#39;. Write it in UTC"), "\(text)")
            #expect(try await editor.record("d").fields["at"]?.value == .timestamp(0), "\(text)")
        }
        let read: [(String, Int64)] = [
            ("2030-01-02", 1_893_542_400_000), ("2030-1-2 3:04", 1_893_553_440_000), ("2030-01-02T03:04:05Z", 1_893_553_445_000),
            ("1969-12-31 23:59:59.9", -100), ("1893553445020", 1_893_553_445_020), ("-1", -1), (" 2030-01-02 ", 1_893_542_400_000),
            ("0000-01-01", -62_167_219_200_000), ("0000-02-29", -62_162_121_600_000), ("0000-03-01", -62_162_035_200_000),
        ]
        for (text, milliseconds) in read {
            var form = try await editor.form("d")
            form["f.at"] = text
            #expect(await editor.submit(form, "d").status == 303, "\(text)")
            #expect(try await editor.record("d").fields["at"]?.value == .timestamp(milliseconds), "\(text)")
        }
    }

    // MARK: Two tabs

    @Test func aConflictShowsBothVersionsAndKeepsTheOldChangeTag() async throws {
        let editor = try await Editor(schema: Self.schema)
        try await editor.create("c", ["text": .string("first"), "other": .string("o"), "number": .int64(1)])
        var one = try await editor.form("c"), two = one
        one["f.text"] = "of tab one"
        two["f.text"] = "of tab two"
        #expect(await editor.submit(one, "c").status == 303)
        let saved = try await editor.record("c")
        let refused = await editor.submit(two, "c")
        #expect(refused.status == 200)
        #expect(refused.text.contains("of tab one"))
        #expect(refused.text.contains("of tab two"))
        let second = try BrowserForm(record: refused.text)
        #expect(second["tag"] == two["tag"])
        #expect(second["f.text"] == "of tab two")
        // Save again and again: nothing is overwritten.
        for _ in 0..<3 { #expect(await editor.submit(second, "c").text.contains("Another client has saved")) }
        #expect(try await editor.record("c") == saved)
        // The button below the newer version overwrites that version, and only the fields of this form.
        let tag = try #require(second.controls.first { $0.kind == .button && $0.name == "over" }?.value)
        #expect(tag == saved.recordChangeTag)
        var three = try await editor.form("c")
        three["f.number"] = "3"
        #expect(await editor.submit(three, "c").status == 303)
        let third = await editor.submit(second, "c", pressing: "over", tag)
        #expect(third.text.contains("Another client has saved"), "an edit that was not shown is not overwritten")
        let newest = try #require(try BrowserForm(record: third.text).controls.first { $0.kind == .button && $0.name == "over" }?.value)
        #expect(await editor.submit(second, "c", pressing: "over", newest).status == 303)
        let last = try await editor.record("c")
        #expect(last.fields["text"]?.value == .string("of tab two"))
        #expect(last.fields["number"]?.value == .int64(3))
        #expect(last.fields["other"]?.value == .string("o"))
    }

    @Test func anUneditedFormNeverConflicts() async throws {
        let editor = try await Editor(schema: Self.schema)
        try await editor.create("u", ["text": .string("first")])
        let idle = try await editor.form("u")
        var other = idle
        other["f.text"] = "second"
        #expect(await editor.submit(other, "u").status == 303)
        let saved = try await editor.record("u")
        #expect(await editor.submit(idle, "u").status == 303)
        #expect(try await editor.record("u") == saved)
        // A deletion of a version that was not shown is refused, too.
        #expect(await editor.submit(idle, "u", pressing: "do", "delete").text.contains("Another client has saved"))
        #expect(try await editor.record("u") == saved)
    }

    /// A quotation mark with a combining mark is one `Character`, and still ends an attribute.
    @Test func quotesWithCombiningMarksAreEscaped() async throws {
        let editor = try await Editor(schema: Self.schema)
        try await editor.create(
            "x",
            [
                "texts": .list([.string("a")], of: .string),
                "ref": .reference(RecordReference(recordName: "b\"\u{301} autofocus onfocus=\"x")),
            ])
        let text = await editor.visitor.get(editor.page("x")).text
        #expect(text.utf8.count > 0)
        #expect(text.contains("b&quot;\u{301} autofocus"))
    }
}
