// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import SystemSupport

/// Backups of the server: those that exist, with their checks and the commands that restore them, and a button that makes one.
///
/// A running server does not replace its own database, so a restore is a command.
struct BackupPage {
    private static let path = "/console/backups"

    let pages: ConsolePages
    let visit: ConsolePages.Visit

    func respond() async throws -> ServiceResponse {
        guard let backups = pages.console.backups else { return pages.page("backups", [:], title: "Backups", visit) }
        let now = pages.console.service.now
        switch visit.isPost ? visit.fields["do"] : nil {
        case "make": return backups.begin(now: now) ? Page.redirect(Self.path) : isBusy
        case "check":
            let isBegun = try await backups.beginCheck(of: visit.fields["name"] ?? "", now: now)
            return isBegun ? Page.redirect(Self.path) : isBusy
        default: return try await list(backups)
        }
    }

    private var isBusy: ServiceResponse { pages.problem("A backup is being made or checked already.", status: 409, visit) }

    private func list(_ backups: any ServerBackups) async throws -> ServiceResponse {
        let rows = try await backups.backups().enumerated().map { Self.row($1, number: $0) }
        var values: [String: Any] = ["folder": backups.folder, "backups": rows]
        switch backups.state {
        case .idle: break
        case .running(let since): values["running"] = "A backup has been running since \(FieldText.date(since)) UTC."
        case .checking(let name, let since): values["running"] = "The backup \(name) has been read since \(FieldText.date(since)) UTC."
        case .failed(let reason): values["problem"] = reason
        }
        return pages.page("backups", values, title: "Backups", visit, scripts: ["/console-reach.js"])
    }

    private static func row(_ backup: ServerBackup, number: Int) -> [String: Any] {
        var row: [String: Any] = [
            "path": backup.path, "name": backup.name, "size": FieldText.bytes(backup.databaseBytes), "made": FieldText.date(backup.made),
            "id": "restore-\(number)", "source": word(backup.path),
        ]
        guard let check = backup.check else { return row }
        row["checked"] = FieldText.date(check.time)
        row["faults"] = check.faults
        if check.faults.isEmpty { row["isSound"] = true }
        if let counts = check.counts {
            let texts = [(counts.users, "user"), (counts.records, "record"), (counts.assetFiles, "file")].map { CountText.text($0, $1) }
            row["counts"] = texts.joined(separator: ", ")
        }
        return row
    }

    /// A path as one word for a shell.
    private static func word(_ path: String) -> String {
        path.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "/-_.+".contains($0)) } ? path : CurlText.quoted(path)
    }
}
