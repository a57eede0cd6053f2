// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Backups of a server's data in one folder, made one at a time while the server runs.
package protocol ServerBackups: Sendable {
    /// Path of the folder that has them.
    var folder: String { get }

    var state: BackupState { get }

    /// The complete backups, the newest first.
    func backups() async throws -> [ServerBackup]

    /// Begins a backup, which goes on after the call.
    ///
    /// - Parameter now: Milliseconds since 1970 UTC; the backup is named by it.
    /// - Returns: `false` if one is being made already.
    func begin(now: Int64) -> Bool
}

package struct ServerBackup: Hashable, Sendable {
    package var path: String
    /// Size of its database, without the files of assets.
    package var databaseBytes: Int64

    package init(path: String, databaseBytes: Int64) {
        self.path = path
        self.databaseBytes = databaseBytes
    }
}

/// What became of the last backup that was begun.
package enum BackupState: Hashable, Sendable {
    case idle
    /// - Parameter since: Milliseconds since 1970 UTC.
    case running(since: Int64)
    /// - Parameter reason: One sentence for the operator.
    case failed(reason: String)
}
