// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngineSQLite
import CloudInProcess
import CloudService
import CloudWire
import Foundation
import Logging
import ServiceFixtures
import StorageFixtures
import Synchronization
import Testing

@testable import TarnCommands

@Suite struct WatchCommandTests {
    private static let container = "iCloud.org.example.notes"

    /// The lines of a command while it runs.
    private final class LineSink: Output.Sink {
        let lines: AsyncStream<String>
        private let continuation: AsyncStream<String>.Continuation

        init() { (lines, continuation) = AsyncStream.makeStream(of: String.self) }

        func write(_ text: String, isNote: Bool) { continuation.yield(text) }
    }

    private func put(_ name: String, _ place: ServerPlace, type: String = "Note") async {
        let run = await CommandRun(
            ["record", "put", name, "title=\(name)", "--type", type, "--container", Self.container] + place.arguments)
        #expect(run.status == 0, "\(run.notes)")
    }

    @Test(arguments: ServerKind.installed) func eachChangeIsFoundOnce(_ kind: ServerKind) async throws {
        let place = try ServerPlace(kind)
        _ = await CommandRun(["user", "add", "mia"] + place.arguments)
        await put("before", place)
        let store = try place.open(isServer: false)
        var watch = FolderWatch(store: store, container: Self.container, environment: .development)
        #expect(try await watch.poll() == [])
        #expect(try await watch.poll() == [])
        await put("n1", place)
        await put("n2", place, type: "Other")
        let changes = try await watch.poll()
        #expect(changes.map(\.name) == ["n1", "n2"])
        #expect(changes.map(\.type) == ["Note", "Other"])
        #expect(try await watch.poll() == [])
        _ = await CommandRun(["record", "delete", "n1", "--yes", "--container", Self.container] + place.arguments)
        let deletions = try await watch.poll()
        #expect(deletions.map(\.isDeleted) == [true])
        #expect(deletions.map(\.name) == ["n1"])
        try store.close()
    }

    @Test(arguments: ServerKind.installed) func changesArePrintedWhileTheyHappen(_ kind: ServerKind) async throws {
        let place = try ServerPlace(kind)
        _ = await CommandRun(["user", "add", "mia"] + place.arguments)
        await put("before", place)
        let sink = LineSink()
        let command = try WatchCommand.parse(
            ["--container", Self.container, "--type", "Note", "--count", "1", "--json"] + place.arguments)
        let running = Task { try await Output.$sink.withValue(sink) { try await command.run() } }
        var lines = sink.lines.makeAsyncIterator()
        #expect(await lines.next()?.hasPrefix("Watching \(Self.container)") == true)
        await put("other", place, type: "Other")
        await put("n1", place)
        let line = try #require(await lines.next())
        #expect(
            line.contains(#""action":"saved","database":"public","zone":"_defaultZone","recordType":"Note","recordName":"n1""#), "\(line)")
        #expect(!line.contains("title"), "values are not shown")
        try await running.value
    }

    @Test func aServersPublicDatabaseIsFollowed() async throws {
        let folder = ScratchFolder("tarn-watch")
        let data = folder.path
        for arguments in [["user", "add", "mia"], ["user", "profile", "mia", "--operator"]] {
            _ = await CommandRun(arguments + ["--data", data])
        }
        let (ports, continuation) = AsyncStream.makeStream(of: Int.self)
        let server = try LocalServer(
            data: data, host: "127.0.0.1", port: 0, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        let serving = Task { try await server.run(endsOnSignals: false) { continuation.yield($0) } }
        var iterator = ports.makeAsyncIterator()
        let address = "http://127.0.0.1:\(try #require(await iterator.next()))"
        let keyFile = data + "/operator.key"
        let key = await CommandRun("user", "operator-key", "mia", "--data", data)
        _ = FileManager.default.createFile(atPath: keyFile, contents: Data(key.output.utf8), attributes: [.posixPermissions: 0o600])
        let place = ["--server", address, "--key-file", keyFile, "--container", Self.container]
        let first = await CommandRun(["record", "put", "before", "title=1", "--type", "Note"] + place)
        #expect(first.status == 0, "\(first.notes)")
        let sink = LineSink()
        let command = try WatchCommand.parse(["--count", "1", "--json"] + place)
        let running = Task { try await Output.$sink.withValue(sink) { try await command.run() } }
        var lines = sink.lines.makeAsyncIterator()
        #expect(await lines.next()?.hasPrefix("Watching") == true)
        let second = await CommandRun(["record", "put", "n1", "title=1", "--type", "Note"] + place)
        #expect(second.status == 0, "\(second.notes)")
        let line = try #require(await lines.next())
        #expect(line.contains(#""recordName":"n1""#), "\(line)")
        try await running.value
        serving.cancel()
        _ = await serving.result
    }

    @Test func streamsHaveFixedColumns() {
        var record = Record(recordName: "n1", recordType: "Note")
        record.modified = RecordStamp(timestamp: 1_893_553_445_000, userRecordName: "_a")
        let change = WatchedChange(record, database: "_0123456789abcdef0123456789abcdef", zone: "_defaultZone")
        #expect(WatchedChange.heading == "TIME                  ACTION   DATABASE      ZONE              TYPE              NAME")
        #expect(change.text(.plain, now: 0) == "2030-01-02T03:04:05Z  saved    _01234567…    (default)         Note              n1")
    }
}
