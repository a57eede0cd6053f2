// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudStorageSupport
import Foundation
import GRDB

/// What a backup has, after its database and the sizes of its files were read. Nothing of the backup is changed.
struct BackupContents: Sendable {
    var faults: [String] = []
    /// Nil for a database of an earlier format.
    var counts: BackupCheck.Counts?

    private static let faultsMax = 20

    /// - Throws: `StorageFailure` if the database cannot be opened.
    init(of path: String) async throws {
        self = try await DiskQueue.run {
            var configuration = Configuration()
            configuration.label = "tarn.check"
            configuration.readonly = true
            do {
                let queue = try DatabaseQueue(path: "\(path)/tarn.sqlite", configuration: configuration)
                defer { try? queue.close() }
                return try queue.read { try BackupContents($0, try AssetFolder(path: path, makesFolders: false)) }
            } catch let error as DatabaseError {
                throw StorageFailure(error)
            }
        }
    }

    private init(_ db: Database, _ folder: AssetFolder) throws {
        let findings = try String.fetchAll(db, sql: "PRAGMA integrity_check(\(Self.faultsMax))").filter { $0 != "ok" }
        faults = findings.map { "The database is damaged: \($0)." }
        do {
            let (count, lacking) = try Self.assetFiles(db, folder)
            if let first = lacking.first {
                let noun = lacking.count == 1 ? "file of an asset is" : "files of assets are"
                faults.append("\(lacking.count) \(noun) missing or of another size, such as \(first).")
            }
            counts = BackupCheck.Counts(
                users: try Int.fetchOne(db, sql: "SELECT count(*) FROM accounts") ?? 0,
                records: try Int.fetchOne(db, sql: "SELECT count(*) FROM records WHERE deleted = 0") ?? 0, assetFiles: count)
        } catch let error as DatabaseError where error.resultCode == .SQLITE_ERROR {
            // An earlier format lacks a table or a column.
        }
    }

    /// - Returns: The number of sound files, and the checksums of assets that records have without one.
    private static func assetFiles(_ db: Database, _ folder: AssetFolder) throws -> (count: Int, lacking: [String]) {
        var (count, lacking): (Int, [String]) = (0, [])
        let rows = try Row.fetchCursor(db, sql: SQLiteServerStore.assetsOfBackup)
        while let row = try rows.next() {
            let (part, checksum, isNeeded, size): (Int64, String, Bool, Int64) = (row[0], row[1], row[2], row[3])
            let attributes = try? FileManager.default.attributesOfItem(atPath: folder.file(part: part, checksum: checksum))
            if (attributes?[.size] as? Int64) == size { count += 1 } else if isNeeded { lacking.append(checksum) }
        }
        return (count, lacking)
    }
}
