// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import ArgumentParser
import SystemSupport

/// The root of the `tarn` command line.
public struct TarnCommand: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "tarn",
        abstract: "A self-hosted cloud for apps that use Core Data with CloudKit.",
        version: TarnVersion.current,
        subcommands: [
            ServeCommand.self, UserCommand.self, TokenCommand.self, SchemaCommand.self, ZoneCommand.self, AuditCommand.self, KeyCommand.self, BackupCommand.self, RestoreCommand.self, StoreCommand.self, DemoCommand.self,
            ModelCommand.self, PortCommand.self, OpenAPICommand.self,
            NewCommand.self,
        ])

    public init() {}

    /// Runs the command that the process was started with, and ends the process with its exit code if it fails.
    public static func main() async { await main(nil) }
}
