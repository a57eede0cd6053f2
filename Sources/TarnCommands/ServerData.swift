// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudEngineSQLite
import CloudServer
import CloudService
import CloudStorageSupport
import Foundation

#if TARN_POSTGRES
    import CloudEnginePostgres
#endif

/// Where a server's data is: everything in a folder, or the files of assets in a folder and the rest in a PostgreSQL database.
struct ServerData {
    let folder: String
    let database: DatabaseAddress?

    /// For sentences; without a password.
    var shown: String { database?.shown ?? folder }

    /// Opens the data, which running servers may use at the same time, runs `body`, and closes it.
    ///
    /// - Parameters:
    ///   - name: The account that the command is about, for its errors.
    ///   - audited: The audit log's entry, which the command's first transaction has, too; without a transaction it is written at the end.
    ///     Nil for a command that only reads.
    ///   - needsFiles: Whether the command reads or deletes files of assets. Without it, they fail if they are in an S3-compatible store.
    func withStore<Value>(
        mustExist: Bool, name: String = "", audited: CommandAudit? = nil, needsFiles: Bool = false,
        _ body: (any OperatedStorage) async throws -> Value
    ) async throws -> Value {
        try await CommandError.translating(data: folder, database: database, name: name) {
            let store = try open(mustExist: mustExist, needsFiles: needsFiles)
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

    /// - Parameter mustExist: `false` for a command that may be the first to use the data.
    private func open(mustExist: Bool, needsFiles: Bool) throws -> any OperatedStorage {
        // A command that needs no files needs no key of their store.
        let environment = ProcessInfo.processInfo.environment
        let objects = needsFiles ? try AssetSettings(environment: environment).objects(environment: environment) : nil
        guard let database else {
            let isNew = !FileManager.default.fileExists(atPath: "\(folder)/tarn.sqlite")
            if mustExist, isNew {
                throw CommandError("The folder \(folder) has no data of a tarn server: name the data folder with --data.")
            }
            let store = try SQLiteServerStore(path: folder, use: .command, objects: objects)
            if isNew { Output.note("Made the new data folder \(folder). The server of this data is 'tarn serve --data \(folder)'.") }
            return store
        }
        try checkNoOtherDatabase()
        #if TARN_POSTGRES
            guard !needsFiles || objects != nil || FileManager.default.fileExists(atPath: "\(folder)/assets") else {
                throw CommandError(
                    "The folder \(folder) has no files of assets, which the command needs: run it on a machine that has the servers' folder, and name it with --data."
                )
            }
            return try PostgresServerStore(
                address: database.text, assets: folder, objects: objects, use: .command(makesTables: !mustExist),
                connections: Self.connections)
        #else
            throw CommandError.withoutPostgreSQL(database)
        #endif
    }

    /// Connections of a command.
    private static let connections = 4

    /// - Throws: `CommandError` if a database is named and the folder has one as well.
    func checkNoOtherDatabase() throws {
        guard database != nil, FileManager.default.fileExists(atPath: "\(folder)/tarn.sqlite") else { return }
        // The data may have been moved from here to the database, or may be on its way back.
        if let phase = try SQLiteServerStore.moveState(path: folder)?.phase, phase != .capturing { return }
        throw CommandError(
            "The folder \(folder) has an SQLite database, which is not used with --database: name another folder for the files of assets with --data."
        )
    }
}

extension CommandError {
    static func withoutPostgreSQL(_ database: DatabaseAddress) -> CommandError {
        CommandError(
            "This tarn was built without PostgreSQL, which \(database.shown) needs: build it where libpq-dev is installed, or leave --database out."
        )
    }
}

extension ServerStorage {
    /// A service on this data, in this process. It does not notify a running server.
    var service: CloudService {
        CloudService(engine: Engine(sealer: sealer), storage: self, accounts: self, assets: self, push: PushHub(), surroundings: .system)
    }

    /// - Throws: `StorageFailure.unknownUser`, to which ``ServerData`` adds the nearest name.
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
