// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService

/// Backups of the server: those that exist, and a button that makes one.
struct BackupPage {
    let pages: ConsolePages
    let visit: ConsolePages.Visit

    func respond() async throws -> ServiceResponse {
        guard let backups = pages.console.backups else { return pages.page("backups", [:], title: "Backups", visit) }
        if visit.isPost, visit.fields["do"] == "make" {
            guard backups.begin(now: pages.console.service.now) else {
                return pages.problem("A backup is being made already.", status: 409, visit)
            }
            return Page.redirect("/console/backups")
        }
        let found = try await backups.backups()
        var values: [String: Any] = [
            "folder": backups.folder, "example": found.first?.path ?? "\(backups.folder)/NAME",
            "backups": found.map { ["path": $0.path, "size": FieldText.bytes($0.databaseBytes)] },
        ]
        switch backups.state {
        case .idle: break
        case .running(let since): values["running"] = FieldText.date(since)
        case .failed(let reason): values["problem"] = reason
        }
        return pages.page("backups", values, title: "Backups", visit)
    }
}
