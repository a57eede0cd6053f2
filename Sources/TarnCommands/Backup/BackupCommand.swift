// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudEngineSQLite
import Foundation

/// `tarn backup`: copies all data, also while the server runs.
struct BackupCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "backup", abstract: "Copy everything the server keeps, while it runs.",
        discussion: Help.discussion(
            "The copy is of one moment. 'tarn restore' makes a data folder of it.",
            examples: "tarn backup --data /var/lib/tarn --output /backups/2030-01-02"))

    @OptionGroup var options: DataOptions
    @OptionGroup var result: OutputOptions
    @Option(help: ArgumentHelp("New folder for the copy.", valueName: "folder"))
    var output: String

    func run() async throws {
        guard !FileManager.default.fileExists(atPath: output) else {
            throw CommandError("There is something named \(output) already: name a new folder with --output.")
        }
        let count = try await options.withStore(mustExist: true) { try await copy($0) }
        result.print(
            "\(output): the database and \(count) files of assets", ["folder": JSONText.string(output), "assetFiles": "\(count)"])
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
        commandName: "restore", abstract: "Make a data folder of a copy.",
        discussion: Help.discussion(
            "Devices that synced after the copy was made resend the records that it lacks.",
            examples: "tarn restore --from /backups/2030-01-02 --data /var/lib/tarn"))

    @Option(help: ArgumentHelp("Folder that 'tarn backup' made.", valueName: "folder"))
    var from: String
    @OptionGroup var options: DataOptions
    @OptionGroup var result: OutputOptions

    func run() async throws {
        do {
            try await SQLiteServerStore.restore(from: from, to: options.data, now: Int64(Date().timeIntervalSince1970 * 1000))
        } catch let failure as StorageFailure where failure.code == .nameTaken {
            throw CommandError("There is something named \(options.data) already: name a new folder with --data.")
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
            throw CommandError(failure, data: options.data, name: from)
        }
        result.print(
            "\(options.data): restored; run it by 'tarn serve --data \(options.data)'", ["folder": JSONText.string(options.data)])
    }
}
