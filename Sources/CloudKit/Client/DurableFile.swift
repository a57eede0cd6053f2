// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// Writes files durably: when a call returns, the content and the name are on the disk.
package enum DurableFile {
    /// The system calls that a faulty disk can fail. Tests inject their own.
    package struct Disk: Sendable {
        /// As `fsync`: 0, or -1 and `errno`.
        package var synchronize: @Sendable (Int32) -> Int32

        package init(synchronize: @escaping @Sendable (Int32) -> Int32) { self.synchronize = synchronize }

        package static let real = Disk { fsync($0) }
    }

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
        try check(disk.synchronize(folder))
    }

    /// Replaces the content of a file; see ``replace(_:inFolder:with:disk:)``.
    package static func replace(_ url: URL, with content: Data, disk: Disk = .real) throws {
        let folder = try open(folder: url.deletingLastPathComponent())
        defer { close(folder) }
        try replace(url.lastPathComponent, inFolder: folder, with: content, disk: disk)
    }

    /// Makes a file of another process, and its name, as durable as one that ``replace(_:with:disk:)`` wrote.
    package static func synchronize(_ url: URL, disk: Disk = .real) throws {
        let file = Foundation.open(url.path, O_RDONLY | O_CLOEXEC)
        try check(file)
        defer { close(file) }
        try check(disk.synchronize(file))
        try synchronize(folder: url.deletingLastPathComponent(), disk: disk)
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

    package static func synchronize(folder url: URL, disk: Disk = .real) throws {
        let folder = try open(folder: url)
        defer { close(folder) }
        try check(disk.synchronize(folder))
    }

    /// Writes all bytes, in as many calls as needed.
    package static func write(_ bytes: Data, to file: Int32) throws {
        var remainder = bytes[...]
        while !remainder.isEmpty {
            let count = remainder.withUnsafeBytes { Foundation.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            try check(Int32(clamping: count))
            remainder = remainder.dropFirst(count)
        }
    }

    /// - Throws: `POSIXError` for a negative result.
    package static func check(_ result: Int32) throws {
        if result < 0 { throw POSIXError(POSIXErrorCode(rawValue: errno) ?? .EIO) }
    }

    private static func open(folder: URL) throws -> Int32 {
        let descriptor = Foundation.open(folder.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        try check(descriptor)
        return descriptor
    }
}
