// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// The last requests, live: `/console/log`.
struct RequestLogPage {
    let pages: ConsolePages
    let visit: ConsolePages.Visit

    func respond() async throws -> ServiceResponse {
        var values: [String: Any] = [:]
        let hasArchive = pages.console.requestArchive != nil
        if hasArchive { values["kept"] = true }
        if let request = visit.query["request"], !request.isEmpty, !pages.console.log.contains(request) {
            var missing: [String: Any] = ["request": request]
            if hasArchive { missing["address"] = "/console/log/kept?" + RecordQuery.text([("request", request)]) }
            if let change = try await change(of: request) { missing["change"] = change }
            values["missing"] = missing
        }
        return pages.page("log", values, title: "Request log", visit, scripts: ["/console.js"])
    }

    /// The address of the log for a request of a record's history: it names the change, for a request that the log no longer has.
    static func address(_ event: RecordBiography.Event, in parent: ContainerPages, _ scope: DatabaseScope, zone: String, _ name: String)
        -> String
    {
        "/console/log?"
            + RecordQuery.text([
                ("request", event.requestUUID), ("container", parent.container), ("environment", parent.environment.rawValue),
                ("database", scope.rawValue), ("zone", zone), ("record", name), ("change", String(event.change.number, radix: 36)),
            ])
    }

    /// What the change log has of a request: time, user and device.
    ///
    /// - Returns: Nil unless the change of the address is one of the request.
    private func change(of request: String) async throws -> [String: Any]? {
        let query = visit.query
        guard let container = query["container"], PathSegments.isContainerIdentifier(container),
            let environment = query["environment"].flatMap({ CloudEnvironment(rawValue: $0) }),
            let scope = query["database"].flatMap({ DatabaseScope(rawValue: $0) }), let name = query["record"],
            let number = query["change"].flatMap({ Int64($0, radix: 36) })
        else { return nil }
        var parent = ContainerPages(pages: pages, visit: visit)
        (parent.container, parent.environment) = (container, environment)
        let zone = query["zone"] ?? ""
        let event: RecordBiography.Event?
        do {
            event = try await parent.service.zoneHistory.biography(
                of: name, in: RecordPages.zoneID(zone), from: number, limit: 1, try await parent.call(scope, .reading)
            ).events.first
        } catch is WireError {
            return nil
        }
        guard let event, event.requestUUID == request else { return nil }
        var names = BiographyPage.Names()
        let row = try await BiographyPage(parent: parent).row(event, &names)
        return [
            "time": row["time"] ?? "", "user": row["user"] ?? "", "device": row["device"] ?? "",
            "history": RecordPages.address(parent.base, scope, zone, name) + "/history",
        ]
    }

    /// The notes after a number: `{"notes": [...]}`.
    func json() async throws -> ServiceResponse {
        let number = visit.query["after"].flatMap { Int($0) } ?? 0
        var names = SenderNames(pages.console)
        var lines: [(number: Int, note: RequestNote, user: String, device: String)] = []
        for (number, note) in pages.console.log.notes(after: number) {
            lines.append((number, note, try await names.user(of: note), try await names.device(of: note)))
        }
        var writer = JSONWriter()
        writer.object { writer in
            writer.key("notes")
            writer.array(lines) { writer, line in
                writer.object { writer in
                    writer.member("number", line.number)
                    line.note.writeMembers(to: &writer)
                    writer.member("place", line.note.place)
                    writer.member("container", line.note.container)
                    writer.member("environment", line.note.environment?.rawValue)
                    writer.member("database", line.note.scope?.rawValue)
                    writer.member("user", line.user)
                    writer.member("device", line.device)
                }
            }
        }
        return Page.json(writer.bytes)
    }
}
