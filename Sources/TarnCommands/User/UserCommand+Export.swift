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
            // The folder gets its name once it is complete.
            let (name, folder) = (name, to.count > 1 && to.hasSuffix("/") ? String(to.dropLast()) : to)
            let partial = folder + ".partial"
            guard !FileManager.default.fileExists(atPath: partial) else {
                throw CommandError(
                    "\(partial) is there, as an interrupted export leaves it: remove it, or name another new folder with --to.")
            }
            let counts = try await options.withStore(
                mustExist: true, name: name, audited: CommandAudit("user.export", name), needsFiles: true
            ) { store in
                // Checked before the folder is made.
                let data = try await store.accountData(ofUser: name)
                do {
                    let counts = try await UserExport(data, folder: partial, store: store).write()
                    try FileManager.default.moveItem(atPath: partial, toPath: folder)
                    return counts
                } catch {
                    try? FileManager.default.removeItem(atPath: partial)
                    guard error is CocoaError else { throw error }
                    throw CommandError("The folder \(folder) cannot be written (\(error.localizedDescription)): choose another with --to.")
                }
            }
            output.print(
                "\(folder): \(CountText.text(counts.records, "record")) and \(CountText.text(counts.files, "file")) of \(name)",
                ["folder": JSONText.string(folder), "records": "\(counts.records)", "files": "\(counts.files)"])
        }
    }
}
