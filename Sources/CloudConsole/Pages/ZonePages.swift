// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudService
import CloudWire

/// Zones and what changed in them, tombstones included: `…/zones` and `…/zones/{database}/{zone}`.
struct ZonePages {
    static let pageRecords = 100

    let place: ContainerPages

    func respond() async throws -> ServiceResponse {
        switch place.rest.count {
        case 1: return try await list()
        case 3: return try await changes(DatabaseScope(rawValue: place.rest[1]) ?? .private, place.rest[2])
        default: return Page.problem("There is no such page.", status: 404)
        }
    }

    private func list() async throws -> ServiceResponse {
        var rows: [[String: Any]] = []
        for scope in [DatabaseScope.private, .shared] {
            let response: ZonesResponse = try await place.ask(.listZones, nil, scope)
            for case .zone(let zone) in response.zones {
                let text = RecordPages.text(zone.zoneID, in: scope)
                var row: [String: Any] = [
                    "name": zone.zoneID.zoneName, "owner": scope == .shared ? zone.zoneID.ownerRecordName ?? "" : "you",
                ]
                if zone.zoneID.zoneName != ZoneID.defaultZoneName {
                    row["address"] = "\(place.base)/zones/\(scope.rawValue)/\(QueryItems.encode(text))"
                }
                rows.append(row)
            }
        }
        rows.append([
            "name": ZoneID.defaultZoneName, "owner": "everybody: the public database",
            "address": "\(place.base)/zones/\(DatabaseScope.public.rawValue)/\(ZoneID.defaultZoneName)",
        ])
        return place.page("zones", ["zones": rows], title: "Zones")
    }

    private func changes(_ scope: DatabaseScope, _ zone: String) async throws -> ServiceResponse {
        let token = place.visit.query["token"]
        let request = ZoneChangesRequest(
            zones: [ZoneChangesQuery(zoneID: RecordPages.zoneID(zone), syncToken: token, resultsLimit: Self.pageRecords)])
        let response: ZoneChangesResponse = try await place.ask(.zoneChanges, request, scope)
        let address = "\(place.base)/zones/\(scope.rawValue)/\(QueryItems.encode(zone))"
        guard case .changes(let changes)? = response.zones.first else {
            guard case .failure(_, let error)? = response.zones.first else { throw WireError(.zoneNotFound, "zone not found") }
            guard error.nativeCode == .changeTokenExpired else { throw error }
            return place.page(
                "changes", ["problem": "The token has expired: begin again.", "next": address, "isMore": true], title: zone)
        }
        let rows = changes.records.map { record -> [String: Any] in
            [
                "name": record.recordName, "type": record.recordType, "tag": record.recordChangeTag ?? "",
                "isGone": record.isDeleted, "address": RecordPages.address(place.base, scope, zone, record.recordName),
                "what": record.isDeleted ? "deleted" : "modified \(FieldText.date(record.modified?.timestamp))",
            ]
        }
        let title = scope == .public ? "The public database" : zone
        var values: [String: Any] = [
            "rows": rows, "isMore": changes.moreComing, "next": "\(address)?token=\(QueryItems.encode(changes.syncToken))",
        ]
        // The last page goes on by itself.
        guard !changes.moreComing else { return place.page("changes", values, title: title) }
        let zoneID = RecordPages.zoneID(zone)
        values["follow"] = [
            [
                "scope": scope.rawValue, "zone": zoneID.zoneName, "owner": zoneID.ownerRecordName ?? "", "token": changes.syncToken,
                "records": "\(place.base)/records/\(scope.rawValue)/\(QueryItems.encode(zone))/",
            ]
        ]
        return place.page("changes", values, title: title, askingScript: "/console-changes.js")
    }
}
