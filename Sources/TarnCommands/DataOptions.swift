// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudService
import Foundation

/// Options that several groups have. A group inside another one would be shorter, but a debug build of ArgumentParser validates it four
/// times as often for each group around it.
extension ServerData {
    static let folderHelp = ArgumentHelp("Folder with everything the server keeps; TARN_DATA names it too.", valueName: "folder")
    static let databaseHelp = ArgumentHelp(
        "PostgreSQL database of the servers, such as postgres://user@host:port/name; TARN_DATABASE names it too. (default: SQLite in the data folder)",
        valueName: "url")
    static let settingsHelp = ArgumentHelp(
        "File with the server's settings, for its line database; TARN_CONFIG names one too.", valueName: "path")

    /// The folder without an option.
    static let standardFolder = ProcessInfo.processInfo.environment["TARN_DATA"] ?? "tarn-data"

    /// The data in a folder, and in the database of an option, of the environment or of the settings file, in this order.
    ///
    /// - Throws: `CommandError` for an unusable address or file.
    init(folder: String, database: String?, settingsFile: String?) throws {
        let address = try database.map { try DatabaseAddress($0) }
        self.init(
            folder: folder,
            database: try address ?? ServerSettings.database(file: settingsFile, environment: ProcessInfo.processInfo.environment))
    }
}

/// The options of commands on a server's data.
struct DataOptions: ParsableArguments {
    @Option(help: ServerData.folderHelp)
    var data = ServerData.standardFolder
    @Option(help: ServerData.databaseHelp)
    var database: String?
    @Option(help: ServerData.settingsHelp)
    var config: String?

    /// - Throws: `CommandError` for an unusable address or file.
    func location() throws -> ServerData { try ServerData(folder: data, database: database, settingsFile: config) }

    /// Opens the data, runs `body`, and closes it; see ``ServerData``.
    func withStore<Value>(
        mustExist: Bool, name: String = "", audited: CommandAudit? = nil, needsFiles: Bool = false,
        _ body: (any OperatedStorage) async throws -> Value
    ) async throws -> Value {
        try await location().withStore(mustExist: mustExist, name: name, audited: audited, needsFiles: needsFiles, body)
    }
}

/// Lines that people and programs read.
enum Output {
    /// Captures the output of commands in tests, instead of the process's streams.
    protocol Sink: AnyObject, Sendable {
        func write(_ text: String, isNote: Bool)
    }

    @TaskLocal static var sink: (any Sink)?

    /// Flushes each line, so that a program that waits for it receives it.
    static func line(_ text: String) { self.text(text + "\n") }

    static func text(_ text: String) {
        if let sink { return sink.write(text, isNote: false) }
        do { try FileHandle.standardOutput.write(contentsOf: Data(text.utf8)) } catch {
            // A full disk or a closed stream: a command without output has failed.
            note("Error: standard output cannot be written: make room, or choose another place.")
            exit(EXIT_FAILURE)
        }
    }

    /// A line on standard error.
    static func note(_ text: String) {
        if let sink { return sink.write(text + "\n", isNote: true) }
        try? FileHandle.standardError.write(contentsOf: Data((text + "\n").utf8))
    }
}
