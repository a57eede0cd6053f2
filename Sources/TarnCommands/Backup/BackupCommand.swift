// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudEngineSQLite
import CloudService
import Foundation
import SystemSupport

/// `tarn backup`: copies all data, also while the server runs.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copy everything the server keeps, while it runs.",
        discussion: Help.discussion(
            """
            The copy is of one moment. 'tarn restore' makes a data folder of it. A PostgreSQL database is copied with pg_dump, and after it \
            the folder with the files of assets.
            """,
            examples: "tarn backup --data /var/lib/tarn --output /backups/2030-01-02"))

    @OptionGroup var options: DataOptions
    @OptionGroup var result: OutputOptions
    @Option(help: ArgumentHelp("New folder for the copy.", valueName: "folder"))
    var output: String

    func run() async throws {
        guard !FileManager.default.fileExists(atPath: output) else {
            throw CommandError("There is something named \(output) already: name a new folder with --output.")
        }
        let place = try options.location()
        if let database = place.database {
            throw CommandError(
                "'tarn backup' copies a data folder, and the data is in the database \(database.shown): copy that with pg_dump, and then the folder \(place.folder) with the files of assets."
            )
        }
        let count = try await place.withStore(mustExist: true, audited: CommandAudit("backup", "server"), needsFiles: true) { store in
            guard let store = store as? SQLiteServerStore else { preconditionFailure("data without a database is in a folder") }
            return try await copy(store)
        }
        result.print(
            "\(output): the database and \(CountText.text(count, "file")) of assets",
            ["folder": JSONText.string(output), "assetFiles": "\(count)"])
    }

    /// Copies the store. Errors name the destination, since only the destination is written.
    private func copy(_ store: SQLiteServerStore) async throws -> Int {
        do {
            return try await store.backUp(to: output)
        } catch let failure as StorageFailure where failure.code == .notWritable {
            throw CommandError("The folder \(output) cannot be made: choose another with --output, or give yourself write permission.")
        } catch let failure as StorageFailure where failure.code == .nameTaken {
            throw CommandError("There is something named \(output) or \(output).partial already: name a new folder with --output.")
        } catch let failure as StorageFailure where failure.code == .full {
            throw CommandError("The disk of the folder \(output) is full: make room, or choose another with --output.")
        }
    }
}

/// `tarn restore`: makes a data folder from a copy.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Make a data folder of a copy, or end the restore of a PostgreSQL database.",
        discussion: Help.discussion(
            """
            Devices that synced after the copy was made resend the records that it lacks.

            A PostgreSQL database is restored from its dump with pg_restore, while no server runs. Then run this command without --from, \
            once and before a server starts: it tells devices that changes may be missing.
            """,
            examples: "tarn restore --from /backups/2030-01-02 --data /var/lib/tarn", "tarn restore --database postgres://tarn@db/tarn"))

    @Option(help: ArgumentHelp("Folder that 'tarn backup' made; not for a database.", valueName: "folder"))
    var from: String?
    @OptionGroup var options: DataOptions
    @OptionGroup var result: OutputOptions

    func run() async throws {
        let place = try options.location()
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        switch (from, place.database) {
        case (let from?, nil): try await restore(from, to: place.folder, now: now)
        case (nil, let database?): try await endRestore(of: place, database, now: now)
        case (nil, nil): throw CommandError("Name the folder of the copy with --from, or a restored database with --database.")
        case (_?, let database?):
            throw CommandError(
                "The data is in the database \(database.shown): restore its dump with pg_restore, then run 'tarn restore' without --from.")
        }
    }

    /// Raises the epochs of a database that pg_restore has made.
    private func endRestore(of place: ServerData, _ database: DatabaseAddress, now: Int64) async throws {
        let count = try await place.withStore(mustExist: true, audited: CommandAudit("restore", "server")) { store in
            guard let store = store as? any DumpedStorage else { preconditionFailure("the data of a database is in a storage with dumps") }
            return try await store.endRestore(now: now)
        }
        result.print(
            "\(database.shown): restored, with \(CountText.text(count, "database")) of users and containers; start the servers",
            ["database": JSONText.string(database.shown), "partitions": "\(count)"])
    }

    private func restore(_ from: String, to folder: String, now: Int64) async throws {
        do {
            try await SQLiteServerStore.restore(from: from, to: folder, now: now)
        } catch let failure as StorageFailure where failure.code == .nameTaken {
            throw CommandError("There is something named \(folder) already: name a new folder with --data.")
        } catch let failure as StorageFailure where failure.code == .unknownName {
            throw CommandError("The folder \(from) has no copy of a server's data: name another with --from.")
        } catch let failure as StorageFailure where failure.code == .inUse {
            // The destination folder is new, so no other process uses it.
            throw CommandError(
                "A tarn server uses the folder \(from): restore from a copy that 'tarn backup' made of it, or stop the server first.")
        } catch let failure as StorageFailure where [.corrupt, .newerFormat].contains(failure.code) {
            throw CommandError(failure, data: from)
        } catch let failure as StorageFailure where failure.code == .notWritable && access(from, W_OK) != 0 {
            throw CommandError("The copy in \(from) is locked while it is read: give yourself write permission there, or copy it first.")
        } catch let failure as StorageFailure {
            throw CommandError(failure, data: folder, name: from)
        }
        result.print(
            "\(folder): restored; run it by 'tarn serve --data \(folder)'", ["folder": JSONText.string(folder)])
    }
}
