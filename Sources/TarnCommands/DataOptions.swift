// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudEngineSQLite
import CloudServer
import CloudService
import CloudStorageSupport
import Foundation

struct DataOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Folder with everything the server keeps; TARN_DATA names it too.", valueName: "folder"))
    var data = ProcessInfo.processInfo.environment["TARN_DATA"] ?? "tarn-data"

    /// Opens the data folder, which a running server may use at the same time, runs `body`, and closes it.
    ///
    /// - Parameters:
    ///   - name: The account that the command is about, for its errors.
    ///   - audited: The audit log's entry, which the command's first transaction has, too; without a transaction it is written at the end.
    ///     Nil for a command that only reads.
    func withStore<Value>(
        mustExist: Bool, name: String = "", audited: CommandAudit? = nil, _ body: (SQLiteServerStore) async throws -> Value
    ) async throws -> Value {
        let isNew = !FileManager.default.fileExists(atPath: "\(data)/tarn.sqlite")
        if mustExist, isNew {
            throw CommandError("The folder \(data) has no data of a tarn server: name the data folder with --data.")
        }
        return try await CommandError.translating(data: data, name: name) {
            let environment = ProcessInfo.processInfo.environment
            let objects = try AssetSettings(environment: environment).objects(environment: environment)
            let store = try SQLiteServerStore(path: data, use: .command, objects: objects)
            if isNew { Output.note("Made the new data folder \(data). The server of this data is 'tarn serve --data \(data)'.") }
            let value: Value
            do {
                if let audited {
                    value = try await store.recording(audited.event) { try await body(store) }
                } else {
                    value = try await body(store)
                }
            } catch let failure as StorageFailure where failure == .unknownUser {
                let names = (try? await store.users().map(\.name)) ?? []
                try? store.close()
                throw CommandError(unknownUser: name, among: names)
            } catch {
                try? store.close()
                throw error
            }
            try store.close()
            return value
        }
    }
}

extension SQLiteServerStore {
    /// A service on this data, in this process. It does not notify a running server.
    var service: CloudService {
        CloudService(engine: Engine(sealer: sealer), storage: self, accounts: self, assets: self, push: PushHub(), surroundings: .system)
    }

    /// - Throws: `StorageFailure.unknownUser`, to which ``DataOptions`` adds the nearest name.
    func requiredAccount(named name: String) async throws -> Int64 {
        guard let account = try await account(named: name) else { throw StorageFailure.unknownUser }
        return account
    }
}

/// A command's entry in the audit log.
struct CommandAudit {
    var action: String
    var subject: String

    init(_ action: String, _ subject: String) {
        self.action = action
        self.subject = subject
    }

    fileprivate var event: AuditEvent {
        // Under sudo, the login name identifies the operator better than root.
        let environment = ProcessInfo.processInfo.environment
        let login = environment["SUDO_USER"] ?? NSUserName()
        return AuditEvent(
            time: CloudService.Surroundings.system.now(), actor: .commandLine(login), action: action, subject: subject, outcome: .done)
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
