// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// The changes of one record, newest first: `…/records/{database}/{zone}/{name}/history`.
///
/// It names fields and shows no values, also for a record that was deleted.
struct BiographyPage {
    private static let pageEvents = 50

    let parent: ContainerPages

    /// Names of people and devices, each looked up once for a page.
    struct Names {
        var accounts: [String: String] = [:]
        var devices: [String: [String: String]] = [:]
    }

    func respond() async throws -> ServiceResponse {
        let path = parent.pathComponents
        guard path.count == 5, path[4] == "history", let scope = DatabaseScope(rawValue: path[1]) else {
            return parent.problem("This page does not exist.", status: 404)
        }
        let (zone, name) = (path[2], path[3])
        let record = RecordPages.address(parent.base, scope, zone, name)
        let from = parent.visit.query["from"]
        let biography = try await parent.service.zoneHistory.biography(
            of: name, in: RecordPages.zoneID(zone), from: from.flatMap { Int64($0, radix: 36) }, limit: Self.pageEvents,
            try await parent.call(scope, .reading))
        var names = Names()
        var rows: [[String: Any]] = []
        for event in biography.events {
            var row = try await row(event, &names)
            row["log"] = RequestLogPage.address(event, in: parent, scope, zone: zone, name)
            rows.append(row)
        }
        var values: [String: Any] = ["events": rows, "isCut": biography.isCut]
        if let next = biography.next { values["more"] = "\(record)/history?from=\(String(next, radix: 36))" }
        if from != nil { values["newest"] = "\(record)/history" }
        let isDeleted = from == nil && [.deleted, .cascaded].contains(biography.events.first?.change.kind)
        if !isDeleted { values["record"] = record }
        return parent.page("biography", values, title: "History of \(name)")
    }

    func row(_ event: RecordBiography.Event, _ names: inout Names) async throws -> [String: Any] {
        let writer = try await writer(event.userRecordName, event.deviceID, &names)
        var row: [String: Any] = [
            "time": FieldText.date(event.time), "kind": Self.text(event.change.kind), "fields": event.change.fields,
            "user": writer.user, "device": writer.device, "tag": event.changeTag,
        ]
        if event.change.fieldsOmitted > 0 { row["omitted"] = event.change.fieldsOmitted }
        if !event.requestUUID.isEmpty { row["request"] = event.requestUUID }
        return row
    }

    /// The names of an account and its device; their identifiers without names.
    func writer(_ user: String, _ deviceID: String, _ names: inout Names) async throws -> (user: String, device: String) {
        if names.accounts[user] == nil {
            let account = try await parent.service.directory.profile(ofUser: user, in: parent.container)?.accountName
            names.accounts[user] = account ?? user
            names.devices[user] = [:]
            if let account {
                for access in try await parent.pages.console.storage.accesses(ofUser: account) {
                    if case .device(let label, _) = access.kind { names.devices[user]?[access.id] = label }
                }
            }
        }
        return (names.accounts[user] ?? user, names.devices[user]?[deviceID] ?? deviceID)
    }

    private static func text(_ kind: ChangeLogEntry.Kind) -> String {
        switch kind {
        case .created: "created"
        case .saved: "saved"
        case .deleted: "deleted"
        case .cascaded: "deleted with the record that it belonged to"
        }
    }
}
