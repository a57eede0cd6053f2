// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire
import SystemSupport

/// Deletes the selected records of a list, or sets one field of them, after a confirmation that shows their number and names.
///
/// The form has `x.INDEX` with the name of each selected record and `t.INDEX` with the change tag that the list showed. A record
/// that changed since is left alone.
struct BulkPages {
    static let recordsMax = 250
    /// Operations of one request.
    static let requestRecords = 200

    let parent: ContainerPages
    let list: RecordPages

    private var form: QueryItems { parent.visit.fields }

    struct Selected {
        let index: Int
        let name: String
        let tag: String
    }

    func respond() async throws -> ServiceResponse {
        let (query, _) = try await list.query()
        let selected = Self.selected(form)
        guard !selected.isEmpty else { throw WireError(.badRequest, "Select at least one record.") }
        let field = try change(query)
        guard form["confirmed"] != nil else { return confirmation(selected, query) }
        let operations = selected.map { one in
            var record = Record(recordName: one.name, recordType: query.type ?? "", recordChangeTag: one.tag)
            if let field { record.fields = [field.name: field.value] }
            return RecordOperation(field == nil ? .delete : .update, record)
        }
        let (done, problems) = try await Self.carryOut(operations, query, parent)
        let verb = field == nil ? "deleted" : "changed"
        return parent.page(
            "done",
            [
                "done": "\(done) of \(CountText.text(operations.count, "record")) \(verb).", "problems": problems,
                "next": "\(parent.base)/records?\(RecordQuery.text(query.items))",
            ], title: "Records \(verb)")
    }

    static func selected(_ form: QueryItems) -> [Selected] {
        (0..<recordsMax).compactMap { index in
            form["x.\(index)"].map { Selected(index: index, name: $0, tag: form["t.\(index)"] ?? "") }
        }
    }

    /// - Returns: The field to set; nil for a deletion.
    private func change(_ query: RecordQuery) throws -> (name: String, value: Field)? {
        switch form["do"] {
        case "delete": return nil
        case "edit":
            guard let name = form["set"], let schema = query.fields[name] else { throw WireError(.badRequest, "Choose a field to set.") }
            if form["none"] != nil { return (name, Field(nil)) }
            let text = form["to"] ?? ""
            guard let value = FieldText.value(cell: text, type: schema.type) else {
                throw FieldText.problem(text, type: schema.type, field: name)
            }
            return (name, Field(value, isEncrypted: schema.isEncrypted))
        default: throw WireError(.badRequest, "The form has an unknown kind.")
        }
    }

    private func confirmation(_ selected: [Selected], _ query: RecordQuery) -> ServiceResponse {
        let isDeletion = form["do"] == "delete"
        let count = CountText.text(selected.count, "record")
        var values: [String: Any] = [
            "records": selected.map { ["index": $0.index, "name": $0.name, "tag": $0.tag] as [String: Any] }, "do": form["do"] ?? "",
            "set": form["set"] ?? "", "to": form["to"] ?? "", "button": isDeletion ? "Delete \(count)" : "Change \(count)",
            "isDeletion": isDeletion, "back": "\(parent.base)/records?\(RecordQuery.text(query.items))",
        ]
        if form["none"] != nil { values["none"] = true }
        return parent.page("bulk", values, title: isDeletion ? "Delete \(count)?" : "Change \(count)?")
    }

    /// Carries operations out, each by itself.
    ///
    /// - Returns: How many succeeded, and the reasons of the first failures.
    static func carryOut(
        _ operations: [RecordOperation], _ query: RecordQuery, _ parent: ContainerPages
    ) async throws -> (done: Int, problems: [String]) {
        var (done, problems): (Int, [String]) = (0, [])
        var rest = operations[...]
        while !rest.isEmpty {
            let part = Array(rest.prefix(requestRecords))
            rest = rest.dropFirst(requestRecords)
            // Only the names and errors of the response are used.
            let request = ModifyRecordsRequest(operations: part, zoneID: query.zoneID, atomic: false, desiredKeys: [])
            let response: ModifyRecordsResponse = try await parent.ask(.modifyRecords, request, query.scope)
            for result in response.results {
                if case .failure(let name, let error, _) = result {
                    if problems.count < problemsShown { problems.append("\(name): \(error.reason)") }
                } else {
                    done += 1
                }
            }
        }
        return (done, problems)
    }

    static let problemsShown = 20
}
