// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Backups of a server's data in one folder, made and checked one at a time while the server runs.
package protocol ServerBackups: Sendable {
    /// Path of the folder that has them.
    var folder: String { get }

    var state: BackupState { get }

    /// The complete backups, the newest first.
    func backups() async throws -> [ServerBackup]

    /// Begins a backup, which goes on after the call.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC; the backup is named by it.
    /// - Returns: `false` if one is being made or checked already.
    func begin(now: Int64) -> Bool

    /// Begins the check of a backup, which goes on after the call; ``ServerBackup/check`` is its result.
    ///
    /// - Parameters:
    ///   - name: That of ``ServerBackup/name``.
    ///   - now: Milliseconds since 1970 UTC.
    /// - Returns: `false` if one is being made or checked already.
    /// - Throws: `StorageFailure` with `.unknownName` if there is no backup of the name.
    func beginCheck(of name: String, now: Int64) async throws -> Bool
}

package struct ServerBackup: Hashable, Sendable {
    package var path: String
    /// Size of its database, without the files of assets.
    package var databaseBytes: Int64
    /// Milliseconds since 1970 UTC; nil if it is unknown.
    package var made: Int64?
    /// The last check since the server started; nil without one.
    package var check: BackupCheck?

    package init(path: String, databaseBytes: Int64, made: Int64? = nil, check: BackupCheck? = nil) {
        self.path = path
        self.databaseBytes = databaseBytes
        self.made = made
        self.check = check
    }

    /// The last component of the path.
    package var name: String { path.split(separator: "/").last.map(String.init) ?? path }
}

/// The result of reading a whole backup.
package struct BackupCheck: Hashable, Sendable {
    package struct Counts: Hashable, Sendable {
        package var users: Int
        /// Records that are not deleted.
        package var records: Int
        package var assetFiles: Int

        package init(users: Int, records: Int, assetFiles: Int) {
            self.users = users
            self.records = records
            self.assetFiles = assetFiles
        }
    }

    /// When it began, in milliseconds since 1970 UTC.
    package var time: Int64
    /// Sentences for the operator; empty for a sound backup.
    package var faults: [String]
    /// Nil for a database of an earlier format, which a restore migrates, or one that could not be read.
    package var counts: Counts?

    package init(time: Int64, faults: [String], counts: Counts?) {
        self.time = time
        self.faults = faults
        self.counts = counts
    }
}

/// What became of the last backup or check that was begun.
package enum BackupState: Hashable, Sendable {
    case idle
    /// - Parameter since: Milliseconds since 1970 UTC.
    case running(since: Int64)
    /// - Parameter since: Milliseconds since 1970 UTC.
    case checking(name: String, since: Int64)
    /// - Parameter reason: One sentence for the operator.
    case failed(reason: String)
}
