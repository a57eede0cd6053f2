// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// One record: its fields, to change or to delete it.
struct RecordPage {
    let place: ContainerPages

    private var scope: DatabaseScope { DatabaseScope(rawValue: place.rest[1]) ?? .public }
    private var zone: String { place.rest[2] }
    private var name: String { place.rest.count > 3 ? place.rest[3] : "" }

    func respond() async throws -> ServiceResponse {
        let schema = try await place.schemas.export(place.environment).completed
        var current: Record?
        if !name.isEmpty {
            let request = LookupRecordsRequest(recordNames: [name], zoneID: RecordPages.zoneID(zone))
            let response: LookupRecordsResponse = try await place.ask(.lookupRecords, request, scope)
            switch response.results.first {
            case .record(let record)?: current = record
            case .failure(_, let error, _)?: throw error
            case nil: throw WireError(.notFound, "record not found")
            }
        }
        guard let type = current?.recordType ?? place.visit.query["type"] else {
            throw WireError(.badRequest, "A new record needs a type.")
        }
        let fields = schema.types[type]?.schema.fields ?? [:]
        guard place.visit.isPost else { return page(current, type, fields) }
        do {
            return try await change(current, type, fields)
        } catch let error as WireError {
            return page(current, type, fields, problem: error.reason)
        }
    }

    private func change(_ current: Record?, _ type: String, _ fields: [String: FieldSchema]) async throws -> ServiceResponse {
        let form = place.visit.fields
        var record = Record(recordName: current?.recordName ?? form["name"] ?? "", recordType: type)
        record.recordChangeTag = current == nil ? nil : form["tag"]
        var kind = RecordOperation.Kind.create
        if form["do"] == "delete" {
            kind = .delete
        } else {
            if current != nil { kind = .update }
            for (field, schema) in fields {
                if FieldText.isAsset(schema.type) {
                    guard let receipt = form["a.\(field)"], !receipt.isEmpty else { continue }
                    record.fields[field] = Field(.asset(try AssetValue(json: Array(receipt.utf8))))
                    continue
                }
                guard let text = form["f.\(field)"], text != FieldText.text(current?.fields[field]?.value) else { continue }
                guard !text.isEmpty else {
                    if current?.fields[field] != nil { record.fields[field] = Field(nil) }
                    continue
                }
                guard let value = FieldText.value(text, type: schema.type) else {
                    throw WireError(.badRequest, "'\(field)' cannot have this value.")
                }
                record.fields[field] = Field(value, isEncrypted: schema.isEncrypted)
            }
        }
        let request = ModifyRecordsRequest(operations: [RecordOperation(kind, record)], zoneID: RecordPages.zoneID(zone))
        let response: ModifyRecordsResponse = try await place.ask(.modifyRecords, request, scope)
        if case .failure(_, let error, _)? = response.results.first {
            throw error.code == .conflict && current != nil
                ? WireError(.conflict, "Somebody changed the record meanwhile: load it again.") : error
        }
        let zoneText = QueryItems.encode(zone)
        guard kind != .delete, let saved = response.results.first?.recordName else {
            return Page.redirect("\(place.base)/records?scope=\(scope.rawValue)&zone=\(zoneText)&type=\(QueryItems.encode(type))")
        }
        return Page.redirect(RecordPages.address(place.base, scope, zone, saved))
    }

    private func page(
        _ current: Record?, _ type: String, _ fields: [String: FieldSchema], problem: String? = nil
    ) -> ServiceResponse {
        let form = place.visit.fields
        let zoneID = RecordPages.zoneID(zone)
        let names = Set(fields.keys).union(current.map { Array($0.fields.keys) } ?? [])
        var values: [String: Any] = [
            "isNew": current == nil, "title": current?.recordName ?? "", "type": type, "tag": current?.recordChangeTag ?? "",
            "created": FieldText.date(current?.created?.timestamp), "modified": FieldText.date(current?.modified?.timestamp),
            "fields": names.sorted().map { name -> [String: Any] in
                let value = current?.fields[name]?.value
                let fieldType = fields[name]?.type ?? ""
                var row: [String: Any] = [
                    "name": name, "type": fields[name]?.isEncrypted == true ? "ENCRYPTED \(fieldType)" : fieldType, "isEditable": FieldText.isEditable(fieldType),
                    "isAsset": FieldText.isAsset(fieldType), "value": form["f.\(name)"] ?? FieldText.text(value),
                ]
                if case .asset(let asset)? = value, let address = asset.downloadURL { row["file"] = address }
                if fieldType == "LOCATION" { row["hint"] = "48.137, 11.575" }
                if fieldType.hasSuffix("_LIST") { row["hint"] = "a, b, c" }
                return row
            },
            "scope": scope.rawValue, "zone": zoneID.zoneName, "owner": zoneID.ownerRecordName ?? "",
        ]
        if let share = current?.sharing.share { values["share"] = share }
        if let parent = current?.sharing.parent { values["parent"] = parent }
        if let problem { values["problem"] = problem }
        return place.page("record", values, title: current?.recordName ?? "New \(type)", askingScript: "/console-record.js")
    }
}
