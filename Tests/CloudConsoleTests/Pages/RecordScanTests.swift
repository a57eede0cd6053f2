// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import Foundation
import ServiceFixtures
import Testing

@testable import CloudConsole

/// Lists, counts and exports of a record type among many records of other types.
@Suite struct RecordScanTests {
    private static let list = "\(ConsoleTests.base)/records?place=private/Garden&type=Thing"

    private let village: Village
    private let visitor: BrowserSession
    private let mia: Village.Villager

    /// A console that examines 10 records in a unit of work, 30 for a page and 60 for a count.
    init() async throws {
        village = try Village()
        mia = try await village.villager("mia")
        try await village.store.setPassword("correct horse", ofUser: "mia")
        try await village.store.updateProfile(ofUser: "mia") { $0.isOperator = true }
        var console = Console(service: village.service, storage: village.store)
        console.scanBounds = ScanBounds(
            recordsPerRead: 10, recordsPerPage: 30, millisecondsPerPage: 1000, recordsPerCount: 60, millisecondsPerCount: 3000)
        visitor = BrowserSession(village, console: console)
        let signedIn = await visitor.post("/console/signin", ["name": "mia", "password": "correct horse"], code: "")
        try #require(signedIn.status == 303)
    }

    private func create(_ type: String, _ names: [String]) async throws {
        try await mia.modify(names.map { RecordOperation(.create, Record(recordName: $0, recordType: type)) })
    }

    private func names(_ text: String) -> [String] {
        text.split(separator: #"aria-label="Select "#).dropFirst().map { String($0.prefix { $0 != "\"" }) }
            .filter { $0 != "all records of this page" }
    }

    private static func address(_ text: String, _ label: String) -> String? {
        guard let end = text.range(of: ">\(label)</a>")?.lowerBound,
            let start = text.range(of: "href=\"", options: .backwards, range: text.startIndex..<end)?.upperBound
        else { return nil }
        return String(text[start..<end].prefix { $0 != "\"" }).replacing("&amp;", with: "&")
    }

    @Test func aSearchForARareTypeSaysHowFarItCameAndContinues() async throws {
        try await create("Thing", ["old"])
        try await create("Plant", (0..<70).map { "p\($0)" })
        try await create("Thing", ["new"])
        let first = await visitor.get(Self.list).text
        #expect(names(first) == ["new"])
        #expect(first.contains("The search has not ended: 30 records were examined, back to those modified on "))
        let second = await visitor.get(try #require(Self.address(first, "Continue searching"))).text
        #expect(names(second).isEmpty)
        #expect(!second.contains("No records."))
        let third = await visitor.get(try #require(Self.address(second, "Continue searching"))).text
        #expect(names(third) == ["old"])
        #expect(!third.contains("The search has not ended"))
        #expect(Self.address(third, "Continue searching") == nil)
        #expect(names(await visitor.get(try #require(Self.address(third, "Previous page"))).text).isEmpty)
    }

    @Test func aSearchThatEndsWithItsLastRecordIsComplete() async throws {
        try await create("Plant", (0..<29).map { "p\($0)" })
        try await create("Thing", ["new"])
        let text = await visitor.get(Self.list).text
        #expect(names(text) == ["new"])
        #expect(!text.contains("The search has not ended"))
    }

    @Test func countsSayHowManyRecordsTheyAreOf() async throws {
        try await create("Plant", (0..<20).map { "p\($0)" })
        try await create("Thing", ["a", "b"])
        #expect(await visitor.get(Self.list + "&count=1").text.contains(">2 records<"))
        try await create("Plant", (20..<100).map { "p\($0)" })
        try await create("Thing", ["c"])
        let text = await visitor.get(Self.list + "&count=1").text
        #expect(text.contains("1 record among the 60 that changed last; there may be more"))
    }

    @Test func anExportThatDidNotReachTheEndIsMarked() async throws {
        try await create("Thing", ["old"])
        try await create("Plant", (0..<100).map { "p\($0)" })
        try await create("Thing", ["new"])
        let address = Self.list.replacing("records?", with: "records/export.json?")
        let file = await visitor.get(address)
        #expect(file.text.contains(#""recordName":"new""#))
        #expect(!file.text.contains(#""recordName":"old""#))
        #expect(file.headers.contains { $0.name == ExportPages.cutHeader })
    }

    /// A file has columns for the fields of its last record, and none for a record behind its end.
    @Test func theColumnsOfCSVAreThoseOfTheFilesRecords() async throws {
        func thing(_ name: String, _ field: String) -> RecordOperation {
            RecordOperation(.create, Record(recordName: name, recordType: "Thing", fields: [field: Field(.string("a, b"))]))
        }
        try await mia.modify([thing("beyond", "beyond")])
        try await create("Plant", (0..<100).map { "p\($0)" })
        try await mia.modify([thing("old", "old")])
        try await create("Thing", (0..<40).map { "t\($0)" })
        try await mia.modify([thing("new", "new")])
        let file = await visitor.get(Self.list.replacing("records?", with: "records/export.csv?"))
        let lineBreak: Character = "\r\n"
        let lines = file.text.split(separator: lineBreak, omittingEmptySubsequences: false).map { String($0) }
        #expect(lines.first == "recordName,new:STRING,old:STRING")
        #expect(lines.dropFirst().first == "new,\"a, b\",")
        #expect(Array(lines.suffix(2)) == ["old,,\"a, b\"", ""])
        #expect(lines.count == 44)
        #expect(file.headers.contains { $0.name == ExportPages.cutHeader })
    }

    private var call: Call {
        village.service.call(
            Partition(containerIdentifier: Village.container, environment: .development, owner: mia.name),
            Caller(userRecordName: mia.name, deviceID: "console", kind: .user), baseURL: "")
    }

    /// Deleted records, and records of a type whose name begins with another's.
    @Test func aScanReadsTypesOfRecordsThatExist() async throws {
        try await create("Thing", ["b", "a"])
        try await mia.modify([RecordOperation(.forceDelete, Record(recordName: "b"))])
        try await create("Things", ["c"])
        let scan = try await village.service.zoneContents.scan(mia.zone(), forType: "Thing", before: nil, limit: 5, examining: 5, call)
        #expect(scan.records.map(\.recordName) == ["a"])
        #expect(scan.examined == 3)
        #expect(scan.next == nil)
        let page = try await village.service.zoneContents.scan(mia.zone(), forType: "Things", before: nil, limit: 5, examining: 1, call)
        #expect(page.records.map(\.recordName) == ["c"])
        #expect(page.reached != nil)
        let rest = try await village.service.zoneContents.scan(
            mia.zone(), forType: "Things", before: page.next, limit: 5, examining: 2, call)
        #expect(rest.records.isEmpty)
        #expect(rest.next == nil)
    }

    /// Each of them is read.
    @Test func deletedRecordsAndBytesAreBounded() async throws {
        let names = (0..<6).map { "t\($0)" }
        try await create("Thing", ["old"] + names)
        try await mia.modify(names.map { RecordOperation(.forceDelete, Record(recordName: $0)) })
        let deleted = try await village.service.zoneContents.scan(mia.zone(), forType: "Thing", before: nil, limit: 5, examining: 6, call)
        #expect(deleted.records.isEmpty)
        #expect(deleted.examined == 6)
        let last = try await village.service.zoneContents.scan(
            mia.zone(), forType: "Thing", before: deleted.next, limit: 5, examining: 6, call)
        #expect(last.records.map(\.recordName) == ["old"])
        #expect(last.next == nil)
        let short = try await village.service.zoneContents.scan(
            mia.zone(), forType: "Thing", before: nil, limit: 5, examining: 6, bytesMax: 1, call)
        #expect(short.examined == 1)
        #expect(short.next != nil)
    }
}
