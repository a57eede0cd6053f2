// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Foundation

/// Checks of the servers' PostgreSQL database and of their folder with the files of assets.
struct DatabaseChecks {
    let data: ServerData
    let container: String?

    func run() async -> [Finding] {
        var findings: [Finding] = []
        if FileManager.default.fileExists(atPath: "\(data.folder)/assets") {
            let folder = FolderChecks(folder: data.folder, container: nil)
            findings += [folder.permissions(of: [data.folder, "\(data.folder)/assets"]), folder.space()]
        } else {
            findings.append(
                .warning(
                    "data folder", "\(data.folder) has no files of assets, so this is not a machine of the servers",
                    "name the folder of the servers with --data"))
        }
        do {
            let content = try await data.withStore(mustExist: true) {
                try await ContentChecks(store: $0, place: data.shown, container: container).run()
            }
            findings += [.ok("database", data.shown)] + content
        } catch {
            let sentence = (error as? CommandError)?.description ?? "\(type(of: error))"
            findings.append(.problem("database", sentence, "check the address, and that PostgreSQL runs"))
        }
        return findings
    }
}
