// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Crypto
import Foundation
import SystemSupport

/// The folder with everything a server keeps.
///
/// ```
/// tarn.sqlite        accounts, records, change numbers, …
/// assets/PART/CH/…   files by partition and checksum
/// incoming/          files that are still arriving; those in parts, `partial-…`, outlive the server
/// server.lock        held by the server that uses the folder
/// write.lock         held while a process writes to the database
/// ```
struct DataFolder: Sendable {
    let path: String

    /// Creates the folder and its contents, where missing, and removes permissions of other users.
    ///
    /// Volumes and service managers make the folder before the server does, readable by all users of the machine; the database
    /// has password hashes and the key of all addresses and tokens in it.
    ///
    /// - Throws: `StorageFailure` with `.notWritable`, also if the database is readable by other users and belongs to another.
    init(path: String) throws {
        self.path = path
        let files = FileManager.default
        do {
            try files.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            for folder in ["assets", "incoming"] {
                try files.createDirectory(atPath: "\(path)/\(folder)", withIntermediateDirectories: true)
            }
        } catch {
            throw StorageFailure(.notWritable, "the data folder cannot be made or written to")
        }
        guard access(path, W_OK | X_OK) == 0 else {
            throw StorageFailure(.notWritable, "the data folder cannot be written to")
        }
        try restrictPermissions()
    }

    /// Mode bits of group and others.
    private static let foreignBits: mode_t = 0o077

    private func restrictPermissions() throws {
        // A folder of another user, such as a mount point, keeps its mode: its contents are closed below.
        for folder in [path, "\(path)/assets", incoming] { _ = Self.close(folder) }
        for file in [database, "\(database)-wal", "\(database)-shm", "\(database)-journal", serverLock, writeLock] {
            guard Self.close(file) else {
                throw StorageFailure(.notWritable, "other users may read \(file), which belongs to another user")
            }
        }
        // SQLite gives its other files the mode of the database. Only a missing database is opened here: closing a second
        // descriptor of an open one would release the locks that SQLite holds in this process.
        let descriptor = open(database, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0o600)
        if descriptor >= 0 {
            Foundation.close(descriptor)
        } else if errno != EEXIST {
            throw StorageFailure(.notWritable, "the database cannot be made")
        }
    }

    /// Takes the permissions of group and others away.
    ///
    /// - Returns: `false` if they have some that the process may not take away. A missing file has none.
    private static func close(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return true }
        guard status.st_mode & foreignBits != 0 else { return true }
        return chmod(path, status.st_mode & 0o777 & ~foreignBits) == 0
    }

    /// Whether there is nothing in a folder but what such a folder has.
    static func isOne(_ path: String) -> Bool {
        let known: Set = [
            "tarn.sqlite", "tarn.sqlite-wal", "tarn.sqlite-shm", "tarn.sqlite-journal", "assets", "incoming", "server.lock", "write.lock",
        ]
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else { return false }
        return names.allSatisfy { known.contains($0) }
    }

    var database: String { "\(path)/tarn.sqlite" }
    var serverLock: String { "\(path)/server.lock" }
    var writeLock: String { "\(path)/write.lock" }
    var incoming: String { "\(path)/incoming" }

    func assetFolder(part: Int64, checksum: String) -> String { "\(path)/assets/\(part)/\(checksum.prefix(2))" }

    func assetFolder(part: Int64) -> String { "\(path)/assets/\(part)" }

    func asset(part: Int64, checksum: String) -> String {
        "\(assetFolder(part: part, checksum: checksum))/\(checksum)"
    }

    /// What there is of an upload that arrives in parts.
    func partial(upload id: String) -> String { "\(incoming)/\(Self.partialName(upload: id))" }

    private static let partialPrefix = "partial-"

    private static func partialName(upload id: String) -> String {
        partialPrefix + Hex.text(SHA256.hash(data: Data(id.utf8)))
    }

    /// Files that were arriving whole when the server ended.
    func removeLeftovers() {
        removeIncoming { !$0.hasPrefix(Self.partialPrefix) }
    }

    /// Abandoned parts of uploads.
    func removePartials(except uploads: [String]) {
        let kept = Set(uploads.map { Self.partialName(upload: $0) })
        removeIncoming { $0.hasPrefix(Self.partialPrefix) && !kept.contains($0) }
    }

    private func removeIncoming(_ isLeftover: (String) -> Bool) {
        let files = FileManager.default
        for name in (try? files.contentsOfDirectory(atPath: incoming)) ?? [] where isLeftover(name) {
            try? files.removeItem(atPath: "\(incoming)/\(name)")
        }
    }
}
