// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudStorageSupport
import Foundation

/// The folder with everything a server keeps.
///
/// ```
/// tarn.sqlite        accounts, records, change numbers, …
/// assets/, incoming/ files of assets; see `AssetFolder`
/// staged/            requests of saves that have not arrived whole; see ``StagedRequests``
/// snapshots/         snapshots of zones, a cache; see `SnapshotFolder`
/// server.lock        held by the server that uses the folder
/// write.lock         held while a process writes to the database
/// ```
struct DataFolder: Sendable {
    let path: String
    /// The files of assets.
    let files: AssetFolder

    /// Creates the folder and its contents, where missing, and removes permissions of other users.
    ///
    /// Volumes and service managers make the folder before the server does, readable by all users of the machine; the database
    /// has password hashes and the key of all addresses and tokens in it.
    ///
    /// - Throws: `StorageFailure` with `.notWritable`, also if the database is readable by other users and belongs to another.
    init(path: String) throws {
        self.path = path
        files = try AssetFolder(path: path)
        try restrictPermissions()
    }

    private func restrictPermissions() throws {
        for file in [database, "\(database)-wal", "\(database)-shm", "\(database)-journal", serverLock, writeLock] {
            guard AssetFolder.close(file) else {
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

    /// Whether there is nothing in a folder but what such a folder has.
    static func isOne(_ path: String) -> Bool {
        let known: Set = [
            "tarn.sqlite", "tarn.sqlite-wal", "tarn.sqlite-shm", "tarn.sqlite-journal", "assets", "incoming", "staged", "snapshots",
            "server.lock",
            "write.lock",
        ]
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: path) else { return false }
        return names.allSatisfy { known.contains($0) }
    }

    /// Removes what a program that ended early left of a data folder.
    ///
    /// - Throws: `StorageFailure` with `.nameTaken` for another folder, and the error of the file system.
    static func removeRemains(_ path: String) throws {
        guard isOne(path) else { throw StorageFailure(.nameTaken, "there is a file or folder of this name already") }
        try FileManager.default.removeItem(atPath: path)
    }

    var database: String { "\(path)/tarn.sqlite" }
    var staged: String { "\(path)/staged" }
    var serverLock: String { "\(path)/server.lock" }
    var writeLock: String { "\(path)/write.lock" }
}
