// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService

/// Requests of the past that failed or were slow: `/console/log/kept`.
struct RequestArchivePage {
    private static let requestsPerPage = 100

    let pages: ConsolePages
    let visit: ConsolePages.Visit

    func respond() async throws -> ServiceResponse {
        guard let archive = pages.console.requestArchive else { return pages.problem("This server keeps no requests.", status: 404, visit) }
        let text = visit.query["q"] ?? ""
        let notes = try await archive.notes(matching: text, before: visit.query["before"], limit: Self.requestsPerPage)
        var values: [String: Any] = [
            "q": text, "slow": Int(RequestNote.slowMilliseconds),
            "requests": notes.map { note -> [String: Any] in
                [
                    "time": FieldText.date(note.time), "method": note.method, "endpoint": note.endpoint, "status": note.status,
                    "error": note.errorCode ?? "", "milliseconds": Int(note.milliseconds), "place": note.place?.text ?? "",
                    "request": note.requestUUID,
                ]
            },
        ]
        if notes.count == Self.requestsPerPage, let last = notes.last {
            values["older"] = "/console/log/kept?" + RecordQuery.text([("q", text), ("before", last.requestUUID)])
        }
        return pages.page("logkept", values, title: "Failed and slow requests", visit)
    }
}
