// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngineSQLite
package import CloudService
import Foundation

/// The data of a server in process, which outlive its stops.
package protocol InProcessData: Sendable {
    /// The data folder. With a database, it has the files of assets.
    var path: String { get }
    /// Opens the data for a server.
    ///
    /// - Parameter firstKey: The authentication key of new data, 32 bytes; nil for a random one.
    func open(firstKey: [UInt8]?) throws -> OpenInProcessData
    /// Replaces the data of a stopped server by a backup.
    ///
    /// - Parameter restoreTime: Milliseconds since 1970 UTC, at which the former history ends; nil to continue it, so that sync tokens
    ///   stay valid of which the data know nothing.
    func restore(from backup: String, at restoreTime: Int64?) async throws
    func remove()
}

/// Data that a running server has open.
package struct OpenInProcessData: Sendable {
    package var storage: any OperatedStorage
    /// Copies the data to a new folder.
    package var backUp: @Sendable (_ path: String) async throws -> Void

    package init(storage: any OperatedStorage, backUp: @escaping @Sendable (_ path: String) async throws -> Void) {
        self.storage = storage
        self.backUp = backUp
    }
}

/// A folder with an SQLite database, as `tarn serve` has it.
final class FolderData: InProcessData {
    private let folder = ScratchFolder("tarn-cloud")

    var path: String { folder.path }

    func open(firstKey: [UInt8]?) throws -> OpenInProcessData {
        // Passwords are those of a test: guesses need not be expensive.
        let store = try SQLiteServerStore(path: path, use: .server, passwordRounds: 16, firstKey: firstKey)
        return OpenInProcessData(storage: store) { _ = try await store.backUp(to: $0) }
    }

    func restore(from backup: String, at restoreTime: Int64?) async throws {
        try FileManager.default.removeItem(atPath: path)
        if let restoreTime {
            try await SQLiteServerStore.restore(from: backup, to: path, now: restoreTime)
        } else {
            try FileManager.default.copyItem(atPath: backup, toPath: path)
        }
    }

    func remove() { folder.remove() }
}
