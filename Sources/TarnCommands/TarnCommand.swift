// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

public import ArgumentParser
import SystemSupport

/// The root of the `tarn` command line.
public struct TarnCommand: AsyncParsableCommand {
    public static let configuration = CommandConfiguration(
        commandName: "tarn",
        abstract: "A self-hosted cloud for apps that use Core Data with CloudKit.",
        discussion: """
            Commands that print data have --json: one object per line, with stable keys. Colours are used on a terminal only, and \
            never if NO_COLOR is set.

            Exit codes: 0 success; 1 failure, with one sentence on standard error; 2 a check that found a difference or could not read \
            its input ('tarn model diff', 'tarn store check', 'tarn icloud compare'); 64 wrong arguments.

            """
                + Help.discussion(
                    examples: "tarn serve --data ./data", "tarn user add mia --data ./data", "tarn demo"),
        version: TarnVersion.current,
        subcommands: [
            ServeCommand.self, UserCommand.self, TokenCommand.self, SchemaCommand.self, ZoneCommand.self, AuditCommand.self,
            KeyCommand.self, BackupCommand.self, RestoreCommand.self, DatabaseCommand.self, StoreCommand.self, DemoCommand.self,
            ModelCommand.self, PortCommand.self, OpenAPICommand.self,
            ContainerCommand.self, RecordCommand.self, DoctorCommand.self, WatchCommand.self, ICloudCommand.self, NewCommand.self,
        ])

    public init() {}

    /// Runs the command that the process was started with, and ends the process with its exit code if it fails.
    public static func main() async {
        if let problem = CommandCheck.problem(CommandLine.arguments.dropFirst(), root: Self.self) {
            Output.note("Error: \(problem)")
            exit(withError: ExitCode.validationFailure)
        }
        await main(nil)
    }
}
