// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

/// One record: its fields, to change or to delete it.
///
/// A save sends the fields that were touched and no others; see ``FieldForm``. The change tag in the form is that of the
/// version that the form shows. When another client has saved the record since, the page shows both versions, and
/// the form keeps its tag: only the button below the newer version overwrites it.
struct RecordPage {
    let parent: ContainerPages

    private var scope: DatabaseScope { DatabaseScope(rawValue: parent.pathComponents[1]) ?? .public }
    private var zone: String { parent.pathComponents[2] }
    private var name: String { parent.pathComponents.count > 3 ? parent.pathComponents[3] : "" }
    private var service: CloudService { parent.service }
    private var form: QueryItems { parent.visit.fields }

    /// A field of the record or of its type.
    private struct Entry {
        let name: String
        let type: String
        let isEncrypted: Bool
        let value: FieldValue?
        /// The controls as a page shows the stored value.
        let shown: FieldForm
        /// The submitted controls; nil if the form has none.
        var draft: FieldForm?
        /// Fingerprint of the controls when the form was made.
        var fingerprint: String
        /// Whether the stored value is the one that the form was made from.
        var isCurrent: Bool

        /// Whether a person changed the controls.
        func isTouched(_ service: CloudService) -> Bool { draft.map { $0.fingerprint(service) != fingerprint } ?? false }
    }

    func respond() async throws -> ServiceResponse {
        let schema = try await parent.schemas.export(parent.environment).completed
        let current = name.isEmpty ? nil : try await lookUp(name)
        guard let type = current?.recordType ?? parent.visit.query["type"] else {
            throw WireError(.badRequest, "A new record needs a type.")
        }
        let fields = schema.types[type]?.schema.fields ?? [:]
        let entries = entries(of: current, fields)
        guard parent.visit.isPost else { return try await page(current, type, entries, schema) }
        if let more = form["more"] { return try await page(current, type, entries, schema, moreRowsOf: more) }
        do {
            return try await change(current, type, entries)
        } catch let error as WireError where error.code == .conflict && current != nil {
            // Read again: the version that the request met is the one to show.
            let newer = try await lookUp(name)
            return try await page(newer, type, self.entries(of: newer, fields), schema, isConflict: true)
        } catch let error as WireError {
            return try await page(current, type, entries, schema, problem: error.reason)
        }
    }

    private func lookUp(_ name: String) async throws -> Record {
        let request = LookupRecordsRequest(recordNames: [name], zoneID: RecordPages.zoneID(zone))
        let response: LookupRecordsResponse = try await parent.ask(.lookupRecords, request, scope)
        switch response.results.first {
        case .record(let record)?: return record
        case .failure(_, let error, _)?: throw error
        case nil: throw WireError(.notFound, "record not found")
        }
    }

    private func entries(of current: Record?, _ fields: [String: FieldSchema]) -> [Entry] {
        Set(fields.keys).union(current.map { Array($0.fields.keys) } ?? []).sorted().map { name in
            let field = current?.fields[name]
            let type = fields[name]?.type ?? ""
            let shown = FieldForm(name, type: type, field?.value)
            let fingerprint = shown.fingerprint(service)
            let first = form["o.\(name)"] ?? fingerprint
            return Entry(
                name: name, type: type, isEncrypted: fields[name]?.isEncrypted ?? field?.isEncrypted ?? false, value: field?.value,
                shown: shown, draft: parent.visit.isPost ? shown.submitted(in: form) : nil, fingerprint: first,
                isCurrent: first == fingerprint)
        }
    }

    // MARK: Saving

    private func change(_ current: Record?, _ type: String, _ entries: [Entry]) async throws -> ServiceResponse {
        var record = Record(recordName: current?.recordName ?? form["name"] ?? "", recordType: type)
        record.recordChangeTag = current == nil ? nil : form["over"] ?? form["tag"]
        var kind: RecordOperation.Kind = current == nil ? .create : .update
        if form["do"] == "delete" {
            kind = .delete
        } else {
            for entry in entries { if let field = try change(entry) { record.fields[entry.name] = field } }
        }
        if kind == .update, record.fields.isEmpty { return Page.redirect(address(of: name)) }
        let request = ModifyRecordsRequest(operations: [RecordOperation(kind, record)], zoneID: RecordPages.zoneID(zone))
        let response: ModifyRecordsResponse = try await parent.ask(.modifyRecords, request, scope)
        if case .failure(_, let error, _)? = response.results.first { throw error }
        guard kind != .delete, let saved = response.results.first?.recordName else {
            let zoneText = QueryItems.encode(zone)
            return Page.redirect("\(parent.base)/records?scope=\(scope.rawValue)&zone=\(zoneText)&type=\(QueryItems.encode(type))")
        }
        return Page.redirect(address(of: saved))
    }

    private func address(of name: String) -> String { RecordPages.address(parent.base, scope, zone, name) }

    /// - Returns: The change of a field in the request; nil without one.
    private func change(_ entry: Entry) throws -> Field? {
        if entry.shown.control == .asset, let receipt = form["a.\(entry.name)"], !receipt.isEmpty {
            return Field(.asset(try AssetValue(json: Array(receipt.utf8))), isEncrypted: entry.isEncrypted)
        }
        guard let draft = entry.draft, entry.isTouched(service) else { return nil }
        let wasBlank = draft.blank.fingerprint(service) == entry.fingerprint
        // Typing into a field without a value is enough: the box need not be cleared.
        if draft.hasNoValue, !wasBlank { return Field(nil) }
        let value: FieldValue
        switch draft.control {
        case .asset, .fixed: throw WireError(.badRequest, "'\(entry.name)' has no value. Set it with the API.")
        case .line, .text:
            let text = draft.rows.first?.text ?? ""
            if text.isEmpty, entry.type != "STRING" {
                guard !wasBlank else { throw WireError(.badRequest, "'\(entry.name)' needs a value, or 'no value'.") }
                return Field(nil)
            }
            guard let read = FieldText.value(text, type: entry.type, over: entry.value) else {
                throw FieldText.problem(text, type: entry.type, field: entry.name)
            }
            value = read
        case .list: value = try list(draft, entry)
        }
        return Field(value, isEncrypted: entry.isEncrypted)
    }

    private func list(_ draft: FieldForm, _ entry: Entry) throws -> FieldValue {
        let type = String(entry.type.dropLast(5))
        var stored: [FieldValue] = []
        if case .list(let elements, _)? = entry.value { stored = elements }
        var elements: [FieldValue] = []
        for row in draft.rows where row.counts {
            // The stored list may be another than the form's.
            let old: FieldValue? =
                if entry.isCurrent, let index = row.stored, stored.indices.contains(index) {
                    stored[index]
                } else {
                    stored.first { LineBreaks.normalized(FieldText.text($0)).utf8.elementsEqual(row.text.utf8) }
                }
            guard let element = FieldText.value(row.text, type: type, over: old) else {
                throw FieldText.problem(row.text, type: type, field: entry.name)
            }
            elements.append(element)
        }
        return FieldText.list(elements, of: type)
    }

    // MARK: Showing

    private func page(
        _ current: Record?, _ type: String, _ entries: [Entry], _ schema: ContainerSchema, problem: String? = nil, isConflict: Bool = false,
        moreRowsOf more: String? = nil
    ) async throws -> ServiceResponse {
        let zoneID = RecordPages.zoneID(zone)
        var values: [String: Any] = [
            "isNew": current == nil, "title": current?.recordName ?? "", "type": type,
            "name": form["name"] ?? "", "tag": form["tag"] ?? current?.recordChangeTag ?? "",
            "created": FieldText.date(current?.created?.timestamp), "modified": FieldText.date(current?.modified?.timestamp),
            "fields": entries.map { row($0, hasMoreRows: $0.name == more) },
            "scope": scope.rawValue, "zone": zoneID.zoneName, "owner": zoneID.ownerRecordName ?? "",
        ]
        if scope == .public || parent.consent == nil { values["canChange"] = true }
        if let current {
            var names = BiographyPage.Names()
            values["by"] = try await writer(current.created, &names)
            values["modifiedBy"] = try await writer(current.modified, &names)
            values["json"] = JSONText.indented(current.encoded())
            let request = LookupRecordsRequest(recordNames: [current.recordName], zoneID: zoneID)
            values["curl"] = CurlText.command(.lookupRecords, scope, request.encoded(), parent)
            let sources = sources(of: current, schema)
            if !sources.isEmpty { values["references"] = ["sources": sources] }
            if scope != .shared { values["history"] = address(of: current.recordName) + "/history" }
        }
        if let share = current?.sharing.share { values["share"] = share }
        if let parent = current?.sharing.parent { values["parent"] = parent }
        if let problem { values["problem"] = problem }
        if isConflict, let current { values["conflict"] = [conflict(current, entries)] }
        return parent.page("record", values, title: current?.recordName ?? "New \(type)", askingScript: "/console-record.js")
    }

    /// The user and the device that wrote a version, with the names of the record's history, if it has one.
    private func writer(_ stamp: RecordStamp?, _ names: inout BiographyPage.Names) async throws -> String {
        guard let stamp else { return "" }
        var (user, device) = (stamp.userRecordName, stamp.deviceID ?? "")
        if scope != .shared { (user, device) = try await BiographyPage(parent: parent).writer(user, device, &names) }
        return device.isEmpty ? "by \(user)" : "by \(user) on \(device)"
    }

    /// Lists of the records that refer to this one, a link for each field that may.
    private func sources(of record: Record, _ schema: ContainerSchema) -> [[String: Any]] {
        let isMarked = parent.environment == .production
        return schema.types.sorted { $0.key < $1.key }.flatMap { type, definition in
            definition.schema.fields.sorted { $0.key < $1.key }.compactMap { field, schema -> [String: Any]? in
                guard schema.type == "REFERENCE" || schema.type == "REFERENCE_LIST", !isMarked || schema.indexes.contains(.queryable) else {
                    return nil
                }
                let items = [
                    ("place", "\(scope.rawValue)/\(zone)"), ("type", type), ("field", field),
                    ("comparator", (schema.type == "REFERENCE" ? QueryFilter.Comparator.equals : .listContains).rawValue),
                    ("value", record.recordName),
                ]
                return ["name": "\(type).\(field)", "address": "\(parent.base)/records?\(RecordQuery.text(items))"]
            }
        }
    }

    /// Links to the records that a field refers to.
    private func targets(of value: FieldValue?) -> [[String: Any]] {
        var references: [RecordReference] = []
        switch value {
        case .reference(let reference)?: references = [reference]
        case .list(let elements, of: .reference)?:
            references = elements.prefix(Self.targetsShown).compactMap { if case .reference(let reference) = $0 { reference } else { nil } }
        default: break
        }
        return references.map { reference in
            let zone = reference.zoneID.map { RecordPages.text($0, in: scope) } ?? zone
            return ["name": reference.recordName, "address": RecordPages.address(parent.base, scope, zone, reference.recordName)]
        }
    }

    private static let targetsShown = 50
    /// Bytes of a file that the page loads as a picture at most.
    private static let previewBytesMax = 5_000_000

    /// Both versions of the fields that differ, and the tag of the one that another client saved.
    private func conflict(_ newer: Record, _ entries: [Entry]) -> [String: Any] {
        let rows = entries.compactMap { entry -> [String: Any]? in
            let isTouched = entry.isTouched(service)
            guard isTouched || !entry.isCurrent else { return nil }
            var mine = "not changed"
            if isTouched, let draft = entry.draft {
                let texts = draft.rows.filter(\.counts).map(\.text)
                mine = draft.hasNoValue && texts.allSatisfy(\.isEmpty) ? "no value" : texts.joined(separator: "\n")
            }
            return ["name": entry.name, "mine": mine, "theirs": FieldText.lines(entry.value), "isTheirs": !entry.isCurrent]
        }
        var values: [String: Any] = ["rows": rows, "tag": newer.recordChangeTag ?? "", "address": address(of: newer.recordName)]
        if form["do"] != "delete" { values["canSave"] = true }
        return values
    }

    private func row(_ entry: Entry, hasMoreRows: Bool) -> [String: Any] {
        let controls = entry.draft ?? entry.shown
        let text = controls.rows.first?.text ?? ""
        var row: [String: Any] = [
            "name": entry.name, "type": entry.isEncrypted ? "ENCRYPTED \(entry.type)" : entry.type, "print": entry.fingerprint,
            "hasNoValue": controls.hasNoValue, "value": text, "shown": FieldText.lines(entry.value),
        ]
        let detail = FieldText.detail(entry.value)
        if !detail.isEmpty { row["detail"] = detail }
        switch controls.control {
        case .line: row["isLine"] = true
        case .text:
            // HTML drops the first line break in a text area.
            row["isText"] = ["text": "\n" + text, "rows": Self.height(of: text)] as [String: Any]
        case .list(let isText): row["list"] = list(controls, entry, isText: isText, hasMoreRows: hasMoreRows)
        case .asset: row["isAsset"] = true
        case .fixed: row["isFixed"] = true
        }
        if case .asset(let asset)? = entry.value, let address = asset.downloadURL {
            row["file"] = address
            if asset.size <= Self.previewBytesMax { row["preview"] = address }
        }
        row["targets"] = targets(of: entry.value)
        if entry.type == "LOCATION" { row["hint"] = "48.137, 11.575" }
        return row
    }

    private func list(_ controls: FieldForm, _ entry: Entry, isText: Bool, hasMoreRows: Bool) -> [String: Any] {
        var rows = controls.rows
        if let last = rows.last, last.stored == nil, last.text.isEmpty {} else { rows.append(FieldForm.Row(text: "")) }
        if hasMoreRows { rows += (0..<5).map { _ in FieldForm.Row(text: "") } }
        var stored: [FieldValue] = []
        if case .list(let elements, _)? = entry.value, entry.isCurrent { stored = elements }
        return [
            "stored": controls.rows.count { $0.stored != nil },
            "rows": rows.enumerated().map { index, row -> [String: Any] in
                let detail = row.stored.flatMap { stored.indices.contains($0) ? FieldText.detail(stored[$0]) : nil } ?? ""
                var values: [String: Any] = [
                    "index": index, "number": index + 1, "value": row.text, "isStored": row.stored != nil, "isRemoved": row.isRemoved,
                    "isKeptEmpty": row.isKeptEmpty, "isText": isText, "text": "\n" + row.text, "height": Self.height(of: row.text),
                    "canBeEmpty": row.stored == nil && isText,
                ]
                if !detail.isEmpty { values["detail"] = detail }
                return values
            },
        ]
    }

    private static func height(of text: String) -> Int { min(12, 1 + text.utf8.count { $0 == UInt8(ascii: "\n") } + text.utf8.count / 100) }
}
