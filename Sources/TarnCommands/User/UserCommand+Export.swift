// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CloudEngine
import CloudServer
import CloudService
import Foundation
import SystemSupport

extension UserCommand {
    struct Export: AsyncParsableCommand {
        static let configuration = CommandConfiguration(
            abstract: "Write everything stored for a user to a folder, as records in JSON and files.",
            discussion: Help.discussion(
                """
                The folder has account.json (profile, devices, sessions, roles), audit.json, and a folder for each container and \
                environment: zones/ZONE.json with the records in the form of CloudKit Web Services, public.json with the public records \
                that the user created, shares.json, subscriptions.json and the files of assets by SHA-256. It has no token and no password. \
                Values that the app encrypted on the device stay encrypted.
                """, examples: "tarn user export mia --to ./mia --data ./data"))

        @Argument(help: "Name of the user.")
        var name: String
        @Option(help: ArgumentHelp("New folder for the copy.", valueName: "folder"))
        var to: String
        @OptionGroup var options: DataOptions
        @OptionGroup var output: OutputOptions

        func run() async throws {
            guard !FileManager.default.fileExists(atPath: to) else {
                throw CommandError("There is something named \(to) already: name a new folder with --to.")
            }
            let (name, folder) = (name, to)
            let counts = try await options.withStore(
                mustExist: true, name: name, audited: CommandAudit("user.export", name), needsFiles: true
            ) { store in
                // Checked before the folder is made.
                let data = try await store.accountData(ofUser: name)
                do {
                    return try await UserExport(data, folder: folder, store: store).write()
                } catch let error as CocoaError {
                    throw CommandError("The folder \(folder) cannot be written (\(error.localizedDescription)): choose another with --to.")
                }
            }
            output.print(
                "\(folder): \(CountText.text(counts.records, "record")) and \(CountText.text(counts.files, "file")) of \(name)",
                ["folder": JSONText.string(folder), "records": "\(counts.records)", "files": "\(counts.files)"])
        }
    }
}
