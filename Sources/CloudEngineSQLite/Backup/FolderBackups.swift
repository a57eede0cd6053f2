// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudService
import CloudStorageSupport
import Foundation
import Synchronization

/// Backups in the folder `backups` of a data folder: files of assets are linked, and take no space until the server removes them.
package final class FolderBackups: ServerBackups {
    package let folder: String
    private let store: SQLiteServerStore
    private let current = Mutex(BackupState.idle)

    /// - Parameter data: Path of the data folder.
    package init(of store: SQLiteServerStore, data: String) {
        self.store = store
        folder = "\(data)/backups"
    }

    package var state: BackupState { current.withLock(\.self) }

    package func backups() async throws -> [ServerBackup] {
        let folder = folder
        return try await DiskQueue.run {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.sorted(by: >).compactMap { name -> ServerBackup? in
                // A copy that was not completed has another name.
                guard !name.hasSuffix(".partial") else { return nil }
                let path = "\(folder)/\(name)"
                let attributes = try? FileManager.default.attributesOfItem(atPath: "\(path)/tarn.sqlite")
                return (attributes?[.size] as? Int64).map { ServerBackup(path: path, databaseBytes: $0) }
            }
        }
    }

    package func begin(now: Int64) -> Bool {
        let isFirst = current.withLock { state in
            if case .running = state { return false }
            state = .running(since: now)
            return true
        }
        guard isFirst else { return false }
        Task { [self] in
            let end: BackupState
            do {
                try await DiskQueue.run { [folder] in
                    try FileManager.default.createDirectory(
                        atPath: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
                    Self.removeRemains(in: folder)
                }
                _ = try await store.backUp(to: "\(folder)/\(Self.name(now))")
                end = .idle
            } catch let failure as StorageFailure {
                end = .failed(reason: failure.code == .full ? "The disk is full." : "The backup could not be made: \(failure.what).")
            } catch {
                end = .failed(reason: "The folder \(folder) could not be made.")
            }
            current.withLock { $0 = end }
        }
        return true
    }

    /// Removes copies of the console that a process which ended left; one server has the data folder. Copies of other names may be those of
    /// a command that runs. The next backup tries again if one cannot be removed.
    private static func removeRemains(in folder: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        where name.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d-\d\d-\d\dZ\.partial/) != nil {
            try? DataFolder.removeRemains("\(folder)/\(name)")
        }
    }

    /// Such as `2030-01-02T03-04-05Z`: in the order of time, and without characters that a shell or another system gives a meaning.
    static func name(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000).formatted(.iso8601).replacing(":", with: "-")
    }
}
