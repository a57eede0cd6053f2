// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import SystemSupport

/// Saves records of a pasted or chosen file: JSON or CSV as ``ExportPages`` writes them.
struct ImportPage {
    static let recordsMax = 10_000

    let parent: ContainerPages
    let list: RecordPages

    private var form: QueryItems { parent.visit.fields }
    private var limits: Limits { parent.service.engine.limits }

    func respond() async throws -> ServiceResponse {
        let (query, _) = try await list.query()
        guard query.type != nil else { return parent.problem("Create a record type first.", status: 404) }
        guard parent.visit.isPost else { return page(query) }
        do {
            let records = try records(query)
            guard !records.isEmpty else { throw WireError(.badRequest, "The file has no records.") }
            let operations =
                form["existing"] == "replace" ? try await replacing(records, query) : records.map { RecordOperation(.create, $0.record) }
            let (done, problems) = try await BulkPages.carryOut(operations, query, parent)
            return parent.page(
                "done",
                [
                    "done": "\(done) of \(CountText.text(records.count, "record")) imported.", "problems": problems,
                    "next": "\(parent.base)/records?\(RecordQuery.text(query.items))",
                ], title: "Records imported")
        } catch let error as WireError {
            return page(query, problem: error.reason)
        }
    }

    private func page(_ query: RecordQuery, problem: String? = nil) -> ServiceResponse {
        var values: [String: Any] = [
            "type": query.type ?? "", "place": "\(query.scope.rawValue)/\(query.zone)", "text": (try? content()) ?? form["text"] ?? "",
            "isReplacing": form["existing"] == "replace", "most": Self.recordsMax,
        ]
        if let problem { values["problem"] = problem }
        return parent.page("import", values, title: "Import \(query.type ?? "records")", scripts: ["/console-import.js"])
    }

    /// Operations that save the records over those of their names.
    private func replacing(_ records: [ImportedRecord], _ query: RecordQuery) async throws -> [RecordOperation] {
        try await ImportedRecord.operations(saving: records, limits) { names in
            let request = LookupRecordsRequest(recordNames: names, zoneID: query.zoneID)
            let response: LookupRecordsResponse = try await parent.ask(.lookupRecords, request, query.scope)
            return response.results
        }
    }

    /// A chosen file unchanged, or the text.
    private func content() throws(WireError) -> String {
        // Browsers send each line break of a text area as CR LF, also those inside of values.
        guard let file = form["file"], !file.isEmpty else { return LineBreaks.normalized(form["text"] ?? "") }
        guard let bytes = Base64.decode(file), let text = String(validating: bytes, as: UTF8.self) else {
            throw WireError(.badRequest, "The file is not UTF-8.")
        }
        return text
    }

    private func records(_ query: RecordQuery) throws -> [ImportedRecord] {
        let text = try content()
        let records =
            ImportedRecord.isJSON(text) ? try records(json: text).map { ImportedRecord($0) } : try Self.records(csv: text, query)
        guard records.count <= Self.recordsMax else { throw WireError(.badRequest, "An import has at most \(Self.recordsMax) records.") }
        return records
    }

    private func records(json text: String) throws -> [Record] {
        Self.parentsFirst(
            try ImportedRecord.lines(json: text, limits).map { line -> Record in
                do throws(WireError) {
                    return try line.record.get().record
                } catch {
                    throw WireError(.badRequest, "Line \(line.number): \(error.reason)")
                }
            })
    }

    /// Parents before their children: a request has some of the records only, and a parent has to exist. Others keep their order.
    static func parentsFirst(_ records: [Record]) -> [Record] {
        let parents = Dictionary(records.map { ($0.recordName, $0.sharing.parent) }) { first, _ in first }
        func depth(_ record: Record) -> Int {
            var (depth, parent) = (0, record.sharing.parent)
            // A cycle ends here, and is rejected by the service.
            while let name = parent, depth < parentsMax, let next = parents[name] { (depth, parent) = (depth + 1, next) }
            return depth
        }
        let depths = records.map(depth)
        return records.indices.sorted { (depths[$0], $0) < (depths[$1], $1) }.map { records[$0] }
    }

    /// Ancestors of a record that the order looks at.
    private static let parentsMax = 100

    private static func records(csv text: String, _ query: RecordQuery) throws -> [ImportedRecord] {
        let table = RecordCSV.table(text, rowsMax: recordsMax + 1)
        guard !table.isCut else { throw WireError(.badRequest, "An import has at most \(recordsMax) records.") }
        if let line = table.openQuotation { throw WireError(.badRequest, "Line \(line): a quotation mark has no end.") }
        guard let header = try table.rows.first?.cells.map({ try field($0 ?? "", query) }) else { return [] }
        let columns = Set(header)
        return try table.rows.dropFirst().map { row in
            guard row.cells.count <= header.count else {
                throw WireError(.badRequest, "Line \(row.line) has more values than the first line has names.")
            }
            var record = Record(recordName: "", recordType: query.type ?? "")
            for (name, cell) in zip(header, row.cells) {
                guard let cell else { continue }
                guard let schema = query.fields[name] else {
                    record.recordName = RecordCSV.unguarded(cell)
                    continue
                }
                if FieldText.isAsset(schema.type) { continue }
                guard let value = FieldText.value(cell: cell, type: schema.type) else {
                    let problem = FieldText.problem(cell, type: schema.type, field: name)
                    throw WireError(.badRequest, "Line \(row.line): \(problem.reason)")
                }
                record.fields[name] = Field(value, isEncrypted: schema.isEncrypted)
            }
            return ImportedRecord(record, columns: columns)
        }
    }

    /// The name in a cell of the first line: `FIELD`, or `FIELD:TYPE`.
    private static func field(_ cell: String, _ query: RecordQuery) throws -> String {
        let text = RecordCSV.unguarded(cell).trimmed
        if text == RecordCSV.nameHeader { return text }
        let (name, column) = RecordCSV.field(text) ?? (name: text, column: nil)
        guard let schema = query.fields[name] else {
            throw WireError(
                .badRequest, "The type \(query.type ?? "") has no field '\(name.prefix(64))'. The first line names the fields.")
        }
        if let column, let own = RecordCSV.Column(name, schemaType: schema.type), own != column {
            throw WireError(.badRequest, "The field '\(name)' has the type \(own.schemaType) instead of \(column.schemaType).")
        }
        return name
    }
}
