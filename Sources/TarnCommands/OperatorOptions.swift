// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudConsole
import CloudEngine
import CloudService
import CloudWire
import SystemSupport

/// The options of commands that administer a server: on its data, or on another machine with an operator's key.
struct OperatorOptions: ParsableArguments {
    static let serverHelp = ArgumentHelp(
        "Address of a running server, instead of a data folder. It is the console's, if the console has its own.", valueName: "url")
    static let keyFileHelp = ArgumentHelp(
        "File with an operator's key for --server, readable by its owner only; TARN_OPERATOR_KEY has a key, too.", valueName: "path")

    @Option(help: OperatorOptions.serverHelp)
    var server: String?
    @Option(help: OperatorOptions.keyFileHelp)
    var keyFile: String?
    @Option(help: ServerData.folderHelp)
    var data = ServerData.standardFolder
    @Option(help: ServerData.databaseHelp)
    var database: String?
    @Option(help: ServerData.settingsHelp)
    var config: String?

    func validate() throws {
        guard let server else {
            guard keyFile == nil else { throw ValidationError("--key-file goes with --server.") }
            return
        }
        guard database == nil else { throw ValidationError("Use either --server or --database.") }
        guard RecordTarget.isAddress(server) else {
            throw ValidationError("'\(server)' isn't the address of a server, such as https://cloud.example.org.")
        }
    }

    /// Performs one operation on the server or its data.
    ///
    /// - Parameters:
    ///   - mustExist: `false` for an operation that may be the first to use the data.
    ///   - isAudited: `false` for an operation that the audit log of data does not have. A server has all operations.
    func perform<Operation: AdminOperation>(
        _ operation: Operation, mustExist: Bool = true, isAudited: Bool = true
    ) async throws -> Operation.Response {
        let audit = isAudited ? CommandAudit(Operation.name, operation.subject) : nil
        return try await withAdminClient(audit, mustExist: mustExist, name: operation.user ?? "") { try await $0.perform(operation) }
    }

    /// Runs `body` with a client, and translates errors into sentences.
    ///
    /// - Parameters:
    ///   - audit: The event in the audit log of the data; nil for none. A server writes its own.
    ///   - name: The account that the operations are about, for errors.
    func withAdminClient<Value>(
        _ audit: CommandAudit?, mustExist: Bool = true, name: String = "", needsFiles: Bool = false,
        _ body: (any AdminClient) async throws -> Value
    ) async throws -> Value {
        do {
            if let server { return try await body(RemoteAdminClient(server: try RemoteServer(address: server, keyFile: keyFile))) }
            let place = try ServerData(folder: data, database: database, settingsFile: config)
            return try await place.withStore(mustExist: mustExist, name: name, audited: audit, needsFiles: needsFiles) { store in
                do {
                    return try await body(LocalAdminClient(context: AdminContext(service: store.service, storage: store)))
                } catch let unknown as UnknownContainer {
                    throw CommandError(unknownContainer: unknown.name, data: place.shown, among: unknown.names)
                }
            }
        } catch let error as WireError {
            throw CommandError(operation: error, server: server)
        } catch let refused as SchemaRefused {
            throw CommandError(refusals: refused.reasons)
        }
    }
}

/// Performs administrative operations.
protocol AdminClient: Sendable {
    func perform<Operation: AdminOperation>(_ operation: Operation) async throws -> Operation.Response
}

/// Performs operations in this process.
struct LocalAdminClient: AdminClient {
    let context: AdminContext

    func perform<Operation: AdminOperation>(_ operation: Operation) async throws -> Operation.Response {
        try await operation.perform(in: context)
    }
}

/// Sends operations to a server.
struct RemoteAdminClient: AdminClient {
    let server: RemoteServer

    func perform<Operation: AdminOperation>(_ operation: Operation) async throws -> Operation.Response {
        let bytes = try await server.send("POST", PageAddress.operations + Operation.name, operation.object.encoded())
        return try Operation.Response(FlatObject(json: bytes))
    }
}

extension CommandError {
    /// The error of an operation. Its reason may have names of records, with signs that control a terminal.
    ///
    /// - Parameter server: Address of the server that refused it; nil for an operation in this process.
    init(operation error: WireError, server: String?) {
        let lines = error.reason.split(separator: "\n").map { TerminalText.escaped(String($0)) }
        let reason = lines.joined(separator: "\n")
        let isSentence = reason.last.map { ".!?".contains($0) } == true
        let sentence = "\(reason.prefix(1).uppercased())\(reason.dropFirst())\(isSentence ? "" : ".")"
        guard let server else {
            self.init(sentence)
            return
        }
        switch error.code {
        case .conflict: self.init(refusals: lines)
        case .throttled, .tryAgainLater:
            self.init("\(server): \(sentence) Try again in \(CountText.text(Int((error.retryAfter ?? 1).rounded(.up)), "second")).")
        case .notFound where error.reason.hasPrefix("could not find handler"):
            self.init(
                "\(server) does not have this operation: update the server to the version of this command, or name the console's address with --server."
            )
        default: self.init("\(server): \(sentence)")
        }
    }

    /// The error of a schema that is not accepted, with a line for each reason.
    init(refusals: [String]) { self.init("Refused:\n" + refusals.map { "  \(TerminalText.escaped($0))" }.joined(separator: "\n")) }
}
