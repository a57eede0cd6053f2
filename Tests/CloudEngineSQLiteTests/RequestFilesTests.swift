// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudStorageSupport
import Foundation
import TestBasics
import Testing

@Suite struct RequestFilesTests {
    private let folder = TemporaryFolder()

    init() throws { try FileManager.default.createDirectory(atPath: folder.path, withIntermediateDirectories: true) }

    private static func note(_ number: Int, status: Int = 500, milliseconds: Double = 1, minute: Int64 = 0) -> RequestNote {
        RequestNote(
            time: minute * 60_000 + Int64(number), method: "POST", endpoint: "records/modify", status: status,
            errorCode: status == 409 ? "CONFLICT" : nil, milliseconds: milliseconds, requestUUID: "r\(number)",
            path: "/database/1/iCloud.org.example.notes/development/private/records/modify")
    }

    private func names(_ files: RequestFiles, _ text: String = "", before: String? = nil, limit: Int = 1000) async throws -> [String] {
        try await files.notes(matching: RequestFilter(text: text), before: before, limit: limit).map(\.requestUUID)
    }

    @Test func failedAndSlowRequestsOutliveTheServer() async throws {
        let files = RequestFiles(data: folder.path)
        let slow = Self.note(3, status: 200, milliseconds: 1000)
        for note in [Self.note(1, status: 200), Self.note(2, status: 409), slow, Self.note(4)] { files.add(note) }
        let next = RequestFiles(data: folder.path)
        #expect(try await next.notes(matching: RequestFilter(), before: nil, limit: 10) == [Self.note(4), slow, Self.note(2, status: 409)])
        #expect(try await names(next, "conflict") == ["r2"])
        #expect(try await names(next, "500") == ["r4"])
        #expect(try await names(next, limit: 2) == ["r4", "r3"])
        #expect(try await names(next, before: "r3") == ["r2"])
        #expect(try await names(next, before: "unknown").isEmpty)
    }

    @Test func theFilesAreBounded() async throws {
        let files = RequestFiles(data: folder.path, bytesMax: 10_000)
        for number in 0..<1000 { files.add(Self.note(number, minute: Int64(number / 100))) }
        for name in ["requests.jsonl", "requests.1.jsonl"] {
            let size = try FileManager.default.attributesOfItem(atPath: "\(folder.path)/\(name)")[.size] as? Int
            #expect(try #require(size) <= 10_000, "\(name)")
        }
        let names = try await names(files)
        #expect(names.first == "r999")
        #expect(names.count > 40, "both files are read")
        #expect(names.count < 200)
        // A client chooses its path.
        var long = Self.note(1000, minute: 20)
        long.path = "/database/" + String(repeating: "x", count: 100_000)
        files.add(long)
        #expect(try await self.names(files).first == "r1000")
        #expect(try await files.notes(matching: RequestFilter(), before: nil, limit: 1)[0].path.count < 1000)
    }

    /// The failures that an attacker causes do not replace those of hours.
    @Test func aMinuteHasALimitedNumberOfRequests() async throws {
        let files = RequestFiles(data: folder.path)
        for number in 0..<1000 { files.add(Self.note(number)) }
        #expect(try await names(files).count == 300)
        files.add(Self.note(1000, minute: 1))
        #expect(try await names(files).first == "r1000")
    }

    @Test func aCutLineIsSkipped() async throws {
        RequestFiles(data: folder.path).add(Self.note(1))
        let path = "\(folder.path)/requests.jsonl"
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.seekToEnd()
        try handle.write(contentsOf: Data(#"{"time":1,"meth"#.utf8))
        try handle.close()
        let next = RequestFiles(data: folder.path)
        next.add(Self.note(2))
        #expect(try await names(next) == ["r2", "r1"])
        let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
        #expect(mode == 0o600)
    }

    @Test func requestsAreSelectedByContainerEndpointStatusAndSender() async throws {
        let files = RequestFiles(data: folder.path)
        var (first, second, third) = (Self.note(1), Self.note(2, status: 409), Self.note(3))
        first.sender = .account(12)
        second.sender = .anonymous
        second.path = "/database/1/iCloud.org.example.other/production/public/records/query"
        third.endpoint = "records/query"
        third.sender = .serverKey("a b")
        (third.client, third.access, third.bytesReceived, third.bytesSent) = (.mirror, "d1", 10, 20)
        for note in [first, second, third] { files.add(note) }
        func names(_ filter: RequestFilter) async throws -> [String] {
            try await files.notes(matching: filter, before: nil, limit: 10).map(\.requestUUID)
        }
        #expect(try await names(RequestFilter()) == ["r3", "r2", "r1"])
        #expect(try await names(RequestFilter(container: "iCloud.org.example.other")) == ["r2"])
        #expect(try await names(RequestFilter(endpoint: "records/query")) == ["r3"])
        #expect(try await names(RequestFilter(statusClass: 4)) == ["r2"])
        #expect(try await names(RequestFilter(sender: .account(12))) == ["r1"])
        #expect(try await names(RequestFilter(text: "PRODUCTION", sender: .anonymous)) == ["r2"])
        #expect(try await files.notes(matching: RequestFilter(sender: .serverKey("a b")), before: nil, limit: 10) == [third])
    }

    @Test func linesOfEarlierVersionsAreRead() async throws {
        let line = #"{"time":5,"method":"POST","endpoint":"records/modify","status":500,"milliseconds":1,"request":"old","path":""}"#
        try Data((line + "\n").utf8).write(to: URL(fileURLWithPath: "\(folder.path)/requests.jsonl"))
        let files = RequestFiles(data: folder.path)
        let note = try #require(try await files.notes(matching: RequestFilter(), before: nil, limit: 10).first)
        #expect(note.requestUUID == "old")
        #expect(note.sender == nil)
        #expect(note.client == .other)
        #expect(note.bytesSent == nil)
    }

    @Test(arguments: ["anonymous", "account 12", "key a b", "key "])
    func sendersAreReadAsTheyAreWritten(_ text: String) { #expect(RequestSender(text: text)?.text == text) }

    @Test(arguments: ["", "anonymous ", "account", "account x", "key", "mia"])
    func otherTextsAreNoSenders(_ text: String) { #expect(RequestSender(text: text) == nil) }
}
