// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngineSQLite
import CloudServer
import CloudService
import Foundation

struct DataOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Folder with everything the server keeps; TARN_DATA names it too.", valueName: "folder"))
    var data = ProcessInfo.processInfo.environment["TARN_DATA"] ?? "tarn-data"

    /// Opens the folder beside a server that may be running, runs `body`, and closes it.
    ///
    /// - Parameters:
    ///   - name: The account that the command is about, for its errors.
    ///   - audited: What the audit log says of the command, once it was carried out; nil for a command that only reads.
    func withStore<Value>(
        mustExist: Bool, name: String = "", audited: CommandAudit? = nil, _ body: (SQLiteServerStore) async throws -> Value
    ) async throws -> Value {
        if mustExist, !FileManager.default.fileExists(atPath: "\(data)/tarn.sqlite") {
            throw CommandError("There is no data of a tarn server in \(data): name its folder with --data.")
        }
        return try await CommandError.translating(data: data, name: name) {
            let store = try SQLiteServerStore(path: data, use: .command)
            let value: Value
            do {
                value = try await body(store)
                if let audited { try await store.append(audited.event) }
            } catch {
                try? store.close()
                throw error
            }
            try store.close()
            return value
        }
    }
}

/// A command in the audit log.
struct CommandAudit {
    var action: String
    var subject: String

    init(_ action: String, _ subject: String) {
        self.action = action
        self.subject = subject
    }

    fileprivate var event: AuditEvent {
        // The login behind sudo says more than root.
        let environment = ProcessInfo.processInfo.environment
        let login = environment["SUDO_USER"] ?? NSUserName()
        return AuditEvent(
            time: CloudService.Surroundings.system.now(), actor: .commandLine(login), action: action, subject: subject, outcome: .done)
    }
}

/// Lines that people and programs read.
enum Output {
    /// Written at once, so that a program that waits for the line gets it.
    static func line(_ text: String) { FileHandle.standardOutput.write(Data((text + "\n").utf8)) }
    static func text(_ text: String) { FileHandle.standardOutput.write(Data(text.utf8)) }
    static func note(_ text: String) { FileHandle.standardError.write(Data((text + "\n").utf8)) }
}
