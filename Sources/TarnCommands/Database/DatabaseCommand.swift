// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudEngineSQLite
import CloudStorageSupport
import Foundation
import SystemSupport

/// `tarn database`: the database of a server as a whole.
struct DatabaseCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "database", abstract: "Move a server's data to another database.", subcommands: [Move.self])

    /// `tarn database move`: copies everything while servers run, and stops writes for the last changes.
    struct Move: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            commandName: "move", abstract: "Move all data between a data folder and a PostgreSQL database, while the server runs.",
            discussion: Help.discussion(
                """
                Every row, file and credential is copied and compared. Then writes wait for the last changes, and 'tarn serve' continues \
                on the new database by itself: devices reconnect, and sync from where they were. Until then nothing changes for them.

                A move that ended early continues when the command is run again. --cancel ends one that has not stopped the server's \
                writes yet; the copy stays where it is.

                Files of assets stay in the folder of --data, unless the destination is another folder.
                """,
                examples: "tarn database move --data /var/lib/tarn --to postgres://tarn@db/tarn",
                "tarn database move --database postgres://tarn@db/tarn --data /var/lib/tarn --to /var/lib/tarn"))

        @OptionGroup var options: DataOptions
        @OptionGroup var result: OutputOptions
        @Option(help: ArgumentHelp("Empty PostgreSQL database, or a folder.", valueName: "url-or-folder"))
        var to: String
        @Flag(help: "End a move that has not stopped the server's writes.")
        var cancel = false

        /// How long the server may take to continue on the new database.
        private static let serverLimit = Duration.seconds(60)

        func run() async throws {
            let source = try options.location()
            let destination = try destination(of: source)
            try check(source)
            do {
                let (source, to, isCancelled) = (source, destination, cancel)
                let report = try await DiskQueue.run { try Self.move(source, to: to, isCancelled: isCancelled) }
                guard let report else {
                    try await source.withStore(mustExist: true, audited: CommandAudit("database move cancel", "server")) { _ in }
                    return result.print(
                        "The move to \(destination.shown) was cancelled.", ["cancelled": JSONText.string(destination.shown)])
                }
                let rows = report.rows.values.reduce(0, +)
                try await destination.withStore(mustExist: true, audited: CommandAudit("database move", "server")) { _ in }
                let done =
                    report.wasDone
                    ? "was moved before"
                    : "moved \(CountText.text(rows, "row")) and compared each, and \(CountText.text(report.files, "file")) of assets"
                result.print(
                    "\(destination.shown): \(done); writes waited \(report.stopMilliseconds) ms",
                    [
                        "database": JSONText.string(destination.shown), "rows": "\(rows)",
                        "records": "\(report.rows["records"] ?? 0)", "files": "\(report.files)", "changes": "\(report.changes)",
                        "stopMilliseconds": "\(report.stopMilliseconds)",
                    ])
            } catch let failure as StorageFailure {
                throw Self.error(failure, source: source, destination: destination, isCancelled: cancel)
            }
        }

        private func destination(of source: ServerData) throws -> ServerData {
            let address = ["postgres://", "postgresql://"].contains { to.hasPrefix($0) } ? try DatabaseAddress(to) : nil
            guard (address == nil) != (source.database == nil) else {
                throw CommandError(
                    address == nil
                        ? "A data folder moves to PostgreSQL: name a database with --to postgres://user@host:port/name."
                        : "A PostgreSQL database moves to a folder: name one with --to.")
            }
            return address.map { ServerData(folder: source.folder, database: $0) } ?? ServerData(folder: to, database: nil)
        }

        private func check(_ source: ServerData) throws {
            guard source.database == nil, !FileManager.default.fileExists(atPath: "\(source.folder)/tarn.sqlite") else { return }
            throw CommandError("The folder \(source.folder) has no data of a tarn server: name the data folder with --data.")
        }

        /// - Returns: Nil for a move that was cancelled.
        private static func move(_ source: ServerData, to destination: ServerData, isCancelled: Bool) throws -> ServerMove.Report? {
            let old = try source.moveEnd(assets: source.folder, isSource: true)
            defer { old.close() }
            if isCancelled {
                try ServerMove.cancel(old, isDestination: destination.isPlace)
                return nil
            }
            let new = try destination.moveEnd(assets: source.folder, isSource: false)
            defer { new.close() }
            let progress = ProgressLine()
            defer { progress.end() }
            let count = Count()
            let move = ServerMove(from: old, to: new) { table in
                count.value += 1
                progress.show("copying table", count.value, of: nil, table)
            }
            let report = try move.run()
            if source.database == nil {
                // A server may still read files of assets by their former names.
                if try SQLiteMoveEnd.awaitServerEnd(path: source.folder, limit: serverLimit) {
                    try move.removeSourceFiles()
                } else {
                    Output.note(
                        "A server still uses the folder \(source.folder): restart it, then run the command again to remove files of assets under their former names."
                    )
                }
            }
            return report
        }

        private final class Count { var value = 0 }

        private static func error(
            _ failure: StorageFailure, source: ServerData, destination: ServerData, isCancelled: Bool
        ) -> CommandError {
            switch failure.code {
            case .nameTaken:
                CommandError("\(destination.shown) has data of a tarn server: name an empty database, or a new folder, with --to.")
            case .inUse where isCancelled:
                CommandError("The move of \(source.shown) to \(destination.shown) cannot be cancelled: \(failure.what).")
            case .inUse:
                CommandError("\(source.shown) cannot be moved to \(destination.shown) now: \(failure.what).")
            case .corrupt:
                CommandError(
                    "The move found a difference (\(failure.what)), and the server continues on \(source.shown). Check it with 'tarn doctor', end the move with --cancel, and begin again."
                )
            case .newerFormat:
                CommandError("This version of tarn cannot move \(source.shown): \(failure.what).")
            default:
                CommandError("The move failed (\(failure.what)). Run the command again: it continues where it ended.")
            }
        }
    }
}
