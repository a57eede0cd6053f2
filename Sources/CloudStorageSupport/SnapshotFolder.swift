// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
import CloudWire
import Crypto
import Foundation
import Synchronization
import SystemSupport

/// The files of snapshots of one server process.
///
/// ```
/// snapshots/NUMBER/lock                  held by the process that uses the folder
/// snapshots/NUMBER/IDENTIFIER.snapshot   frames, then a description of them, then its length in 4 bytes
/// snapshots/NUMBER/IDENTIFIER.partial    while it is being written
/// ```
///
/// Processes may share the data folder. Each takes the first number that is free, so that a process which starts again finds its snapshots.
/// All files are a cache: a backup does not have them, and ``removeAll(data:)`` is always right.
package final class SnapshotFolder: SnapshotStorage {
    private static let complete = ".snapshot"
    private static let partial = ".partial"
    /// Processes on one data folder, at most.
    private static let processesMax = 1000
    /// Bytes of the longest description.
    private static let descriptionBytesMax = 1_000_000

    private let path: String
    private let lock: FileLock

    /// Takes a folder, and removes incomplete snapshots in it, and all of processes that run no more.
    ///
    /// - Parameter data: The data folder.
    /// - Throws: `StorageFailure` with `.notWritable`, or with `.inUse` if too many processes use the data folder.
    package init(data: String) throws(StorageFailure) {
        (path, lock) = try Self.claim(data)
        Self.removeFiles(in: path) { $0.hasSuffix(Self.partial) }
        for name in (try? FileManager.default.contentsOfDirectory(atPath: Self.folder(data))) ?? [] {
            let other = "\(Self.folder(data))/\(name)"
            guard other != path, let lock = try? FileLock(path: "\(other)/lock"), lock.tryLock() else { continue }
            Self.removeFiles(in: other) { $0.hasSuffix(Self.partial) || $0.hasSuffix(Self.complete) }
            lock.unlock()
        }
    }

    private static func claim(_ data: String) throws(StorageFailure) -> (path: String, lock: FileLock) {
        for number in 0..<processesMax {
            let path = "\(folder(data))/\(number)"
            let lock: FileLock
            do {
                try DurableFile.createFolder(URL(fileURLWithPath: path))
                lock = try FileLock(path: "\(path)/lock")
            } catch {
                throw StorageFailure(.notWritable, "the folder of snapshots cannot be made")
            }
            if lock.tryLock() { return (path, lock) }
        }
        throw StorageFailure(.inUse, "too many servers use the data folder")
    }

    private static func folder(_ data: String) -> String { "\(data)/snapshots" }

    /// Removes all snapshots of all processes. A server that reads one reads it to its end, and finds the others missing.
    package static func removeAll(data: String) {
        let files = FileManager.default
        for folder in (try? files.contentsOfDirectory(atPath: folder(data))) ?? [] {
            removeFiles(in: "\(Self.folder(data))/\(folder)") { $0.hasSuffix(complete) }
        }
    }

    private static func removeFiles(in path: String, where isSurplus: (String) -> Bool) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] where isSurplus(name) { unlink("\(path)/\(name)") }
    }

    private func file(_ identifier: String) -> String { "\(path)/\(identifier)\(Self.complete)" }
    private func partialFile(_ identifier: String) -> String { "\(path)/\(identifier)\(Self.partial)" }

    // MARK: SnapshotStorage

    package func snapshots() async throws -> [StoredSnapshot] {
        try await DiskQueue.run { [self] in
            let names = try FileManager.default.contentsOfDirectory(atPath: path)
            return names.filter { $0.hasSuffix(Self.complete) }.sorted().compactMap { name in
                let identifier = String(name.dropLast(Self.complete.count))
                guard SnapshotOffer.isIdentifier(identifier), let snapshot = try? Self.description(of: file(identifier)),
                    snapshot.identifier == identifier
                else {
                    unlink("\(path)/\(name)")
                    return nil
                }
                return snapshot
            }
        }
    }

    package func draft(identifier: String) async throws -> any SnapshotDraft {
        try await DiskQueue.run { [self] in
            try SnapshotDraftFile(identifier: identifier, partial: partialFile(identifier), complete: file(identifier))
        }
    }

    package func open(identifier: String) async throws -> (any AssetReader)? {
        try await DiskQueue.run { [self] in
            // It may be completed between the first two attempts.
            for path in [file(identifier), partialFile(identifier), file(identifier)] where access(path, F_OK) == 0 {
                if let file = try? OpenFile(path: path) { return file }
            }
            return nil
        }
    }

    package func remove(identifier: String) async {
        try? await DiskQueue.run { [self] in _ = unlink(file(identifier)) }
    }

    // MARK: Descriptions

    /// Reads the description at the end of a file.
    private static func description(of path: String) throws -> StoredSnapshot? {
        let file = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
        defer { try? file.close() }
        let size = try file.seekToEnd()
        guard size > 4 else { return nil }
        try file.seek(toOffset: size - 4)
        guard let tail = try file.readToEnd(), tail.count == 4 else { return nil }
        let length = UInt64(tail.reduce(0 as UInt32) { $0 << 8 | UInt32($1) })
        guard length <= descriptionBytesMax, length + 4 <= size else { return nil }
        try file.seek(toOffset: size - 4 - length)
        guard let text = try file.read(upToCount: Int(length)),
            let description = try? JSONDecoder().decode(SnapshotDescription.self, from: text), description.version == 1,
            description.byteCount == Int64(size - 4 - length)
        else { return nil }
        return description.snapshot
    }
}

/// The index of a file: places and tokens of its frames.
private struct SnapshotDescription: Codable {
    var version = 1
    var identifier: String
    var container: String
    var environment: String
    var owner: String
    var zone: String
    var zoneKey: Int64
    var epoch: Int64
    var byteCount: Int64
    var recordCount: Int
    var digest: [UInt8]
    var syncToken: String
    var created: Int64
    var serverIdentity: String

    init(_ snapshot: StoredSnapshot) {
        let (subject, whole) = (snapshot.subject, snapshot.whole)
        identifier = snapshot.identifier
        container = subject.partition.containerIdentifier
        environment = subject.partition.environment.rawValue
        owner = subject.partition.owner
        zone = subject.zoneName
        zoneKey = subject.zoneKey
        epoch = subject.epoch
        byteCount = whole.byteCount
        recordCount = whole.recordCount
        digest = whole.digest
        syncToken = whole.syncToken
        created = snapshot.created
        serverIdentity = snapshot.serverIdentity
    }

    var snapshot: StoredSnapshot? {
        guard let environment = CloudEnvironment(rawValue: environment), digest.count == SnapshotFrame.digestBytes else { return nil }
        return StoredSnapshot(
            subject: SnapshotSubject(
                partition: Partition(containerIdentifier: container, environment: environment, owner: owner), zoneName: zone,
                zoneKey: zoneKey, epoch: epoch),
            identifier: identifier,
            whole: SnapshotOffer.Whole(byteCount: byteCount, recordCount: recordCount, digest: digest, syncToken: syncToken),
            created: created, serverIdentity: serverIdentity)
    }
}

/// A snapshot's file while it is written, under another name. Removed with this object unless it was finished.
private final class SnapshotDraftFile: SnapshotDraft {
    private struct State {
        var digest = SnapshotFrame.firstDigest
        var byteCount: Int64 = 0
        var isMoved = false
    }

    private let identifier: String
    private let partial: String
    private let complete: String
    private let descriptor: Int32
    private let state = Mutex(State())

    init(identifier: String, partial: String, complete: String) throws {
        self.identifier = identifier
        self.partial = partial
        self.complete = complete
        descriptor = Foundation.open(partial, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StorageFailure.ofDisk(errno) }
    }

    deinit {
        close(descriptor)
        if !state.withLock(\.isMoved) { unlink(partial) }
    }

    func append(_ body: [UInt8]) async throws -> Int64 {
        try await DiskQueue.run { [self] in
            // Held while it writes: a draft has one writer.
            try state.withLock { state in
                var hash = SHA256()
                hash.update(data: state.digest)
                hash.update(data: body)
                let digest = Array(hash.finalize())
                try write(SnapshotFrame.head(length: body.count, digest: digest))
                try write(body)
                state.digest = digest
                state.byteCount += Int64(SnapshotFrame.headBytes + body.count)
                return state.byteCount
            }
        }
    }

    private func write(_ bytes: [UInt8]) throws {
        do {
            try bytes.withUnsafeBytes { try DurableFile.write($0, to: descriptor) }
        } catch let error as POSIXError {
            throw StorageFailure.ofDisk(error.code.rawValue)
        }
    }

    func finish(
        _ subject: SnapshotSubject, created: Int64, recordCount: Int, syncToken: String, serverIdentity: String
    ) async throws -> StoredSnapshot {
        try await DiskQueue.run { [self] in
            try state.withLock { state in
                let snapshot = StoredSnapshot(
                    subject: subject, identifier: identifier,
                    whole: SnapshotOffer.Whole(
                        byteCount: state.byteCount, recordCount: recordCount, digest: state.digest, syncToken: syncToken),
                    created: created, serverIdentity: serverIdentity)
                let text = Array(try JSONEncoder().encode(SnapshotDescription(snapshot)))
                try write(text + withUnsafeBytes(of: UInt32(text.count).bigEndian) { Array($0) })
                // Its name is not durable before its content is: an incomplete file would be taken for a complete one.
                guard fsync(descriptor) == 0, rename(partial, complete) == 0 else { throw StorageFailure.ofDisk(errno) }
                state.isMoved = true
                return snapshot
            }
        }
    }

    func discard() async { try? await DiskQueue.run { [self] in _ = unlink(partial) } }
}
