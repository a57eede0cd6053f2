// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation

/// Writes files durably: when a call returns, the content and the name are on the disk.
package enum DurableFile {
    /// The system calls that a faulty disk can fail. Tests inject their own.
    package struct Disk: Sendable {
        /// As `fsync`: 0, or -1 and `errno`.
        package var synchronize: @Sendable (Int32) -> Int32

        package init(synchronize: @escaping @Sendable (Int32) -> Int32) { self.synchronize = synchronize }

        package static let real = Disk { fsync($0) }
    }

    // MARK: Whole files

    /// Replaces the content of a file in an open folder, readable by its owner only. A reader sees the previous or the
    /// new content, also after a power failure. Supports one writer at a time.
    ///
    /// - Throws: `POSIXError`. The previous content stays, unless only the folder could not be synchronized.
    package static func replace(_ name: String, inFolder folder: Int32, with content: Data, disk: Disk = .real) throws {
        let temporary = ".new-" + name
        let file = openat(folder, temporary, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        try check(file)
        defer { close(file) }
        do {
            // A file left by an earlier attempt keeps the permissions it had.
            try check(fchmod(file, 0o600))
            try write(content, to: file)
            try check(disk.synchronize(file))
            try check(renameat(folder, temporary, folder, name))
        } catch {
            unlinkat(folder, temporary, 0)
            throw error
        }
        try synchronize(openFolder: folder, disk)
    }

    /// Replaces the content of a file; see ``replace(_:inFolder:with:disk:)``.
    package static func replace(_ url: URL, with content: Data, disk: Disk = .real) throws {
        let folder = try open(folder: url.deletingLastPathComponent())
        defer { close(folder) }
        try replace(url.lastPathComponent, inFolder: folder, with: content, disk: disk)
    }

    /// Creates a file with durable content. Its name becomes durable by ``synchronize(folder:disk:)``, once for
    /// many files.
    ///
    /// - Parameter fill: Writes the content, to an open descriptor.
    /// - Throws: `POSIXError` (`.EEXIST` if there is a file of this name), and what `fill` throws. No file is left then.
    package static func create(_ path: String, permissions: mode_t = 0o600, disk: Disk = .real, fill: (Int32) throws -> Void) throws {
        let file = Foundation.open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, permissions)
        try check(file)
        defer { close(file) }
        do {
            try fill(file)
            try check(disk.synchronize(file))
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Renames a file or folder within a disk, durably. Its content has to be durable already.
    ///
    /// - Throws: `POSIXError`; after a failure to synchronize the folder the new name may be lost in a power cut.
    package static func move(_ path: String, to destination: String, disk: Disk = .real) throws {
        try check(rename(path, destination))
        try synchronize(folder: URL(fileURLWithPath: destination).deletingLastPathComponent(), disk: disk)
    }

    /// Creates a folder and its missing parents, readable by the owner only, with durable names.
    package static func createFolder(_ url: URL, disk: Disk = .real) throws {
        let manager = FileManager.default
        if manager.fileExists(atPath: url.path) { return }
        let parent = url.deletingLastPathComponent()
        try createFolder(parent, disk: disk)
        do {
            try manager.createDirectory(at: url, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        } catch {
            // Another process may have created it first.
            guard manager.fileExists(atPath: url.path) else { throw error }
        }
        try synchronize(folder: parent, disk: disk)
    }

    // MARK: Synchronizing

    /// Makes a file that another process or call wrote, and its name, durable.
    package static func synchronize(_ url: URL, disk: Disk = .real) throws {
        try synchronize(content: url, disk: disk)
        try synchronize(folder: url.deletingLastPathComponent(), disk: disk)
    }

    /// Makes the content of a file durable. Its name becomes durable by ``synchronize(folder:disk:)``.
    package static func synchronize(content url: URL, disk: Disk = .real) throws {
        let file = Foundation.open(url.path, O_RDONLY | O_CLOEXEC)
        try check(file)
        defer { close(file) }
        try check(disk.synchronize(file))
    }

    /// Makes the names in a folder durable.
    package static func synchronize(folder url: URL, disk: Disk = .real) throws {
        let folder = try open(folder: url)
        defer { close(folder) }
        try synchronize(openFolder: folder, disk)
    }

    /// Some network file systems can't synchronize a folder, and fail with `EINVAL`.
    private static func synchronize(openFolder folder: Int32, _ disk: Disk) throws {
        if disk.synchronize(folder) != 0, errno != EINVAL { throw POSIXError(errno: errno) }
    }

    // MARK: Descriptors

    /// Writes all bytes, in as many calls as it takes.
    package static func write(_ bytes: Data, to file: Int32) throws { try bytes.withUnsafeBytes { try write($0, to: file) } }

    /// Writes all bytes, in as many calls as it takes.
    package static func write(_ bytes: UnsafeRawBufferPointer, to file: Int32) throws {
        var offset = 0
        while offset < bytes.count {
            let count = Foundation.write(file, bytes.baseAddress.map { $0 + offset }, bytes.count - offset)
            if count < 0, errno == EINTR { continue }
            try check(Int32(clamping: count))
            offset += count
        }
    }

    /// - Throws: `POSIXError` of `errno` for a negative result.
    package static func check(_ result: Int32) throws {
        if result < 0 { throw POSIXError(errno: errno) }
    }

    private static func open(folder: URL) throws -> Int32 {
        let descriptor = Foundation.open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try check(descriptor)
        return descriptor
    }
}
