// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import Foundation
import SystemSupport

/// The files of one persisted operation, in a folder that the owning process holds locked.
///
/// Writes are durable and atomic. The kernel releases the lock when the process ends. The folder is readable by this
/// user only.
final class PersistedOperationFolder: Sendable {
    /// Prefix of folders that are being created or removed.
    static let unfinishedPrefix = "."
    /// Prefix of every file, with the number of its format, to be incremented when the format changes.
    static let formatName = Array("tarn operation 1\n".utf8)

    let url: URL
    /// `nil` after the release.
    private let descriptor: Locked<Int32?>

    private init(_ url: URL, _ descriptor: Int32) {
        self.url = url
        self.descriptor = Locked(descriptor)
    }

    deinit { release() }

    // MARK: Folders

    /// Creates a folder. It appears under its name with all its files, or not at all.
    ///
    /// - Parameter fill: Writes the files into the folder. Its argument has the final paths.
    /// - Throws: The error of the file system or of `fill`.
    static func create(_ name: String, in parent: URL, fill: (PersistedOperationFolder) throws -> Void) throws -> PersistedOperationFolder {
        try FileManager.default.createDirectory(
            at: parent, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var unfinished = ""
        let url = parent.appendingPathComponent(name, isDirectory: true)
        var lockedDescriptor: Int32?
        for _ in 0..<8 where lockedDescriptor == nil {
            unfinished = parent.appendingPathComponent(unfinishedPrefix + UUID().uuidString).path
            try DurableFile.check(mkdir(unfinished, 0o700))
            // Another process's cleanup may remove the folder before it is locked.
            lockedDescriptor = locked(unfinished)
        }
        do {
            guard let descriptor = lockedDescriptor else { throw POSIXError(.EBUSY) }
            let folder = PersistedOperationFolder(url, descriptor)
            try fill(folder)
            try DurableFile.check(fsync(descriptor))
            try DurableFile.move(unfinished, to: url.path)
            return folder
        } catch {
            try? FileManager.default.removeItem(atPath: unfinished)
            throw error
        }
    }

    /// Opens an existing folder. `nil` if it does not exist, or another process holds it.
    init?(at url: URL) {
        guard let descriptor = Self.locked(url.path) else { return nil }
        self.url = url
        self.descriptor = Locked(descriptor)
    }

    private static func locked(_ path: String) -> Int32? {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        var (opened, named) = (stat(), stat())
        // The previous owner may have removed the folder before it released the lock.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &opened) == 0, stat(path, &named) == 0,
            opened.st_ino == named.st_ino, opened.st_dev == named.st_dev
        else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Releases the lock. This object writes no more to the folder.
    func release() {
        descriptor.update { descriptor in
            if let descriptor { close(descriptor) }
            descriptor = nil
        }
    }

    /// Removes the folder and its files.
    func remove() {
        descriptor.update { descriptor in
            guard let open = descriptor else { return }
            let removedFolder = url.deletingLastPathComponent().appendingPathComponent(Self.unfinishedPrefix + UUID().uuidString)
            // The rename is atomic, so that no process sees a half-removed folder under its name.
            if rename(url.path, removedFolder.path) == 0 {
                try? DurableFile.synchronize(folder: url.deletingLastPathComponent())
                try? FileManager.default.removeItem(at: removedFolder)
            }
            close(open)
            descriptor = nil
        }
    }

    // MARK: Files

    /// - Throws: The error of the file system; `EBADF` after the folder was released or removed.
    func write(_ content: Data, to name: String) throws {
        var bytes = Data(Self.formatName)
        bytes.append(contentsOf: SHA256.hash(data: content))
        bytes.append(content)
        try inFolder { folder in
            try DurableFile.replace(name, inFolder: folder, with: bytes)
        }
    }

    /// - Returns: `nil` if the file does not exist.
    /// - Throws: ``Unreadable`` if the file is damaged or has an unknown format.
    func read(_ name: String) throws -> Data? {
        guard FileManager.default.fileExists(atPath: url.appendingPathComponent(name).path) else { return nil }
        let bytes = try Data(contentsOf: url.appendingPathComponent(name))
        let head = Self.formatName.count
        guard bytes.count >= head + SHA256.byteCount, bytes.prefix(head).elementsEqual(Self.formatName) else {
            throw Unreadable()
        }
        let content = Data(bytes.dropFirst(head + SHA256.byteCount))
        guard SHA256.hash(data: content).elementsEqual(bytes.dropFirst(head).prefix(SHA256.byteCount)) else {
            throw Unreadable()
        }
        return content
    }

    struct Unreadable: Error {}

    /// The names of all files, in alphabetical order.
    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: url.path).filter { !$0.hasPrefix(".") }.sorted()
    }

    /// Adds a file that its owner may remove: as a hard link if possible, else as a copy.
    ///
    /// - Throws: The error of the file system.
    func add(_ file: URL, as name: String) throws {
        try inFolder { folder in
            unlinkat(folder, name, 0)
            // Follows symbolic links, to add their content.
            if linkat(AT_FDCWD, file.path, folder, name, AT_SYMLINK_FOLLOW) != 0 { try Self.copy(file, folder, name) }
            let added = openat(folder, name, O_RDONLY | O_CLOEXEC)
            try DurableFile.check(added)
            defer { close(added) }
            try DurableFile.check(fsync(added))
            try DurableFile.check(fsync(folder))
        }
    }

    private static func copy(_ file: URL, _ folder: Int32, _ name: String) throws {
        let source = try FileHandle(forReadingFrom: file)
        defer { try? source.close() }
        let target = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
        try DurableFile.check(target)
        defer { close(target) }
        do {
            while let piece = try source.read(upToCount: 1 << 20), !piece.isEmpty { try DurableFile.write(piece, to: target) }
        } catch {
            unlinkat(folder, name, 0)
            throw error
        }
    }

    private func inFolder(_ body: (Int32) throws -> Void) throws {
        var outcome: Result<Void, any Error> = .failure(POSIXError(.EBADF))
        descriptor.update { descriptor in
            if let descriptor { outcome = Result { try body(descriptor) } }
        }
        try outcome.get()
    }
}
