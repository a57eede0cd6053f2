// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
import CloudService
import CloudWire
import SystemSupport

/// The schema as text, its differences from production, and the deployment.
extension ContainerPages {
    private struct SchemaForm {
        /// The text as submitted; nil shows the stored schema.
        var text: String?
        /// Lines about the submitted text.
        var report: [String] = []
        var removals = SchemaRemovals()
        var problem: String?
        var status = 200
    }

    func schema() async throws -> ServiceResponse {
        guard visit.isPost else { return try await schemaPage(SchemaForm()) }
        do {
            switch visit.fields["do"] {
            case "deploy": return try await deploy()
            case "validate": return try await schemaPage(try await validated())
            case "import":
                guard let form = try await imported() else { return Page.redirect("\(base)/schema?saved=imported") }
                return try await schemaPage(form)
            default: throw WireError(.badRequest, "The form has an unknown kind.")
            }
        } catch let error as WireError {
            // The page keeps the text.
            return try await schemaPage(SchemaForm(text: visit.fields["text"], problem: error.reason, status: error.code.httpStatus))
        } catch let refused as SchemaRefused {
            return try await schemaPage(
                SchemaForm(text: visit.fields["text"], problem: refused.reasons.joined(separator: "; "), status: 409))
        }
    }

    private func deploy() async throws -> ServiceResponse {
        let differences = try await schemas.differences()
        // The confirmation covers the listed changes. A change that an app makes in between needs a new confirmation.
        let confirmation = service.formCode(of: "deploy " + differences.map(\.line).joined(separator: "; "))
        guard visit.fields["confirmed"] == confirmation else {
            return page(
                "deploy",
                [
                    "changes": differences.map(Self.explained), "code": confirmation, "back": "\(base)/schema",
                    "button": "Deploy \(CountText.text(differences.count, "change"))",
                ], title: "Deploy to production?")
        }
        _ = try await schemas.deploy()
        return Page.redirect("\(base)/schema?deployed=\(differences.count)")
    }

    private func validated() async throws -> SchemaForm {
        let (schema, warnings) = try parsed()
        let changes = try await schemas.validate(schema)
        let lines = changes.map { "\($0.line): \($0.meaning)" }
        return SchemaForm(
            text: visit.fields["text"], report: warnings + (lines.isEmpty ? ["The schema is valid and changes nothing."] : lines))
    }

    /// - Returns: nil if nothing is left to say.
    private func imported() async throws -> SchemaForm? {
        let (schema, warnings) = try parsed()
        // The confirmation names the deletions: saves of an app since then need another one.
        let removals = try await schemas.removals(by: schema)
        guard removals.isEmpty || visit.fields["confirmed"] == removals.lines.joined(separator: "; ") else {
            return SchemaForm(text: visit.fields["text"], report: warnings, removals: removals)
        }
        _ = try await schemas.importSchema(schema)
        return warnings.isEmpty ? nil : SchemaForm(report: ["The schema was imported."] + warnings)
    }

    private func schemaPage(_ form: SchemaForm) async throws -> ServiceResponse {
        let changes = try await schemas.differences()
        let refusals = changes.compactMap(\.refusalInProduction)
        let shown = if let text = form.text { text } else { try await schemas.export(environment).text }
        var values: [String: Any] = [
            "changes": changes.map(Self.explained), "report": form.report, "refusals": refusals, "isRefused": !refusals.isEmpty,
            "canDeploy": !changes.isEmpty && refusals.isEmpty && form.report.isEmpty && form.removals.isEmpty, "isOpen": isOpen,
            "text": shown,
            "removals": form.removals.lines, "isRemoval": !form.removals.isEmpty, "removed": form.removals.lines.joined(separator: "; "),
        ]
        if let problem = form.problem { values["problem"] = problem }
        if let count = visit.query["deployed"].flatMap({ Int($0) }), !visit.isPost {
            values["saved"] = "\(CountText.text(count, "change")) deployed to production."
        }
        if visit.query["saved"] == "imported", !visit.isPost { values["saved"] = "The schema was imported." }
        return page("schema", values, title: "Schema", status: form.status)
    }

    private static func explained(_ change: SchemaChange) -> [String: Any] { ["line": change.line, "meaning": change.meaning] }

    private func parsed() throws -> (schema: ContainerSchema, warnings: [String]) {
        do {
            let (schema, warnings) = try ContainerSchema.read(visit.fields["text"] ?? "")
            return (schema, warnings.map { "Warning: line \($0.line), column \($0.column): \($0.what)" })
        } catch {
            throw WireError(.badRequest, "Line \(error.line), column \(error.column): \(error.what)")
        }
    }
}

extension SchemaChange {
    /// The effect on apps and data, in one sentence.
    package var meaning: String {
        switch self {
        case .addedRole: "A role that users can be given. It has no permissions until a type grants some."
        case .removedRole: "Users lose the role, and its permissions with it."
        case .addedType: "Apps can save records of this type."
        case .removedType: "The type and all its records are deleted."
        case .addedField(_, _, let field):
            field.isEncrypted
                ? "Apps can save this field. It is encrypted and cannot be queried."
                : "Apps can save this field. Records that exist have no value in it."
        case .removedField: "The field and its values are deleted from all records."
        case .changedField: "The field takes values of another type; values of the old type are deleted."
        case .addedIndexes(_, _, let indexes): Self.meaning(of: indexes) + " The index is built when a query needs it."
        case .removedIndexes: "Queries that need the index are rejected."
        case .changedGrants(_, let role, let from, let to):
            switch (to.subtracting(from).isEmpty, from.subtracting(to).isEmpty) {
            case (false, true): "\(Self.people(role)) may do more in the public database."
            case (true, false): "\(Self.people(role)) may do less in the public database."
            default: "\(Self.people(role)) may do other things in the public database."
            }
        }
    }

    private static func meaning(of indexes: FieldIndexes) -> String {
        var uses: [String] = []
        if indexes.contains(.queryable) { uses.append("compare the field for equality") }
        if indexes.contains(.sortable) { uses.append("sort by it and compare ranges") }
        if indexes.contains(.searchable) { uses.append("search its words") }
        return "Queries can " + uses.joined(separator: ", ") + "."
    }

    private static func people(_ role: String) -> String {
        switch role {
        case "_world": "Everyone, signed in or not,"
        case "_icloud": "Signed-in users"
        case "_creator": "The creator of a record"
        default: "Users with the role \(role)"
        }
    }
}
