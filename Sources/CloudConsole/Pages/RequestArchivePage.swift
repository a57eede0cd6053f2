// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire

/// Requests of the past that failed or were slow: `/console/log/kept`, with conditions and ``RequestNote/requestUUID`` in its query.
struct RequestArchivePage {
    private static let requestsPerPage = 100

    let pages: ConsolePages
    let visit: ConsolePages.Visit

    func respond() async throws -> ServiceResponse {
        guard let archive = pages.console.requestArchive else { return pages.problem("This server keeps no requests.", status: 404, visit) }
        let query = visit.query
        let text = query["q"] ?? query["request"] ?? ""
        var filter = RequestFilter(text: text)
        filter.container = query["container"].flatMap { $0.isEmpty ? nil : $0 }
        filter.endpoint = query["endpoint"].flatMap { $0.isEmpty ? nil : $0 }
        filter.statusClass = query["status"].flatMap { Int($0) }
        let user = query["user"] ?? ""
        filter.sender = user.isEmpty ? nil : try await SenderNames.sender(named: user, pages.console.storage)
        let isUnknown = !user.isEmpty && filter.sender == nil
        let notes = isUnknown ? [] : try await archive.notes(matching: filter, before: query["before"], limit: Self.requestsPerPage)
        var names = SenderNames(pages.console)
        var rows: [[String: Any]] = []
        for note in notes { rows.append(try await Self.row(note, &names)) }
        var values: [String: Any] = [
            "q": text, "slow": Int(RequestNote.slowMilliseconds), "requests": rows, "container": query["container"] ?? "",
            "endpoint": query["endpoint"] ?? "", "user": user,
            "classes": Self.classes.map { ["value": $0.value, "name": $0.name, "isOn": $0.value == query["status"]] as [String: Any] },
        ]
        if notes.count == Self.requestsPerPage, let last = notes.last {
            let items: [(String, String)] = ["container", "endpoint", "status", "user"].compactMap { name in query[name].map { (name, $0) }
            }
            values["older"] = "/console/log/kept?" + RecordQuery.text([("q", text)] + items + [("before", last.requestUUID)])
        }
        return pages.page("logkept", values, title: "Failed and slow requests", visit)
    }

    private static let classes: [(value: String, name: String)] = [
        ("", "all"), ("2", "2xx, slow"), ("4", "4xx"), ("5", "5xx"),
    ]

    private static func row(_ note: RequestNote, _ names: inout SenderNames) async throws -> [String: Any] {
        let user = try await names.user(of: note)
        let details: [(name: String, value: String?)] = [
            ("Device", try await names.device(of: note)), ("Client", note.client.rawValue),
            ("Received", note.bytesReceived.map { FieldText.bytes(Int64($0)) }),
            ("Sent", note.bytesSent.map { FieldText.bytes(Int64($0)) }),
            ("Container", note.container), ("Environment", note.environment?.rawValue), ("Database", note.scope?.rawValue),
        ]
        return [
            "time": FieldText.date(note.time), "method": note.method, "endpoint": note.endpoint, "status": note.status,
            "error": note.errorCode ?? "", "milliseconds": Int(note.milliseconds), "place": note.place ?? "",
            "request": note.requestUUID, "user": user.isEmpty ? "not known" : user,
            "details": details.compactMap { detail -> [String: Any]? in
                guard let value = detail.value, !value.isEmpty else { return nil }
                return ["name": detail.name, "value": value]
            },
        ]
    }
}
