// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import SystemSupport

/// Zones: `…/zones`; what changed in one, `…/zones/{database}/{zone}`; and below that `shares`, `delete` and `restore`.
struct ZonePages {
    static let pageRecords = 100
    private static let zonesShown = 200
    private static let deletedZonesShown = 50
    /// Changes of each zone at most that the list counts.
    private static let recordsCounted = 2000

    let parent: ContainerPages

    private var form: QueryItems { parent.visit.fields }

    func respond() async throws -> ServiceResponse {
        let path = parent.pathComponents
        guard path.count > 1 else { return try await list() }
        guard path.count == 3 || path.count == 4, let scope = DatabaseScope(rawValue: path[1]) else {
            return parent.problem("This page does not exist.", status: 404)
        }
        switch path.dropFirst(3).first {
        case nil: return try await changes(scope, path[2])
        case "shares"?: return try await SharePages(parent: parent, scope: scope, zone: path[2]).respond()
        case "delete"? where scope == .private: return try await delete(path[2])
        case "restore"? where scope == .private: return try await restore(path[2])
        default: return parent.problem("This page does not exist.", status: 404)
        }
    }

    private func address(_ scope: DatabaseScope, _ zone: String) -> String {
        "\(parent.base)/zones/\(scope.rawValue)/\(NameSegment.encode(zone))"
    }

    // MARK: List

    private func list() async throws -> ServiceResponse {
        var problem: String?
        if parent.visit.isPost {
            let name = form["zone"] ?? ""
            do {
                let own: ZonesResponse = try await parent.ask(.listZones, nil, .private)
                let exists = own.zones.contains { $0.zoneID.zoneName == name }
                try await modify(.create(ZoneID(zoneName: name)))
                return Page.redirect("\(parent.base)/zones?saved=\(exists ? "exists" : "created")&zone=\(QueryItems.encode(name))")
            } catch let error as WireError {
                problem = error.reason
            }
        }
        var rows = [try await row(.public, ZoneID.defaultZoneName, owner: "everyone: the public database")]
        let publicCall = try await parent.call(.public, .reading)
        if let size = try await parent.service.zoneContents.sizes(publicCall, limit: 1, counting: Self.recordsCounted).first {
            rows[0].merge(Self.size(size)) { $1 }
        }
        let own = try await parent.service.zoneContents.sizes(
            try await parent.call(.private, .reading), limit: Self.zonesShown, counting: Self.recordsCounted)
        for size in own {
            rows.append(try await row(.private, size.name, owner: parent.consent?.accountName ?? "you").merging(Self.size(size)) { $1 })
        }
        let shared: ZonesResponse = try await parent.ask(.listZones, nil, .shared)
        for case .zone(let zone) in shared.zones.prefix(Self.zonesShown) {
            rows.append(try await row(.shared, RecordPages.text(zone.zoneID, in: .shared), owner: zone.zoneID.ownerRecordName ?? ""))
        }
        var notes: [String] = []
        if own.count >= Self.zonesShown {
            let all: ZonesResponse = try await parent.ask(.listZones, nil, .private)
            if let note = Self.note(all.zones.count, "of the private database") { notes.append(note) }
        }
        if let note = Self.note(shared.zones.count, "that others share") { notes.append(note) }
        var values: [String: Any] = ["zones": rows, "notes": notes]
        if parent.consent == nil {
            values["canCreate"] = true
            let deleted = try await parent.service.zoneHistory.deletedZones(
                try await parent.call(.private, .reading), limit: Self.deletedZonesShown)
            if !deleted.isEmpty {
                values["deleted"] = ["zones": deleted.map { ["name": $0, "restore": address(.private, $0) + "/restore"] }]
            }
        }
        if let problem { values["problem"] = problem }
        if let text = parent.visit.query["saved"].flatMap({ Self.saved[$0] }), !parent.visit.isPost {
            values["saved"] = "The zone \((parent.visit.query["zone"] ?? "").prefix(255)) \(text)."
        }
        return parent.page("zones", values, title: "Zones")
    }

    private static let saved = ["created": "was created", "exists": "exists already"]

    /// - Returns: Nil for a list that is shown whole.
    private static func note(_ count: Int, _ place: String) -> String? {
        count > zonesShown ? "The first \(zonesShown) of \(count) zones \(place)." : nil
    }

    private func row(_ scope: DatabaseScope, _ zone: String, owner: String) async throws -> [String: Any] {
        var row: [String: Any] = [
            "name": RecordPages.zoneID(zone).zoneName, "owner": owner,
            "records": "\(parent.base)/records?" + RecordQuery.text([("place", "\(scope.rawValue)/\(zone)")]),
        ]
        let isDefault = zone == ZoneID.defaultZoneName
        if scope != .private || !isDefault { row["address"] = address(scope, zone) }
        if scope != .public, !isDefault { row["shares"] = address(scope, zone) + "/shares" }
        if scope == .private, !isDefault, parent.consent == nil {
            (row["delete"], row["restore"]) = (address(scope, zone) + "/delete", address(scope, zone) + "/restore")
        }
        return row
    }

    private static func size(_ size: ZoneSize) -> [String: Any] {
        [
            "count": size.records.map { "\($0)" } ?? "\(recordsCounted)+", "bytes": FieldText.bytes(size.bytes.records),
            "files": FieldText.bytes(size.bytes.assets),
        ]
    }

    private func modify(_ operation: ZoneOperation) async throws {
        let response: ZonesResponse = try await parent.ask(.modifyZones, ZonesModifyRequest(operations: [operation]), .private)
        if case .failure(_, let error)? = response.zones.first { throw error }
    }

    // MARK: Deletion and restoration

    private func delete(_ zone: String) async throws -> ServiceResponse {
        guard parent.visit.isPost else {
            return parent.page("zonedelete", ["zone": zone, "back": "\(parent.base)/zones"], title: "Delete the zone \(zone)?")
        }
        // A person typed the name: one click does not delete thousands of records.
        guard form["zone"] == zone else {
            return parent.page(
                "zonedelete", ["zone": zone, "back": "\(parent.base)/zones", "problem": "The name is not that of the zone."],
                title: "Delete the zone \(zone)?", status: 400)
        }
        try await modify(.delete(ZoneID(zoneName: zone)))
        return Page.redirect("\(parent.base)/zones")
    }

    private func restore(_ zone: String) async throws -> ServiceResponse {
        let call = try await parent.call(.private, .writing)
        var values: [String: Any] = ["zone": zone, "at": form["at"] ?? "", "back": "\(parent.base)/zones"]
        if let start = try await parent.service.zoneHistory.start(call) { values["start"] = FieldText.date(start) }
        guard parent.visit.isPost else { return parent.page("zonerestore", values, title: "Restore the zone \(zone)") }
        do {
            // `datetime-local` has a T between date and time; the field says that it is UTC.
            guard case .timestamp(let time)? = FieldText.value(form["at"] ?? "", type: "TIMESTAMP") else {
                throw WireError(.badRequest, "Enter a date and a time.")
            }
            let restored = try await parent.service.zoneHistory.restore(ZoneID(zoneName: zone), to: time, call)
            return parent.page(
                "done",
                [
                    "done":
                        "Restored: \(CountText.text(restored.saved, "record")), removed: \(restored.deleted). Devices follow with their next sync.",
                    "next": "\(parent.base)/records?" + RecordQuery.text([("place", "private/\(zone)")]),
                ], title: "Zone restored")
        } catch let error as WireError {
            values["problem"] = error.reason
            return parent.page("zonerestore", values, title: "Restore the zone \(zone)", status: error.code.httpStatus)
        }
    }

    // MARK: Change feed

    /// Newest first. The first page goes on by itself; a page with a token of an end goes on from there, oldest first.
    private func changes(_ scope: DatabaseScope, _ zone: String) async throws -> ServiceResponse {
        let token = parent.visit.query["token"]
        let address = address(scope, zone)
        let zoneID = RecordPages.zoneID(zone)
        // Read before the page: a change in between comes twice, and is shown once.
        let end =
            token == nil && scope != .shared
            ? try await parent.service.zoneContents.presentToken(of: zoneID, try await parent.call(scope, .reading)) : nil
        let request = ZoneChangesRequest(
            zones: [ZoneChangesQuery(zoneID: zoneID, syncToken: token, resultsLimit: Self.pageRecords, reverse: token == nil ? true : nil)])
        let response: ZoneChangesResponse = try await parent.ask(.zoneChanges, request, scope)
        guard case .changes(let changes)? = response.zones.first else {
            guard case .failure(_, let error)? = response.zones.first else { throw WireError(.zoneNotFound, "zone not found") }
            guard error.nativeCode == .changeTokenExpired else { throw error }
            return parent.page(
                "changes", ["problem": "The token has expired: begin again.", "next": address, "isMore": true], title: zone)
        }
        let rows = changes.records.map { record -> [String: Any] in
            var row: [String: Any] = [
                "name": record.recordName, "type": record.recordType, "tag": record.recordChangeTag ?? "",
                "isGone": record.isDeleted, "address": RecordPages.address(parent.base, scope, zone, record.recordName),
                "what": record.isDeleted ? "deleted" : "modified \(FieldText.date(record.modified?.timestamp))",
            ]
            if scope != .shared { row["history"] = RecordPages.address(parent.base, scope, zone, record.recordName) + "/history" }
            return row
        }
        let title = scope == .public ? "The public database" : zone
        var values: [String: Any] = [
            "rows": rows, "isMore": changes.moreComing, "next": "\(address)?token=\(QueryItems.encode(changes.syncToken))",
            "newest": address,
        ]
        guard let follow = end ?? (changes.moreComing ? nil : changes.syncToken) else {
            return parent.page("changes", values, title: title)
        }
        values["follow"] = [
            [
                "scope": scope.rawValue, "zone": zoneID.zoneName, "owner": zoneID.ownerRecordName ?? "", "token": follow,
                "records": RecordPages.address(parent.base, scope, zone, ""),
            ]
        ]
        return parent.page("changes", values, title: title, askingScript: "/console-changes.js")
    }
}
