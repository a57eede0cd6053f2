// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudServer
import CloudService
import CloudStorageSupport
import CloudWire
import Foundation
import SystemSupport

/// Checks of a server's data folder.
struct FolderChecks {
    /// Free bytes of the disk.
    private static let space = (warning: UInt64(2_000_000_000), problem: UInt64(200_000_000))
    /// Source: SQLite's release notes: earlier versions can corrupt a write-ahead log that two connections checkpoint concurrently.
    private static let safeCheckpoints = [3, 51, 3]

    let folder: String
    let container: String?

    func run() async -> [Finding] {
        guard FileManager.default.fileExists(atPath: "\(folder)/tarn.sqlite") else {
            return [.problem("data folder", "\(folder) has no data of a tarn server", "name its folder with --data")]
        }
        var findings = [permissions(of: [folder, "\(folder)/tarn.sqlite"]), space()]
        guard access(folder, W_OK | X_OK) == 0, access("\(folder)/tarn.sqlite", R_OK | W_OK) == 0 else { return findings }
        let store: SQLiteServerStore
        do {
            store = try SQLiteServerStore(path: folder, use: .command)
        } catch {
            let sentence = (error as? StorageFailure).map { CommandError($0, data: folder).description } ?? "\(error)"
            return findings + [.problem("database", sentence, "restore the folder from a backup with 'tarn restore'")]
        }
        do {
            findings.append(try await integrity(store))
            findings.append(Self.library(SQLiteServerStore.libraryVersion))
            if let assets = try await assets(store) { findings.append(assets) }
            findings += try await ContentChecks(store: store, place: folder, container: container).run()
        } catch {
            let sentence = (error as? StorageFailure).map { CommandError($0, data: folder).description } ?? "\(error)"
            findings.append(.problem("database", sentence, "try again, and restore the folder from a backup if it stays so"))
        }
        try? store.close()
        return findings
    }

    /// - Parameter paths: The folder, and a file or folder in it.
    func permissions(of paths: [String]) -> Finding {
        guard paths.allSatisfy({ access($0, R_OK | W_OK) == 0 }), access(folder, X_OK) == 0 else {
            return .problem(
                "data folder", "this user may not read and write \(folder)",
                "run the command as the user of the server, or change the owner of the folder")
        }
        for path in paths {
            guard FileStamp(path: path)?.isOpenToOthers == true else { continue }
            return .problem("data folder", "other users may read \(path), which has all records", "run 'chmod -R go-rwx \(folder)'")
        }
        return .ok("data folder", "\(folder), for its owner only")
    }

    func space() -> Finding {
        guard let freeBytes = DiskSpace.freeBytes(of: folder) else {
            return .warning("disk", "the free space is unknown", "check the disk of \(folder)")
        }
        return Self.finding(freeBytes: freeBytes)
    }

    static func finding(freeBytes: UInt64) -> Finding {
        let text = "\(ByteText.text(Int64(clamping: freeBytes))) are free"
        switch freeBytes {
        case ..<space.problem: return .problem("disk", text, "make room: a full disk refuses all writes")
        case ..<space.warning: return .warning("disk", text, "make room, or move the data folder to a larger disk")
        default: return .ok("disk", text)
        }
    }

    private func integrity(_ store: SQLiteServerStore) async throws -> Finding {
        let faults = try await store.quickCheck()
        guard let first = faults.first else { return .ok("database", "sound (quick check)") }
        return .problem(
            "database", "\(CountText.text(faults.count, "fault")), such as: \(first)",
            "stop the server and restore the folder from a backup with 'tarn restore'")
    }

    static func library(_ version: String) -> Finding {
        let numbers = version.split(separator: ".").compactMap { Int($0) }
        if numbers.lexicographicallyPrecedes(safeCheckpoints) {
            return .ok("SQLite", "\(version); the server serializes checkpoints, which this version needs")
        }
        return .ok("SQLite", version)
    }

    /// The store of assets outside of the folder; nil without one.
    private func assets(_ store: SQLiteServerStore) async throws -> Finding? {
        guard let owner = try await store.assetOwner(makesOne: false) else { return nil }
        let environment = ProcessInfo.processInfo.environment
        do {
            guard let objects = try AssetSettings(environment: environment).objects(environment: environment) else {
                return .warning(
                    "assets", "they are in an S3-compatible store that the environment does not name",
                    "set TARN_ASSETS, TARN_ASSETS_ENDPOINT, TARN_ASSETS_REGION and its key as the server has them, to check it")
            }
            let location = objects.client.location
            do {
                try await objects.claim(owner, makesOwner: false)
                return .ok("assets", location.shown)
            } catch let failure as S3Failure {
                return .problem("assets", CommandError(failure, location).description, "the server needs it for uploads and downloads")
            }
        } catch let error as CommandError {
            return .problem("assets", error.description, "set its environment variables as the server has them")
        }
    }
}
