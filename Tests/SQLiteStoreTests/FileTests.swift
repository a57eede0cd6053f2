// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import PredicateKit
import SQLiteStore
import Synchronization
import Testing

@Suite struct FileTests {
    private func refusal(_ url: URL?, _ change: (inout SQLiteStore.Options) -> Void = { _ in }) throws -> StoreError? {
        var options = Library.options()
        change(&options)
        return #expect(throws: StoreError.self) { try Library.store(url, options: options) }
    }

    @Test func savedRowsExistAfterReopening() throws {
        try Library.withFolder { folder in
            let model = try Library.model()
            let url = folder.appending(path: "a.sqlite")
            let store = try Library.store(url)
            let key = try store.insert(model, "Author", ["name": .string("a")])
            let bytes = try store.lines("PRAGMA journal_mode")
            store.close()
            store.close()
            #expect(bytes == ["wal"])
            #expect(throws: (any Error).self) { try store.insert(model, "Author", [:]) }
            let again = try Library.store(url)
            #expect(try again.read { try $0.row(key) }?.values == model.values("Author", ["name": .string("a")]))
            #expect(try again.insert(model, "Author", [:]).primaryKey == 2)
            #expect(again.identifier == store.identifier)
        }
    }

    /// Contexts of an app may have the store much longer.
    @Test func aClosedStoreHasNoOpenFiles() throws {
        try Library.withFolder { folder in
            let store = try Library.store(folder.appending(path: "a.sqlite"))
            _ = try store.insert(try Library.model(), "Author", ["name": .string("a")])
            func openFiles() throws -> [String] {
                try FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")
                    .compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\($0)") }
                    .filter { $0.hasPrefix(folder.path) }
            }
            #expect(try openFiles().contains { $0.hasSuffix("a.sqlite-lock") })
            store.close()
            #expect(try openFiles() == [])
            withExtendedLifetime(store) {}
        }
    }

    @Test func newStoreIsForItsOwnerAlone() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let store = try Library.store(url)
            _ = try store.insert(try Library.model(), "Author", ["name": .string("a")])
            func mode(_ suffix: String) throws -> Int? {
                try FileManager.default.attributesOfItem(atPath: url.path + suffix)[.posixPermissions] as? Int
            }
            for suffix in ["", "-wal", "-shm"] { #expect(try mode(suffix) == 0o600, "\(suffix)") }
            store.close()
            try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: url.path)
            try Library.store(url).close()
            #expect(try mode("") == 0o640, "an existing file keeps its mode")
        }
    }

    /// Readers queued behind `close()` must not use a closed connection.
    @Test func callsThatRaceWithClosingEndOrThrow() throws {
        try Library.withFolder { folder in
            let model = try Library.model()
            for round in 0..<20 {
                let store = try Library.store(folder.appending(path: "\(round).sqlite"))
                let key = try store.insert(model, "Author", ["name": .string("a")])
                let refused = Mutex(0)
                let started = DispatchSemaphore(value: 0)
                let readers = DispatchGroup()
                for _ in 0..<8 {
                    readers.enter()
                    Thread.detachNewThread {
                        defer { readers.leave() }
                        started.signal()
                        while true {
                            do {
                                _ = try store.read { try $0.row(key) }
                                try store.write { try $0.execute("PRAGMA user_version") }
                                _ = try store.currentGeneration()
                            } catch {
                                refused.withLock { $0 += error is StoreError ? 1 : 0 }
                                return
                            }
                        }
                    }
                }
                for _ in 0..<8 { started.wait() }
                store.close()
                readers.wait()
                #expect(refused.withLock { $0 } == 8)
            }
        }
    }

    @Test func aDamagedFileIsRefusedWithItsPathAndLeftAsItIs() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "garbage.sqlite")
            let garbage = Data(repeating: 0x5A, count: 10_000)
            try garbage.write(to: url)
            let error = try refusal(url)
            #expect(error?.code == .corrupt)
            #expect(error?.detail.contains(url.path) == true)
            #expect(try Data(contentsOf: url) == garbage)
        }
    }

    @Test func aDatabaseOtherThanAStoreIsRejected() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let store = try Library.store(url)
            try store.write { try $0.execute("DROP TABLE Z_METADATA") }
            store.close()
            #expect(try refusal(url)?.code == .corrupt)
        }
    }

    @Test func aNewerFormatIsRejected() throws {
        try Library.withFolder { folder in
            let url = folder.appending(path: "a.sqlite")
            let store = try Library.store(url)
            let list: [String: Any] = ["TarnStoreFormat": 2]
            let data = try PropertyListSerialization.data(fromPropertyList: list, format: .binary, options: 0)
            try store.write { try $0.execute("UPDATE Z_METADATA SET Z_PLIST = ?", [.blob(data)]) }
            store.close()
            let error = try refusal(url)
            #expect(error?.code == .newerFormat)
            #expect(error?.detail.contains("format 2") == true)
        }
    }

    @Test func unusablePathsAreRejected() throws {
        try Library.withFolder { folder in
            #expect(try refusal(folder.appending(path: "none/a.sqlite"))?.code == .notFound)
            #expect(try refusal(URL(filePath: "/sys/a.sqlite"))?.code == .notPermitted)
            #expect(try refusal(folder.appending(path: "a.sqlite")) { $0.isReadOnly = true }?.code == .notFound)
            try FileManager.default.createDirectory(
                at: folder.appending(path: "d.sqlite"), withIntermediateDirectories: true)
            #expect(try refusal(folder.appending(path: "d.sqlite"))?.code == .notPermitted)
        }
    }

    @Test func aFullDiskFailsTheSaveAndNothingElse() throws {
        try Library.withFolder { folder in
            let model = try Library.model()
            let store = try Library.store(folder.appending(path: "a.sqlite"))
            try store.insert(model, "Book", ["title": .string("kept")])
            let pages = try store.lines("PRAGMA page_count")[0]
            try store.write { writer in try writer.query("PRAGMA max_page_count = \(pages)") { _ in } }
            let error = #expect(throws: StoreError.self) {
                try store.insert(model, "Book", ["cover": .data(Data(count: 1_000_000))])
            }
            #expect(error?.code == .diskFull)
            #expect(try store.lines("SELECT ZTITLE FROM ZBOOK") == ["kept"])
        }
    }

    @Test(arguments: ["FULL": "2", "synchronous=off": "0", "": "1"]) func commitsUseTheConfiguredSynchronousMode(
        _ asked: String, _ level: String
    ) throws {
        try Library.withFolder { folder in
            var options = Library.options()
            if let value = asked.split(separator: "=").last {
                options.pragmas[asked.contains("=") ? "Synchronous" : "synchronous"] = String(value)
            }
            let store = try Library.store(folder.appending(path: "a.sqlite"), options: options)
            var found: [String?] = []
            try store.write { writer in try writer.query("PRAGMA synchronous") { found.append($0.text(0)) } }
            #expect(found == [level])
        }
    }

    @Test func aReadOnlyStoreReadsAndRefusesToWrite() throws {
        try Library.withFolder { folder in
            let model = try Library.model()
            let url = folder.appending(path: "a.sqlite")
            let store = try Library.store(url)
            let key = try store.insert(model, "Tag", ["label": .string("x")])
            var options = Library.options()
            options.isReadOnly = true
            let reader = try Library.store(url, options: options)
            #expect(try reader.read { try $0.row(key) } != nil)
            let error = #expect(throws: StoreError.self) { try reader.insert(model, "Tag", [:]) }
            #expect(error?.code == .notPermitted)
        }
    }

    /// The reader's snapshot keeps the pages of the earlier state in use; the file shrinks when the reader's connection is closed.
    @Test func vacuumWaitsForNoReader() throws {
        try Library.withFolder { folder in
            let model = try Library.model()
            let url = folder.appending(path: "a.sqlite")
            func size() throws -> Int { try Data(contentsOf: url).count }
            let reading = try Library.store(url, model: model)
            let text = String(repeating: "x", count: 2000)
            for _ in 0..<300 { try reading.insert(model, "Author", ["name": .string(text)]) }
            try reading.write { try $0.execute("DELETE FROM ZAUTHOR WHERE Z_PK > 1") }
            var options = Library.options()
            options.vacuums = true
            // Waiting for the reader, which waits for this call, would end with this error.
            options.busyTimeout = .seconds(3600)
            try reading.read { reader in
                #expect(try reader.count(StoreQuery(entity: model.index("Author"))) == 1)
                let store = try Library.store(url, model: model, options: options)
                #expect(try store.read { try $0.count(StoreQuery(entity: model.index("Author"))) } == 1)
                store.close()
            }
            reading.close()
            #expect(try size() < 200_000)
            #expect(try Library.store(url, model: model).read { try $0.count(StoreQuery(entity: model.index("Author"))) } == 1)
        }
    }

    @Test func aReaderSeesOneSnapshotWhileAWriterCommits() throws {
        try Library.withFolder { folder in
            let model = try Library.model()
            let store = try Library.store(folder.appending(path: "a.sqlite"))
            try store.insert(model, "Tag", [:])
            let query = StoreQuery(entity: model.index("Tag"))
            let other = try Library.store(folder.appending(path: "a.sqlite"))
            let counts = try store.read { reader in
                let before = try reader.count(query)
                try other.insert(model, "Tag", [:])
                return [before, try reader.count(query)]
            }
            #expect(counts == [1, 1])
            #expect(try store.read { try $0.count(query) } == 2)
        }
    }

    @Test func twoStoresOnOneFileTakeTurnsAndLoseNothing() throws {
        try Library.withFolder { folder in
            let model = try Library.model()
            let url = folder.appending(path: "a.sqlite")
            let stores = try (0..<2).map { _ in try Library.store(url) }
            let failures = Mutex<[String]>([])
            DispatchQueue.concurrentPerform(iterations: 4) { index in
                for _ in 0..<50 {
                    do { try stores[index % 2].insert(model, "Tag", [:]) } catch {
                        failures.withLock { $0.append("\(error)") }
                    }
                }
            }
            #expect(failures.withLock { $0 } == [])
            let history = try stores[0].read { try $0.history(after: 0) }
            #expect(history.map(\.number) == Array(1...200))
            #expect(try stores[1].lines("SELECT COUNT(*), MAX(Z_PK) FROM ZTAG") == ["200|200"])
            #expect(try stores[0].lines("PRAGMA integrity_check") == ["ok"])
        }
    }

    @Test func aWriterThatWaitsTooLongFailsWithBusy() throws {
        try Library.withFolder { folder in
            let model = try Library.model()
            let url = folder.appending(path: "a.sqlite")
            var options = Library.options()
            options.busyTimeout = .milliseconds(20)
            let (first, second) = (try Library.store(url), try Library.store(url, options: options))
            let error = try first.write { _ in
                #expect(throws: StoreError.self) { try second.insert(model, "Tag", [:]) }
            }
            #expect(error?.code == .busy)
            try second.insert(model, "Tag", [:])
        }
    }

    @Test func aProcessThatIsKilledLosesNoSaveAndLeavesAWorkingStore() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(
            path: "store-killed-\(ProcessInfo.processInfo.processIdentifier)")
        setenv("TARN_TEST_FOLDER", folder.path, 1)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        await #expect(processExitsWith: .signal(SIGKILL)) {
            guard let path = ProcessInfo.processInfo.environment["TARN_TEST_FOLDER"] else { return }
            let model = try Library.model()
            let store = try Library.store(URL(filePath: path).appending(path: "a.sqlite"))
            for _ in 0..<20 { try store.insert(model, "Tag", [:]) }
            try store.write { writer in
                _ = try writer.allocateKeys(for: model.index("Tag"), count: 5)
                kill(getpid(), SIGKILL)
            }
        }
        let store = try Library.store(folder.appending(path: "a.sqlite"))
        #expect(try store.lines("SELECT COUNT(*), MAX(Z_PK) FROM ZTAG") == ["20|20"])
        #expect(try store.read { try $0.latestTransaction() } == 20)
        #expect(try store.insert(Library.model(), "Tag", [:]).primaryKey == 21)
    }
}
