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
    /// The last check of each backup, by name.
    private let checks = Mutex<[String: BackupCheck]>([:])

    /// - Parameter data: Path of the data folder.
    package init(of store: SQLiteServerStore, data: String) {
        self.store = store
        folder = "\(data)/backups"
    }

    package var state: BackupState { current.withLock(\.self) }

    package func backups() async throws -> [ServerBackup] {
        let (folder, checks) = (folder, checks.withLock(\.self))
        return try await DiskQueue.run {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
            return names.sorted(by: >).compactMap { name -> ServerBackup? in
                // A copy that was not completed has another name.
                guard !name.hasSuffix(".partial") else { return nil }
                let path = "\(folder)/\(name)"
                let attributes = try? FileManager.default.attributesOfItem(atPath: "\(path)/tarn.sqlite")
                return (attributes?[.size] as? Int64).map { bytes in
                    let made = Self.time(name) ?? (attributes?[.modificationDate] as? Date).map(Self.milliseconds)
                    return ServerBackup(path: path, databaseBytes: bytes, made: made, check: checks[name])
                }
            }
        }
    }

    package func begin(now: Int64) -> Bool {
        guard enter(.running(since: now)) else { return false }
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

    package func beginCheck(of name: String, now: Int64) async throws -> Bool {
        // Only a name of the list becomes a path.
        guard let backup = try await backups().first(where: { $0.name == name }) else {
            throw StorageFailure(.unknownName, "there is no backup of this name")
        }
        guard enter(.checking(name: name, since: now)) else { return false }
        Task { [self] in
            let check: BackupCheck
            do {
                let contents = try await BackupContents(of: backup.path)
                check = BackupCheck(time: now, faults: contents.faults, counts: contents.counts)
            } catch {
                let cause = (error as? StorageFailure)?.what ?? "unknown error"
                check = BackupCheck(time: now, faults: ["The backup cannot be read: \(cause)."], counts: nil)
            }
            checks.withLock { $0[name] = check }
            current.withLock { $0 = .idle }
        }
        return true
    }

    /// - Returns: `false` if a backup is being made or checked.
    private func enter(_ next: BackupState) -> Bool {
        current.withLock { state in
            switch state {
            case .running, .checking: return false
            case .idle, .failed:
                state = next
                return true
            }
        }
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

    /// The time that ``name(_:)`` made a name of; nil for another name.
    private static func time(_ name: String) -> Int64? {
        let parts = name.split(separator: "T")
        guard parts.count == 2 else { return nil }
        let text = "\(parts[0])T\(parts[1].replacing("-", with: ":"))"
        return (try? Date(text, strategy: .iso8601)).map(milliseconds)
    }

    private static func milliseconds(_ date: Date) -> Int64 { Int64(date.timeIntervalSince1970 * 1000) }
}
