// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import SystemSupport

/// Query, edit and delete records: `…/records` and `…/records/{database}/{zone}/{name}`; without a name a new one. Below a record is its
/// `history`.
///
/// A list without filters and sorts is a scan of the zone, newest change first, and needs no index. It ends early: a page says how far it
/// came, and the next one goes on there. Queries use any field in development; in production those that the schema marks.
struct RecordPages {
    static let pageRecords = 50
    /// Pages of the feed of a shared zone that one list reads at most, in search of records of its type.
    private static let feedPagesMax = 20
    /// Zones at most that the picker lists.
    private static let zonesShown = 200
    /// Records of each zone at most that the picker counts.
    private static let recordsCounted = 1000

    let parent: ContainerPages
    private var items: QueryItems { parent.visit.query }

    func respond() async throws -> ServiceResponse {
        switch (parent.pathComponents.count, parent.pathComponents.dropFirst().first) {
        case (1, _):
            guard parent.visit.isPost else { return try await list() }
            do {
                return try await BulkPages(parent: parent, list: self).respond()
            } catch let error as WireError where error.code == .badRequest {
                return try await list(bulkProblem: error.reason)
            }
        case (2, "export.json"?): return try await ExportPages(parent: parent, list: self).json()
        case (2, "export.csv"?): return try await ExportPages(parent: parent, list: self).csv()
        case (2, "import"?): return try await ImportPage(parent: parent, list: self).respond()
        case (5, _): return try await BiographyPage(parent: parent).respond()
        case (3, _), (4, _): return try await RecordPage(parent: parent).respond()
        default: return parent.problem("This page does not exist.", status: 404)
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
        "\(base)/records/\(scope.rawValue)/\(NameSegment.encode(zone))/\(NameSegment.encode(name))"
    }

    // MARK: Where

    struct Place {
        var scope: DatabaseScope
        var zone: String
        var name: String
        var records: Int?
    }

    /// Zones of the three databases, in the picker's order.
    func places() async throws -> [Place] {
        let owner = parent.consent.map { "\($0.accountName)'s" } ?? "My"
        var places = [Place(scope: .public, zone: ZoneID.defaultZoneName, name: "Public database", records: 0)]
        let publicCall = try await parent.call(.public, .reading)
        if let size = try await parent.service.zoneContents.sizes(publicCall, limit: 1, counting: Self.recordsCounted).first {
            places[0].records = size.records
        }
        let own = try await parent.service.zoneContents.sizes(
            try await parent.call(.private, .reading), limit: Self.zonesShown, counting: Self.recordsCounted)
        for size in own {
            places.append(Place(scope: .private, zone: size.name, name: "\(owner) private: \(size.name)", records: size.records))
        }
        if !own.contains(where: { $0.name == ZoneID.defaultZoneName }) {
            places.append(
                Place(scope: .private, zone: ZoneID.defaultZoneName, name: "\(owner) private: \(ZoneID.defaultZoneName)", records: 0))
        }
        let shared: ZonesResponse = try await parent.ask(.listZones, nil, .shared)
        for case .zone(let zone) in shared.zones.prefix(Self.zonesShown) {
            let text = Self.text(zone.zoneID, in: .shared)
            places.append(Place(scope: .shared, zone: text, name: "Shared with \(parent.consent?.accountName ?? "me"): \(text)"))
        }
        return places
    }

    /// The query of the page's address. Without a place it is the first one with records.
    ///
    /// - Parameter known: ``places()``, if the page shows them; nil reads them only for an address without a place.
    func query(_ known: [Place]? = nil) async throws -> (RecordQuery, types: [String]) {
        let schema = try await parent.schemas.export(parent.environment).completed
        let types = schema.types.keys.filter { $0 != UsersType.name }.sorted()
        // The records of another type are not what a link to a removed one is about.
        if let type = items["type"], !type.isEmpty, !types.contains(type) {
            throw WireError(.notFound, "The record type '\(type.prefix(64))' does not exist.")
        }
        let place: (scope: DatabaseScope, zone: String)
        if let named = RecordQuery.place(items) {
            place = named
        } else {
            var places = known ?? []
            if known == nil { places = try await self.places() }
            let first = places.first { $0.records != 0 && $0.scope != .shared } ?? places.first
            place = (first?.scope ?? .public, first?.zone ?? ZoneID.defaultZoneName)
        }
        return (RecordQuery(items, place: place, types: types, schema), types)
    }

    // MARK: List

    /// - Parameter bulkProblem: Of the form for the selected records. The page keeps the selection and the texts.
    private func list(bulkProblem: String? = nil) async throws -> ServiceResponse {
        let places = try await places()
        let (query, types) = try await query(places)
        var values = form(query, places, types)
        for scope in [DatabaseScope.private, .shared] where places.count(where: { $0.scope == scope }) >= Self.zonesShown {
            values["zonesShown"] = Self.zonesShown
        }
        // The list shows the progress of an index build.
        var secondsToRefresh: Double?
        if let type = query.type {
            if query.scope == .public || parent.consent == nil { values["canChange"] = true }
            values["newAddress"] = Self.address(parent.base, query.scope, query.zone, "") + "?type=\(QueryItems.encode(type))"
            let text = RecordQuery.text(query.items)
            values["exportJSON"] = "\(parent.base)/records/export.json?\(text)"
            values["exportCSV"] = "\(parent.base)/records/export.csv?\(text)"
            values["exportMax"] = ExportMeter.recordsMax
            values["importAddress"] = "\(parent.base)/records/import?\(text)"
            values["countAddress"] = "\(parent.base)/records?\(text)&count=1"
            do {
                try await fill(&values, query)
                if items["count"] != nil { values["counted"] = try await count(query) }
            } catch let error as WireError {
                values["problem"] = error.reason
                secondsToRefresh = error.retryAfter
                if error.reason.contains("is not marked") {
                    values["typeAddress"] = "\(parent.base)/types/\(QueryItems.encode(type))"
                }
            }
        }
        if let bulkProblem {
            values["bulkProblem"] = bulkProblem
            values["to"] = parent.visit.fields["to"] ?? ""
            if parent.visit.fields["none"] != nil { values["none"] = true }
        }
        var page = parent.page(
            "records", values, title: "Records", scripts: ["/console-list.js"], status: bulkProblem == nil ? 200 : 400)
        if let secondsToRefresh { page.headers.append(("Refresh", String(Int(secondsToRefresh.rounded(.up))))) }
        return page
    }

    private func form(_ query: RecordQuery, _ places: [Place], _ types: [String]) -> [String: Any] {
        var places = places
        if !places.contains(where: { $0.scope == query.scope && $0.zone == query.zone }) {
            places.append(Place(scope: query.scope, zone: query.zone, name: "\(query.scope.rawValue): \(query.zone)"))
        }
        let filters = query.filters + [RecordQuery.Filter()]
        // An order by a location needs another one, which the form does not have.
        let ordered = query.fields.filter { _, field in
            !field.isEncrypted && field.type != "LOCATION" && FieldIndexes.possible(forType: field.type).contains(.sortable)
        }
        let sortable = ["modifiedTimestamp", "createdTimestamp", "recordName"] + ordered.keys.sorted()
        return [
            "places": places.map {
                [
                    "value": "\($0.scope.rawValue)/\($0.zone)", "name": $0.name + ($0.records.map { " (\($0))" } ?? ""),
                    "isOn": $0.scope == query.scope && $0.zone == query.zone,
                ] as [String: Any]
            },
            "types": types.map { ["name": $0, "isOn": $0 == query.type] as [String: Any] },
            "filters": filters.prefix(RecordQuery.filtersMax).enumerated().map { index, filter -> [String: Any] in
                [
                    "suffix": RecordQuery.suffix(index), "value": filter.value, "label": index == 0 ? "Filter by" : "And by",
                    "fields": query.fieldNames.map { ["name": $0, "isOn": $0 == filter.field] as [String: Any] },
                    "comparators": QueryFilter.Comparator.allCases.map {
                        ["name": $0.rawValue, "isOn": $0 == filter.comparator] as [String: Any]
                    },
                ]
            },
            "sorts": (0..<min(2, query.sorts.count + 1)).map { index -> [String: Any] in
                [
                    "suffix": RecordQuery.suffix(index), "label": index == 0 ? "Order by" : "Then by",
                    "options": sortable.flatMap { name in
                        [(name, "\(name), ascending"), ("-\(name)", "\(name), descending")].map {
                            ["value": $0.0, "name": $0.1, "isOn": query.sorts.indices.contains(index) && $0.0 == query.sorts[index]]
                                as [String: Any]
                        }
                    },
                ]
            },
            "columns": query.columns,
            "choices": query.fields.keys.sorted().map { ["name": $0, "isOn": query.columns.contains($0)] as [String: Any] },
            "editable": query.fields.sorted { $0.key < $1.key }.filter { FieldText.isEditable($0.value.type) && !$0.value.isEncrypted }.map
            {
                ["name": $0.key, "type": $0.value.type, "isSet": parent.visit.fields["set"] == $0.key] as [String: Any]
            },
        ]
    }

    struct Batch {
        var records: [Record]
        var next: String?
        /// Records that were examined, for a list that is a scan.
        var examined = 0
        /// How far back a scan came that ended early, in milliseconds since 1970 UTC.
        var reached: Int64?
    }

    /// One page of records.
    ///
    /// - Parameters:
    ///   - limit: Records at most; a page of the feed may have some more.
    func batch(_ query: RecordQuery, from marker: String?, limit: Int, keys: [String]? = nil) async throws -> Batch {
        if query.isOfFeed {
            guard query.scope != .shared, let type = query.type else {
                return try await feedBatch(query, from: marker, limit: limit, keys: keys)
            }
            return try await scan(query, type, from: marker, limit: limit, keys: keys)
        }
        var request = QueryRecordsRequest(query: try query.query())
        (request.zoneID, request.resultsLimit) = (query.zoneID, limit)
        (request.continuationMarker, request.desiredKeys) = (marker, keys)
        let response: QueryRecordsResponse = try await parent.ask(.queryRecords, request, query.scope)
        return Batch(
            records: response.results.compactMap { if case .record(let record) = $0 { record } else { nil } },
            next: response.continuationMarker)
    }

    /// Scans the operator's own zones and the public database, which have the change numbers of the list.
    private func scan(_ query: RecordQuery, _ type: String, from marker: String?, limit: Int, keys: [String]?) async throws -> Batch {
        let (service, bounds) = (parent.service, parent.pages.console.scanBounds)
        let call = try await parent.call(query.scope, .reading)
        let end = service.now + bounds.millisecondsPerPage
        var batch = Batch(records: [], next: marker)
        repeat {
            let scan = try await service.zoneContents.scan(
                query.zoneID, forType: type, before: batch.next.flatMap { Int64($0) }, limit: limit - batch.records.count,
                examining: min(bounds.recordsPerRead, bounds.recordsPerPage - batch.examined), desiredKeys: keys, call)
            batch.records += scan.records
            batch.next = scan.next.map { String($0) }
            batch.examined += scan.examined
            batch.reached = scan.reached
        } while batch.next != nil && batch.records.count < limit && batch.examined < bounds.recordsPerPage && service.now < end
        return batch
    }

    /// Reads the change feed of a zone that another user shares.
    private func feedBatch(_ query: RecordQuery, from marker: String?, limit: Int, keys: [String]?) async throws -> Batch {
        var batch = Batch(records: [], next: marker)
        for _ in 0..<Self.feedPagesMax where batch.records.count < limit {
            let request = ZoneChangesRequest(
                zones: [
                    ZoneChangesQuery(
                        zoneID: query.zoneID, syncToken: batch.next, resultsLimit: limit, desiredKeys: keys,
                        desiredRecordTypes: query.type.map { [$0] }, reverse: true)
                ])
            let response: ZoneChangesResponse = try await parent.ask(.zoneChanges, request, query.scope)
            // Examined at most: the page leaves records of other types out.
            batch.examined += limit
            switch response.zones.first {
            case .changes(let changes)?:
                batch.records += changes.records.filter { !$0.isDeleted }
                batch.next = changes.moreComing ? changes.syncToken : nil
            case .failure(_, let error)?: throw error
            case nil: throw WireError(.zoneNotFound, "zone not found")
            }
            if batch.next == nil { break }
        }
        return batch
    }

    private func fill(_ values: inout [String: Any], _ query: RecordQuery) async throws {
        let batch = try await batch(query, from: query.marker, limit: Self.pageRecords)
        let selected = BulkPages.selected(parent.visit.fields)
        values["records"] = batch.records.enumerated().map { index, record -> [String: Any] in
            [
                "index": index, "name": record.recordName, "tag": record.recordChangeTag ?? "",
                "isSelected": selected.contains { $0.name == record.recordName },
                "address": Self.address(parent.base, query.scope, query.zone, record.recordName),
                "modified": FieldText.date(record.modified?.timestamp),
                "cells": query.columns.map { cell(record.fields[$0]?.value, query) },
            ]
        }
        values["shown"] = batch.records.count
        if batch.next != nil, batch.records.count < Self.pageRecords, batch.examined > 0 {
            var search: [String: Any] = ["examined": batch.examined]
            if let reached = batch.reached { search["reached"] = FieldText.date(reached) }
            values["search"] = search
        }
        if let next = batch.next { values["more"] = "\(parent.base)/records?\(RecordQuery.text(query.next(next)))" }
        if let previous = query.previous { values["previous"] = "\(parent.base)/records?\(RecordQuery.text(previous))" }
        if let first = query.first { values["first"] = "\(parent.base)/records?\(RecordQuery.text(first))" }
        values["listAddress"] = "\(parent.base)/records?\(RecordQuery.text(query.pageItems))"
        if query.isOfFeed { values["isOfFeed"] = true }
        let body: [UInt8] =
            query.isOfFeed
            ? ZoneChangesRequest(zones: [ZoneChangesQuery(zoneID: query.zoneID, desiredRecordTypes: query.type.map { [$0] }, reverse: true)]
            ).encoded()
            : QueryRecordsRequest(query: try query.query(), zoneID: query.zoneID).encoded()
        values["curl"] = CurlText.command(query.isOfFeed ? .zoneChanges : .queryRecords, query.scope, body, parent)
    }

    private func cell(_ value: FieldValue?, _ query: RecordQuery) -> [String: Any] {
        var cell: [String: Any] = ["text": String(FieldText.text(value).prefix(80))]
        if case .reference(let reference)? = value {
            let zone = reference.zoneID.map { Self.text($0, in: query.scope) } ?? query.zone
            cell["target"] = Self.address(parent.base, query.scope, zone, reference.recordName)
        }
        return cell
    }

    // MARK: Count

    static let recordsCountedMax = 10_000

    /// The number of records of the query, up to ``recordsCountedMax`` and the bounds of scans, with the word for them.
    private func count(_ query: RecordQuery) async throws -> String {
        let (service, bounds) = (parent.service, parent.pages.console.scanBounds)
        let end = service.now + bounds.millisecondsPerCount
        var (count, examined, marker): (Int, Int, String?) = (0, 0, nil)
        repeat {
            let batch = try await batch(query, from: marker, limit: 200, keys: [])
            count += batch.records.count
            examined += batch.examined
            marker = batch.next
        } while marker != nil && count < Self.recordsCountedMax && examined < bounds.recordsPerCount && service.now < end
        let text = CountText.text(count, "record")
        guard marker != nil else { return text }
        guard count < Self.recordsCountedMax, examined > 0 else { return "more than \(text)" }
        return "\(text) among the \(examined) that changed last; there may be more"
    }
}
