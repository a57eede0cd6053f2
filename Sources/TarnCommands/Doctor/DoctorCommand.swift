// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudWire
import Foundation
import SystemSupport

/// `tarn doctor`: checks a client's set-up and a server, and says what to do.
struct DoctorCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "doctor", abstract: "Check a client's set-up or a server, and say what to do.",
        discussion: Help.discussion(
            """
            A client's set-up: the address (--server, else TARN_SERVER, else tarn.json), whether the server can be reached, its \
            certificate, its clock, its public address, and whether container and token (TARN_TOKEN) are valid. A server's data folder \
            (--data): permissions, disk space, integrity of the database, operators, containers and their schemas. The servers' \
            PostgreSQL database (--database) with the folder of assets: the same, without integrity. Nothing is changed.

            The exit code is 0 without problems, also with warnings, and 1 with a problem.
            """,
            examples: "tarn doctor --server https://cloud.example.org --container iCloud.org.example.notes",
            "tarn doctor --data /var/lib/tarn", "tarn doctor --json"))

    @Option(help: ArgumentHelp("Address of the server, as a client uses it.", valueName: "url"))
    var server: String?
    @Option(help: ArgumentHelp("Container to check.", valueName: "identifier"))
    var container: String?
    @Option(help: "development or production. (default: TARN_ENVIRONMENT, else development)")
    var environment: CloudEnvironment?
    @Option(help: ArgumentHelp("Data folder of a server; TARN_DATA names it too.", valueName: "folder"))
    var data: String?
    @Option(
        help: ArgumentHelp(
            "PostgreSQL database of the servers, such as postgres://user@host:port/name; TARN_DATABASE names it too.", valueName: "url"))
    var database: String?
    @Option(help: ServerData.settingsHelp)
    var config: String?
    @OptionGroup var output: OutputOptions

    func validate() throws {
        if let container { try ContainerOptions.check(container) }
    }

    func run() async throws {
        let variables = ProcessInfo.processInfo.environment
        var findings: [Finding] = []
        let client =
            server != nil || data == nil && database == nil
            ? try ClientSetup.read(server: server, variables: variables, container: container) : nil
        let environment = environment ?? client?.environment ?? .development
        if let client {
            findings += client.findings
            findings += await ServerChecks(setup: client, container: container, environment: environment).run()
        }
        let folder =
            data
            ?? (server == nil
                ? variables["TARN_DATA"] ?? (FileManager.default.fileExists(atPath: "tarn-data/tarn.sqlite") ? "tarn-data" : nil) : nil)
        // With --server alone, the environment's folder and database are of no interest.
        let place =
            server == nil || database != nil
            ? try ServerData(folder: folder ?? ServerData.standardFolder, database: database, settingsFile: config) : nil
        if let place, place.database != nil {
            findings += await DatabaseChecks(data: place, container: container).run()
        } else if let folder {
            findings += await FolderChecks(folder: folder, container: container).run()
        }
        guard !findings.isEmpty else {
            throw CommandError(
                "Nothing to check: configure a server (--server, TARN_SERVER or tarn.json), or name a data folder (--data)."
            )
        }
        let width = findings.map(\.check.count).max() ?? 0
        for finding in findings { Output.line(output.json ? finding.json : finding.text(.output, width: width)) }
        let problems = findings.count { $0.grade == .problem }, warnings = findings.count { $0.grade == .warning }
        if !output.json { Output.line("\(CountText.text(problems, "problem")), \(CountText.text(warnings, "warning"))") }
        if problems > 0 { throw ExitCode.failure }
    }
}
