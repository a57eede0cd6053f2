// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import EngineFixtures
import Testing

@Suite struct OperationTableTests {
    enum Present: String, CaseIterable { case absent, there, deleted }
    enum Tag: String, CaseIterable { case none, equal, stale }

    struct Case: CustomTestStringConvertible, Sendable {
        let kind: RecordOperation.Kind
        let present: Present
        let tag: Tag

        var testDescription: String { "\(kind.rawValue), \(present.rawValue), tag \(tag.rawValue)" }

        /// The table of the documents, written out a second time.
        var expected: String {
            switch (kind, present, tag) {
            case (.create, .there, _): "CONFLICT"
            case (.create, _, _): "saved"
            case (.update, .there, .equal), (.replace, .there, .equal): "saved"
            case (.update, .there, .stale), (.replace, .there, .stale): "CONFLICT"
            case (.update, .there, .none), (.replace, .there, .none): "BAD_REQUEST"
            case (.update, _, _), (.replace, _, _): "NOT_FOUND"
            case (.forceUpdate, _, _), (.forceReplace, _, _): "saved"
            case (.delete, .there, .stale): "CONFLICT"
            case (.delete, .there, _): "deleted"
            case (.delete, _, _): "NOT_FOUND"
            case (.forceDelete, _, _): "deleted"
            }
        }
    }

    static let cases = RecordOperation.Kind.allCases.flatMap { kind in
        Present.allCases.flatMap { present in
            Tag.allCases.map { Case(kind: kind, present: present, tag: $0) }
        }
    }

    @Test(arguments: cases)
    func anOperationDoesWhatTheTableSays(_ item: Case) async throws {
        let bench = try await Bench.withGarden()
        var tag: String?
        if item.present != .absent {
            tag = try await bench.modify(.init(.create, .plant("p1", ["name": .string("Sage"), "count": .int64(1)])))[0]
                .record?.recordChangeTag
        }
        if item.present == .deleted { try await bench.modify(.init(.forceDelete, .plant("p1"))) }
        let sent: String? =
            switch item.tag {
            case .none: nil
            case .equal: tag ?? "1"
            case .stale: "zz"
            }

        let result = try await bench.modify(.init(item.kind, .plant("p1", tag: sent, ["name": .string("Mint")])))[0]
        #expect(result.word == item.expected)

        let after = try await bench.lookup("p1")[0]
        switch item.expected {
        case "saved":
            #expect(after.record?.fields["name"] == Field(.string("Mint")))
            let keepsOthers = item.present == .there && (item.kind == .update || item.kind == .forceUpdate)
            #expect(after.record?.fields["count"] == (keepsOthers ? Field(.int64(1)) : nil))
            #expect(after.record?.recordChangeTag != tag)
        case "deleted":
            #expect(after.word == "NOT_FOUND")
        default:
            #expect(after.record?.fields["name"] == (item.present == .there ? Field(.string("Sage")) : nil))
        }
    }

    @Test func aConflictBringsTheServersRecordAndTheDocumentedText() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p1", ["name": .string("Sage")])))
        let stale = RecordOperation(.update, .plant("p1", tag: "old", ["name": .string("Mint")]))
        guard case .failure("p1", _, nil) = try await bench.modify(stale)[0] else {
            Issue.record("nobody asked for the server's record")
            return
        }
        var asking = bench.call()
        asking.capabilities = [.serverRecord]
        let results = try await bench.modify(stale, as: asking)
        guard case .failure("p1", let error, let server?) = results[0] else {
            Issue.record("expected a failure with the server's record, got \(results[0].word)")
            return
        }
        #expect(error.reason == "client oplock error updating record")
        #expect(server.fields == ["name": Field(.string("Sage"))])
        #expect(server.recordChangeTag != nil)
        #expect(server.zoneID?.zoneName == "Garden")
        let again = try await bench.modify(.init(.create, .plant("p1")))[0].error
        #expect(again?.reason == "record to insert already exists")
    }

    @Test func aFieldWithoutValueIsCleared() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p1", ["name": .string("Sage"), "count": .int64(1)])))
        var change = Record.plant("p1")
        change.fields["name"] = Field(nil)
        try await bench.modify(.init(.forceUpdate, change))
        #expect(try await bench.lookup("p1")[0].record?.fields == ["count": Field(.int64(1))])
    }

    @Test func stampsComeFromTheServersClockAndTheCaller() async throws {
        let bench = try await Bench.withGarden()
        try await bench.modify(.init(.create, .plant("p1")))
        try await bench.modify(.init(.forceUpdate, .plant("p1")), as: bench.call(now: Bench.start + 5000))
        let record = try await bench.lookup("p1")[0].record
        #expect(record?.created == RecordStamp(timestamp: Bench.start, userRecordName: "_mia", deviceID: "tablet"))
        #expect(record?.modified?.timestamp == Bench.start + 5000)
    }
}
