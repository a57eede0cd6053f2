// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import Foundation
import SystemSupport

/// The files of one kept operation: a folder of its own, which the process that has to do with it holds locked.
///
/// What is written is durable and whole, or not there. The lock is the kernel's, so it ends with the process, however that
/// ends. Nobody but this user may look into the folder.
final class KeptFolder: Sendable {
    /// Begins the name of a folder that is being made, or going away.
    static let unfinishedPrefix = "."
    /// Begins every file, with the number of its format, which another one would have to change.
    static let formatName = Array("tarn operation 1\n".utf8)

    let url: URL
    /// Nil once it was given back.
    private let descriptor: Locked<Int32?>

    private init(_ url: URL, _ descriptor: Int32) {
        self.url = url
        self.descriptor = Locked(descriptor)
    }

    deinit { giveBack() }

    // MARK: Whole folders

    /// Makes a folder, which appears under its name with everything that was put into it, or not at all.
    ///
    /// - Parameter fill: Puts its files into the folder. Given where they will be.
    /// - Throws: What the file system says, and what `fill` throws.
    static func create(_ name: String, in parent: URL, fill: (KeptFolder) throws -> Void) throws -> KeptFolder {
        try FileManager.default.createDirectory(
            at: parent, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var unfinished = ""
        let url = parent.appendingPathComponent(name, isDirectory: true)
        var made: Int32?
        for _ in 0..<8 where made == nil {
            unfinished = parent.appendingPathComponent(unfinishedPrefix + UUID().uuidString).path
            try DurableFile.check(mkdir(unfinished, 0o700))
            // Another process that tidies up may come before the lock.
            made = locked(unfinished)
        }
        do {
            guard let descriptor = made else { throw POSIXError(.EBUSY) }
            let folder = KeptFolder(url, descriptor)
            try fill(folder)
            try DurableFile.check(fsync(descriptor))
            try DurableFile.move(unfinished, to: url.path)
            return folder
        } catch {
            try? FileManager.default.removeItem(atPath: unfinished)
            throw error
        }
    }

    /// A folder that is there; nil if it is gone, or another process has it.
    init?(at url: URL) {
        guard let descriptor = Self.locked(url.path) else { return nil }
        self.url = url
        self.descriptor = Locked(descriptor)
    }

    private static func locked(_ path: String) -> Int32? {
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        var (mine, there) = (stat(), stat())
        // Whoever had it before may have removed it while it was waited for.
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0, fstat(descriptor, &mine) == 0, stat(path, &there) == 0,
            mine.st_ino == there.st_ino, mine.st_dev == there.st_dev
        else {
            close(descriptor)
            return nil
        }
        return descriptor
    }

    /// Lets others have the folder; nothing is written to it by this object from now on.
    func giveBack() {
        descriptor.update { descriptor in
            if let descriptor { close(descriptor) }
            descriptor = nil
        }
    }

    /// Removes the folder with everything in it.
    func remove() {
        descriptor.update { descriptor in
            guard let open = descriptor else { return }
            let gone = url.deletingLastPathComponent().appendingPathComponent(Self.unfinishedPrefix + UUID().uuidString)
            // Under its name it is whole or not there, also for who looks while it goes.
            if rename(url.path, gone.path) == 0 {
                try? DurableFile.synchronize(folder: url.deletingLastPathComponent())
                try? FileManager.default.removeItem(at: gone)
            }
            close(open)
            descriptor = nil
        }
    }

    // MARK: Files

    /// - Throws: What the file system says; `EBADF` once the folder was given back or removed.
    func write(_ content: Data, to name: String) throws {
        var bytes = Data(Self.formatName)
        bytes.append(contentsOf: SHA256.hash(data: content))
        bytes.append(content)
        try inFolder { folder in
            try DurableFile.replace(name, inFolder: folder, with: bytes)
        }
    }

    /// - Returns: Nil if there is no such file.
    /// - Throws: ``Unreadable`` if it is damaged, or of a format that this version does not know.
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

    /// Names of all files, in alphabetical order.
    func names() throws -> [String] {
        try FileManager.default.contentsOfDirectory(atPath: url.path).filter { !$0.hasPrefix(".") }.sorted()
    }

    /// Keeps the content of a file that others may remove: by a link to the same content where that can be, else by a copy.
    ///
    /// - Throws: What the file system says.
    func keep(_ file: URL, as name: String) throws {
        try inFolder { folder in
            unlinkat(folder, name, 0)
            // A symbolic link is followed: it is the content that is meant.
            if linkat(AT_FDCWD, file.path, folder, name, AT_SYMLINK_FOLLOW) != 0 { try Self.copy(file, folder, name) }
            let kept = openat(folder, name, O_RDONLY | O_CLOEXEC)
            try DurableFile.check(kept)
            defer { close(kept) }
            try DurableFile.check(fsync(kept))
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
