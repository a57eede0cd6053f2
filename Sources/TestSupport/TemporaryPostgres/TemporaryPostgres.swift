// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization

/// A PostgreSQL server in a temporary folder, which ends with the process. Nil where none is installed, or can be started.
///
/// It listens on a socket in its folder, so that no port is taken. The server refuses to run as root: tests of root run it as the user
/// `postgres`, which Debian's package makes.
package final class TemporaryPostgres: Sendable {
    /// The server that the tests of this process share; each makes databases of its own.
    package static let shared = try? attempt?.get()

    /// Why an installed server did not start; nil if it did, or if none is installed.
    package static var failure: String? {
        if case .failure(let error) = attempt { "\(error)" } else { nil }
    }

    /// Where a test says why it does not run.
    package static var absence: String { failure ?? "PostgreSQL is not installed: apt-get install postgresql" }

    private static let attempt = TemporaryPostgres.start(synchronous: false)

    private let folder: String
    private let programs: String
    private let input: Pipe
    private let process: Process
    /// Names of databases that others are copied from, by the statements that made them.
    private let templates = Mutex<[[String]: String]>([:])

    private init(folder: String, programs: String, input: Pipe, process: Process) {
        self.folder = folder
        self.programs = programs
        self.input = input
        self.process = process
    }

    deinit { try? input.fileHandleForWriting.close() }

    /// Ends the server, and returns once it has ended.
    package func end() {
        try? input.fileHandleForWriting.close()
        process.waitUntilExit()
    }

    /// - Parameter synchronous: Whether commits reach the disk; tests that kill the server need it.
    /// - Returns: Nil where none is installed.
    package static func start(synchronous: Bool) -> Result<TemporaryPostgres, any Error>? {
        programs().map { programs in Result { try start(programs, synchronous: synchronous) } }
    }

    private static func makeFolder() throws -> String {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tarn-pg-\(UUID().uuidString.prefix(8))").path
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        if getuid() == 0 { try run("/bin/chown", ["postgres", folder]) }
        return folder
    }

    private static func start(_ programs: String, synchronous: Bool) throws -> TemporaryPostgres {
        let folder = try makeFolder()
        try run(
            asServer: true, "\(programs)/initdb",
            ["-D", "\(folder)/data", "-A", "trust", "-U", "postgres", "--no-sync", "-E", "UTF8", "--locale=C"])
        return try run(programs, in: folder, synchronous: synchronous)
    }

    /// Makes a server that replicates this one.
    package func makeStandby() throws -> TemporaryPostgres {
        let folder = try Self.makeFolder()
        try Self.run(
            asServer: true, "\(programs)/pg_basebackup",
            ["-D", "\(folder)/data", "-h", self.folder, "-U", "postgres", "--write-recovery-conf", "--checkpoint=fast", "--no-sync"])
        return try Self.run(programs, in: folder, synchronous: false)
    }

    /// The address of a database on several servers, of which one is the primary.
    ///
    /// - Parameter database: The address on one of them.
    package static func address(of database: String, on servers: [TemporaryPostgres]) -> String {
        "\(database.prefix { $0 != "?" })?host=\(servers.map(\.folder).joined(separator: ","))"
    }

    /// Starts a server on the data of a folder.
    private static func run(_ programs: String, in folder: String, synchronous: Bool) throws -> TemporaryPostgres {
        let (process, input) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        // The shell outlives a killed test process by the moment that it takes to end the server.
        let script = """
            folder=$1; shift; "$@" >"$folder/log" 2>&1 & server=$!; cat >/dev/null; kill -QUIT $server; wait $server; rm -rf "$folder"
            """
        let server = serverCommand(
            "\(programs)/postgres",
            [
                "-D", "\(folder)/data", "-k", folder, "-c", "listen_addresses=", "-c", "max_connections=200",
                "-c", "fsync=\(synchronous ? "on" : "off")",
            ])
        process.arguments = ["-c", script, "sh", folder] + server
        process.standardInput = input
        try process.run()
        let started = TemporaryPostgres(folder: folder, programs: programs, input: input, process: process)
        for _ in 0..<200 {
            if (try? run("\(programs)/pg_isready", ["-q", "-h", folder])) != nil { return started }
            Thread.sleep(forTimeInterval: 0.05)
        }
        throw Failure("PostgreSQL did not start: \((try? String(contentsOfFile: "\(folder)/log", encoding: .utf8)) ?? "")")
    }

    /// Makes a database.
    ///
    /// - Parameter tables: Statements that make its tables. They are executed once and copied from then on, in a fifth of the time.
    /// - Returns: Its address for `--database`.
    package func makeDatabase(with tables: [String] = []) throws -> String {
        try address(ofDatabase: createDatabase(template: tables.isEmpty ? nil : template(of: tables)))
    }

    private func address(ofDatabase name: String) -> String { "postgres://postgres@/\(name)?host=\(folder)" }

    private func createDatabase(template: String?) throws -> String {
        let name = "t" + UUID().uuidString.lowercased().filter { $0 != "-" }
        try Self.run("\(programs)/createdb", ["-h", folder, "-U", "postgres"] + (template.map { ["-T", $0] } ?? []) + [name])
        return name
    }

    private func template(of tables: [String]) throws -> String {
        try templates.withLock { templates in
            if let name = templates[tables] { return name }
            let name = try createDatabase(template: nil)
            try sql(tables.joined(separator: ";\n"), on: address(ofDatabase: name))
            templates[tables] = name
            return name
        }
    }

    /// Removes a database, and ends the connections to it. Nothing waits for that.
    package func dropDatabase(_ address: String) {
        guard let name = address.split(separator: "?").first?.split(separator: "/").last else { return }
        let (programs, folder) = (programs, folder)
        DispatchQueue.global().async {
            _ = try? Self.run("\(programs)/dropdb", ["-h", folder, "-U", "postgres", "--force", String(name)])
        }
    }

    /// Runs SQL with `psql`.
    ///
    /// - Returns: Rows without headings.
    @discardableResult
    package func sql(_ statement: String, on address: String) throws -> String {
        try Self.run("\(programs)/psql", ["-X", "-A", "-t", "-q", "-v", "ON_ERROR_STOP=1", "-c", statement, address])
    }

    /// Writes a database to a file, as operators back it up.
    package func dump(_ address: String, to file: String, format: String = "custom") throws {
        try Self.run("\(programs)/pg_dump", ["--format=\(format)", "--file=\(file)", address])
    }

    /// Makes a database of a dump.
    ///
    /// - Returns: Its address for `--database`.
    package func restore(_ file: String) throws -> String {
        let address = try makeDatabase()
        try Self.run("\(programs)/pg_restore", ["--exit-on-error", "--dbname=\(address)", file])
        return address
    }

    private struct Failure: Error { var text: String; init(_ text: String) { self.text = text } }

    /// The folder with `initdb`, which Debian does not put on the path.
    private static func programs() -> String? {
        let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
        let folders =
            versions.compactMap { Int($0) }.sorted(by: >).map { "/usr/lib/postgresql/\($0)/bin" } + ["/usr/local/bin", "/usr/bin"]
        return folders.first { FileManager.default.isExecutableFile(atPath: "\($0)/initdb") }
    }

    private static func serverCommand(_ program: String, _ arguments: [String]) -> [String] {
        guard getuid() == 0 else { return [program] + arguments }
        return ["/usr/bin/setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", program] + arguments
    }

    @discardableResult
    private static func run(asServer: Bool = false, _ program: String, _ arguments: [String]) throws -> String {
        let command = asServer ? serverCommand(program, arguments) : [program] + arguments
        let (process, output) = (Process(), Pipe())
        process.executableURL = URL(fileURLWithPath: command[0])
        process.arguments = Array(command.dropFirst())
        process.currentDirectoryURL = URL(fileURLWithPath: "/")
        process.standardOutput = output
        process.standardError = output
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else { throw Failure("\(program): \(text)") }
        return text.trimmingCharacters(in: .newlines)
    }
}
