// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import SystemSupport

/// The failure of a command: one sentence with the cause and the next step, printed to standard error. The exit code isn't zero.
struct CommandError: Error, CustomStringConvertible, Equatable {
    let description: String

    init(_ description: String) {
        self.description = description
    }

    /// The failure of a read that would never end.
    static var repeatedPage: CommandError { CommandError(reason: PagePositions.complaint, step: "Run the command again later.") }

    /// The error of a rejected request: the server's reason, and the next step as a sentence. A reason may have signs that control a
    /// terminal.
    init(reason: String, step: String) {
        let reason = TerminalText.escaped(reason)
        self.init("\(reason.prefix(1).uppercased() + reason.dropFirst()). \(step)")
    }

    /// - Parameters:
    ///   - database: The database, if the data is not in the folder.
    ///   - name: The account that the command is about.
    init(_ failure: StorageFailure, data: String, database: DatabaseAddress? = nil, name: String = "") {
        switch failure.code {
        case .nameTaken:
            description =
                "A user named \(name) is there already: choose another name, or make a token for another device "
                + "with 'tarn user token \(name)'."
        case .unknownName where failure == .noData:
            description =
                "The database \(database?.shown ?? data) has no data of a tarn server: name the servers' database with --database."
        case .unknownName:
            description = failure == .unknownUser ? CommandError(unknownUser: name, among: []).description : "\(name): \(failure.what)."
        case .notWritable:
            description =
                "The data folder \(data) cannot be made or written to: choose another with --data, or give yourself write permission."
        case .objectStore:
            description =
                "The store of assets could not be used (\(failure.what)): check it, and set TARN_ASSETS, TARN_ASSETS_ENDPOINT, "
                + "TARN_ASSETS_REGION and its key in the environment as the server has them."
        case .moved:
            description =
                "The data of \(database?.shown ?? data) was moved to another database: name that with --database, or its folder with --data."
        case .arriving:
            description =
                "A move of a server's data to \(database?.shown ?? data) has not ended: run its 'tarn database move' again."
        case _ where database != nil: description = Self.sentence(failure, database: database?.shown ?? "")
        case .inUse:
            description = "Another tarn server uses the data folder \(data): stop it first, or choose another folder with --data."
        case .corrupt:
            description = "The database in \(data) is damaged or not one of tarn (\(failure.what)): restore the folder from a backup."
        case .newerFormat:
            description = "The database in \(data) was written by a newer version of tarn: use that version or a newer one."
        case .full: description = "The disk of the data folder \(data) is full: make room and try again."
        case .busy: description = "The database in \(data) is busy: try again in a moment."
        case .unavailable, .inDoubt:
            description = "The data folder \(data) could not be used (\(failure.what)): check the disk and try again."
        }
    }

    private static func sentence(_ failure: StorageFailure, database: String) -> String {
        switch failure.code {
        case .newerFormat: "The database \(database) was written by a newer version of tarn: use that version or a newer one."
        case .corrupt: "The database \(database) is damaged or not one of tarn (\(failure.what)): restore it from a backup."
        case .full: "The disk of the database \(database) is full: make room and try again."
        case .busy: "The database \(database) is busy (\(failure.what)): try again in a moment."
        default: "The database \(database) could not be used (\(failure.what)): check its address, and that the server runs."
        }
    }

    init(unknownUser name: String, among names: [String]) {
        let suggestion = Suggestion.sentence(for: name, among: names)
        description = "The user \(name) does not exist: 'tarn user list' lists all users.\(suggestion)"
    }

    /// - Parameters:
    ///   - data: The folder or database.
    ///   - names: The existing containers.
    init(unknownContainer name: String, data: String, among names: [String]) {
        let list = names.isEmpty ? "It has no containers yet." : "'tarn container list' lists all containers."
        description = "The container \(name) does not exist in \(data). \(list)\(Suggestion.sentence(for: name, among: names))"
    }

    /// Runs `body` and translates storage failures into sentences.
    static func translating<Value>(
        data: String, database: DatabaseAddress? = nil, name: String = "", _ body: () async throws -> Value
    ) async throws -> Value {
        do {
            return try await body()
        } catch let failure as StorageFailure {
            throw CommandError(failure, data: data, database: database, name: name)
        }
    }
}
