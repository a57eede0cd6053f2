// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization
import SystemSupport
import Testing

@Suite final class DurableFileTests {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-durable-\(UUID().uuidString)")
    var file: URL { folder.appendingPathComponent("file") }

    init() throws { try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: folder) }

    /// A disk that records the names that are synchronized, and fails at the given call.
    private final class RecordingDisk: Sendable {
        private let names = Mutex<[String]>([])
        private let failure: (call: Int, code: Int32)?

        init(failingAt call: Int? = nil, with code: Int32 = EIO) { failure = call.map { ($0, code) } }

        var synchronized: [String] { names.withLock { $0 } }

        var disk: DurableFile.Disk {
            DurableFile.Disk { [self] descriptor in
                let path = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/fd/\(descriptor)")) ?? "?"
                let count = names.withLock { names in
                    names.append(URL(fileURLWithPath: path).lastPathComponent)
                    return names.count
                }
                if let failure, failure.call == count {
                    errno = failure.code
                    return -1
                }
                return fsync(descriptor)
            }
        }
    }

    private func names() throws -> [String] { try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() }

    @Test func replacingSynchronizesTheContentAndThenTheName() throws {
        try Data("old".utf8).write(to: file)
        chmod(file.path, 0o644)
        let recording = RecordingDisk()
        try DurableFile.replace(file, with: Data("new".utf8), disk: recording.disk)
        #expect(try Data(contentsOf: file) == Data("new".utf8))
        #expect(recording.synchronized == [".new-file", folder.lastPathComponent])
        #expect(try FileManager.default.attributesOfItem(atPath: file.path)[.posixPermissions] as? Int == 0o600)
        #expect(try names() == ["file"])
    }

    @Test func aDiskThatFailsKeepsTheOldContent() throws {
        try Data("old".utf8).write(to: file)
        let recording = RecordingDisk(failingAt: 1)
        #expect(throws: POSIXError(.EIO)) { try DurableFile.replace(file, with: Data("new".utf8), disk: recording.disk) }
        #expect(try Data(contentsOf: file) == Data("old".utf8))
        #expect(try names() == ["file"])
    }

    @Test func aFolderThatCannotBeSynchronizedIsAnErrorUnlessItsFileSystemNeverCan() throws {
        let failing = RecordingDisk(failingAt: 2)
        #expect(throws: POSIXError(.EIO)) { try DurableFile.replace(file, with: Data("new".utf8), disk: failing.disk) }
        let incapable = RecordingDisk(failingAt: 2, with: EINVAL)
        try DurableFile.replace(file, with: Data("newer".utf8), disk: incapable.disk)
        #expect(try Data(contentsOf: file) == Data("newer".utf8))
    }

    @Test func creatingNeverOverwrites() throws {
        try DurableFile.create(file.path) { try DurableFile.write(Data("first".utf8), to: $0) }
        #expect(throws: POSIXError(.EEXIST)) { try DurableFile.create(file.path) { _ in } }
        #expect(try Data(contentsOf: file) == Data("first".utf8))
    }

    @Test func aFileThatIsNotCompleteIsRemoved() throws {
        #expect(throws: CancellationError.self) { try DurableFile.create(file.path) { _ in throw CancellationError() } }
        let recording = RecordingDisk(failingAt: 1)
        #expect(throws: POSIXError(.EIO)) {
            try DurableFile.create(file.path, disk: recording.disk) { try DurableFile.write(Data("x".utf8), to: $0) }
        }
        #expect(try names() == [])
    }

    @Test func movingSynchronizesTheDestinationFolder() throws {
        try Data("content".utf8).write(to: file)
        let target = folder.appendingPathComponent("target")
        try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
        let recording = RecordingDisk()
        try DurableFile.move(file.path, to: target.appendingPathComponent("moved").path, disk: recording.disk)
        #expect(recording.synchronized == ["target"])
        #expect(try names() == ["target"])
        #expect(throws: POSIXError(.ENOENT)) { try DurableFile.move(file.path, to: file.path + "2") }
    }

    @Test func everyNewFolderIsPrivateAndItsNameDurable() throws {
        let deep = folder.appendingPathComponent("a/b")
        let recording = RecordingDisk()
        try DurableFile.createFolder(deep, disk: recording.disk)
        #expect(recording.synchronized == [folder.lastPathComponent, "a"])
        #expect(try FileManager.default.attributesOfItem(atPath: deep.path)[.posixPermissions] as? Int == 0o700)
        try DurableFile.createFolder(deep, disk: recording.disk)
        #expect(recording.synchronized.count == 2)
    }
}
