// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudService
import Foundation

/// The folder of a server.
struct FolderOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Folder with everything the server keeps; TARN_DATA names it too.", valueName: "folder"))
    var data = standard

    /// The folder without an option.
    static var standard: String { ProcessInfo.processInfo.environment["TARN_DATA"] ?? "tarn-data" }
}

/// The file with a server's settings.
struct ConfigOptions: ParsableArguments {
    @Option(help: ArgumentHelp("File with the server's settings, for its line database; TARN_CONFIG names one too.", valueName: "path"))
    var config: String?

    /// The data in a folder, and in the database of a flag, of the environment or of the settings file, in this order.
    ///
    /// - Throws: `CommandError` for an unusable address or file.
    func data(folder: String, database: String?) throws -> ServerData {
        let address = try database.map { try DatabaseAddress($0) }
        return ServerData(
            folder: folder,
            database: try address ?? ServerSettings.database(file: config, environment: ProcessInfo.processInfo.environment))
    }
}

/// The options of commands on a server's data.
struct DataOptions: ParsableArguments {
    @OptionGroup var folder: FolderOptions
    @Option(
        help: ArgumentHelp(
            "PostgreSQL database of the servers, such as postgres://user@host:port/name; TARN_DATABASE names it too. (default: SQLite in the data folder)",
            valueName: "url"))
    var database: String?
    @OptionGroup var settings: ConfigOptions

    /// - Throws: `CommandError` for an unusable address or file.
    func location() throws -> ServerData { try settings.data(folder: folder.data, database: database) }

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
        FileHandle.standardOutput.write(Data(text.utf8))
    }

    /// A line on standard error.
    static func note(_ text: String) {
        if let sink { return sink.write(text + "\n", isNote: true) }
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
