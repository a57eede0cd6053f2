// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// Query, edit and delete records: `…/records` and `…/records/{database}/{zone}/{name}`; without a name a new one.
struct RecordPages {
    static let pageRecords = 50
    static let comparators: [QueryFilter.Comparator] = [
        .equals, .notEquals, .lessThan, .lessThanOrEquals, .greaterThan, .greaterThanOrEquals, .beginsWith, .containsAllTokens,
        .listContains,
    ]

    let place: ContainerPages
    private var query: QueryItems { place.visit.query }

    func respond() async throws -> ServiceResponse {
        switch place.rest.count {
        case 1: return try await list()
        case 3, 4: return try await RecordPage(place: place).respond()
        default: return Page.problem("There is no such page.", status: 404)
        }
    }

    /// The zone that a form names: `owner/zone`, or the name of an own one.
    static func zoneID(_ text: String?) -> ZoneID {
        guard let text, !text.isEmpty else { return .defaultZone }
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2, parts[0].hasPrefix("_") else { return ZoneID(zoneName: text) }
        return ZoneID(zoneName: String(parts[1]), ownerRecordName: String(parts[0]))
    }

    static func text(_ zoneID: ZoneID, in scope: DatabaseScope) -> String {
        scope == .shared ? "\(zoneID.ownerRecordName ?? "")/\(zoneID.zoneName)" : zoneID.zoneName
    }

    static func address(_ base: String, _ scope: DatabaseScope, _ zone: String, _ name: String) -> String {
        "\(base)/records/\(scope.rawValue)/\(QueryItems.encode(zone))/\(QueryItems.encode(name))"
    }

    private func list() async throws -> ServiceResponse {
        let schema = try await place.schemas.export(place.environment).completed
        let types = schema.types.keys.filter { $0 != UsersType.name }.sorted()
        let type = query["type"].flatMap { types.contains($0) ? $0 : nil } ?? types.first
        let scope = query["scope"].flatMap(DatabaseScope.init(rawValue:)) ?? .public
        let fields = type.flatMap { schema.types[$0]?.schema.fields } ?? [:]
        let names = fields.keys.sorted()
        var values: [String: Any] = [
            "zone": query["zone"] ?? "", "value": query["value"] ?? "",
            "scopes": DatabaseScope.allCases.map {
                ["value": $0.rawValue, "name": $0 == .private ? "my private" : $0 == .shared ? "shared with me" : "public", "isOn": $0 == scope] as [String: Any]
            },
            "types": types.map { ["name": $0, "isOn": $0 == type] as [String: Any] },
            "fields": (["recordName"] + names).map { ["name": $0, "isOn": $0 == query["field"]] as [String: Any] },
            "comparators": Self.comparators.map { ["name": $0.rawValue, "isOn": $0.rawValue == query["comparator"]] as [String: Any] },
            "sorts": (["modifiedTimestamp", "createdTimestamp", "recordName"] + names).flatMap { name in
                [(name, "\(name), rising"), ("-\(name)", "\(name), falling")].map {
                    ["value": $0.0, "name": $0.1, "isOn": $0.0 == query["sort"]] as [String: Any]
                }
            },
            "columns": Array(names.prefix(6)),
        ]
        let zone = query["zone"].flatMap { $0.isEmpty ? nil : $0 } ?? ZoneID.defaultZoneName
        if let type {
            values["newAddress"] = Self.address(place.base, scope, zone, "") + "?type=\(QueryItems.encode(type))"
            do {
                try await fill(&values, type, fields, Array(names.prefix(6)), scope, zone)
            } catch let error as WireError {
                values["problem"] = error.reason
            }
        }
        return place.page("records", values, title: "Records")
    }

    private func fill(
        _ values: inout [String: Any], _ type: String, _ fields: [String: FieldSchema], _ columns: [String],
        _ scope: DatabaseScope, _ zone: String
    ) async throws {
        var asked = Query(recordType: type)
        if let name = query["field"], !name.isEmpty {
            let comparator = query["comparator"].flatMap(QueryFilter.Comparator.init(rawValue:)) ?? .equals
            let key = QueryKey.SystemField(rawValue: name).map(QueryKey.system) ?? .field(name)
            let holds = fields[name]?.type ?? "STRING"
            guard let value = FieldText.value(query["value"] ?? "", type: holds.hasSuffix("_LIST") ? String(holds.dropLast(5)) : holds)
            else { throw WireError(.badRequest, "The value is none that the field can have.") }
            asked.filters = [QueryFilter(key, comparator, value)]
        }
        if let sort = query["sort"], !sort.isEmpty {
            let name = String(sort.drop { $0 == "-" })
            asked.sorts = [
                QuerySort(QueryKey.SystemField(rawValue: name).map(QueryKey.system) ?? .field(name), ascending: !sort.hasPrefix("-"))
            ]
        }
        var request = QueryRecordsRequest(query: asked)
        request.zoneID = Self.zoneID(zone)
        request.resultsLimit = Self.pageRecords
        request.continuationMarker = query["marker"]
        let response: QueryRecordsResponse = try await place.ask(.queryRecords, request, scope)
        values["records"] = response.results.compactMap { result -> [String: Any]? in
            guard case .record(let record) = result else { return nil }
            return [
                "name": record.recordName, "address": Self.address(place.base, scope, zone, record.recordName),
                "modified": FieldText.date(record.modified?.timestamp),
                "cells": columns.map { String(FieldText.text(record.fields[$0]?.value).prefix(80)) },
            ]
        }
        if let marker = response.continuationMarker {
            let kept = ["scope", "zone", "type", "field", "comparator", "value", "sort"].compactMap { key in
                query[key].map { "\(key)=\(QueryItems.encode($0))" }
            }
            values["more"] = "\(place.base)/records?\((kept + ["marker=\(QueryItems.encode(marker))"]).joined(separator: "&"))"
        }
    }
}
