// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudService
import CloudWire

extension ContainerPages {
    private static let indexes: [(name: String, index: FieldIndexes)] = [
        ("queryable", .queryable), ("sortable", .sortable), ("searchable", .searchable),
    ]
    private static let permissions: [(name: String, permission: RolePermissions)] = [
        ("create", .create), ("read", .read), ("write", .write),
    ]
    private static let systemFields: [(field: QueryKey.SystemField, type: String)] = [
        (.recordName, "REFERENCE"), (.createdTimestamp, "TIMESTAMP"), (.createdUserRecordName, "REFERENCE"),
        (.modifiedTimestamp, "TIMESTAMP"), (.modifiedUserRecordName, "REFERENCE"),
    ]

    private var isOpen: Bool { environment == .development }

    func types() async throws -> ServiceResponse {
        let schema = try await schemas.export(environment).completed
        guard let name = pathComponents.dropFirst().first else {
            let types = schema.types.sorted { $0.key < $1.key }.map { name, type -> [String: Any] in
                [
                    "name": name, "fields": type.schema.fields.count, "isBrowsed": name != UsersType.name,
                    "grants": type.grants.byRole.sorted { $0.key < $1.key }.map { role, granted in
                        "\(role) \(Self.permissions.filter { granted.contains($0.permission) }.map(\.name).joined(separator: ", "))"
                    }.joined(separator: " · "),
                ]
            }
            return page("types", ["types": types], title: "Record types")
        }
        guard let type = schema.types[name] else { return Page.problem("This record type does not exist.", status: 404) }
        if visit.isPost {
            guard isOpen else { throw WireError(.badRequest, "Production takes its schema from development.") }
            let form = visit.fields
            let isThere = try await schemas.changeType(name) { Self.edit(&$0, roles: $1, form) }
            guard isThere else { return Page.problem("This record type does not exist.", status: 404) }
            return Page.redirect("\(base)/types/\(QueryItems.encode(name))")
        }
        return page("type", ["fields": fields(of: type), "roles": roles(of: type, schema), "isOpen": isOpen], title: name)
    }

    /// Sets the indexes and grants of the type as the form's checkboxes have them.
    private static func edit(_ type: inout ContainerSchema.RecordType, roles: Set<String>, _ form: QueryItems) {
        func ticked(_ key: String, _ possible: FieldIndexes) -> FieldIndexes {
            var ticked: FieldIndexes = []
            for (name, index) in indexes where possible.contains(index) && form["\(key).\(name)"] != nil { ticked.insert(index) }
            return ticked
        }
        for (name, field) in type.schema.fields where !field.isEncrypted {
            type.schema.fields[name]?.indexes = ticked("i.\(name)", FieldIndexes.possible(forType: field.type))
        }
        for (field, fieldType) in systemFields {
            let indexes = ticked("s.\(field.rawValue)", FieldIndexes.possible(forType: fieldType))
            type.schema.systemIndexes[field] = indexes.isEmpty ? nil : indexes
        }
        var grants: [String: RolePermissions] = [:]
        for role in Set(type.grants.byRole.keys).union(SecurityGrants.builtInRoles).union(roles) {
            for (name, permission) in permissions where form["g.\(role).\(name)"] != nil { grants[role, default: []].insert(permission) }
        }
        type.grants = SecurityGrants(byRole: grants)
    }

    private func fields(of type: ContainerSchema.RecordType) -> [[String: Any]] {
        let system = Self.systemFields.map { field, fieldType in
            row(field.rawValue, fieldType, key: "s.\(field.rawValue)", type.schema.systemIndexes[field] ?? [])
        }
        let own = type.schema.fields.sorted { $0.key < $1.key }.map { name, field in
            row(name, field.isEncrypted ? "ENCRYPTED" : field.type, key: "i.\(name)", field.indexes)
        }
        return system + own
    }

    private func row(_ name: String, _ type: String, key: String, _ indexes: FieldIndexes) -> [String: Any] {
        let possible = FieldIndexes.possible(forType: type)
        return [
            "name": name, "type": type,
            "boxes": Self.indexes.map { word, index -> [String: Any] in
                [
                    "key": "\(key).\(word)", "label": "\(name) \(word)", "isPossible": possible.contains(index),
                    "isOn": indexes.contains(index), "isFixed": !isOpen,
                ]
            },
        ]
    }

    private func roles(of type: ContainerSchema.RecordType, _ schema: ContainerSchema) -> [[String: Any]] {
        (["_world", "_icloud", "_creator"] + schema.roles.sorted()).map { role -> [String: Any] in
            let granted = type.grants.byRole[role] ?? []
            return [
                "name": role,
                "boxes": Self.permissions.map { word, permission -> [String: Any] in
                    [
                        "key": "g.\(role).\(word)", "label": "\(role) \(word)",
                        "isPossible": role != SecurityGrants.world || permission == .read,
                        "isOn": granted.contains(permission), "isFixed": !isOpen,
                    ]
                },
            ]
        }
    }

    // MARK: Text, differences, deployment

    func schema() async throws -> ServiceResponse {
        var text: String?
        var report: [String] = []
        var removals = SchemaRemovals()
        if visit.isPost {
            switch visit.fields["do"] {
            case "deploy":
                _ = try await schemas.deploy()
                return Page.redirect("\(base)/schema")
            case "validate":
                text = visit.fields["text"]
                let (schema, warnings) = try parsed()
                report = warnings + (try await schemas.validate(schema).map(\.line))
                if report.count == warnings.count { report.append("The schema is valid and changes nothing.") }
            case "import":
                let (schema, warnings) = try parsed()
                // The confirmation names the deletions: saves of an app since then need another one.
                removals = try await schemas.removals(by: schema)
                if removals.isEmpty || visit.fields["confirmed"] == removals.lines.joined(separator: "; ") {
                    removals = SchemaRemovals()
                    _ = try await schemas.importSchema(schema)
                    guard !warnings.isEmpty else { return Page.redirect("\(base)/schema") }
                    report = ["The schema was imported."] + warnings
                } else {
                    text = visit.fields["text"]
                    report = warnings
                }
            default: throw WireError(.badRequest, "The form has an unknown kind.")
            }
        }
        let changes = try await schemas.differences()
        let refusals = changes.compactMap(\.refusalInProduction)
        let shown = if let text { text } else { try await schemas.export(environment).text }
        let lines = report.isEmpty ? changes.map(\.line) : report
        return page(
            "schema",
            [
                "changes": lines, "refusals": refusals, "isRefused": !refusals.isEmpty,
                "canDeploy": !changes.isEmpty && refusals.isEmpty && report.isEmpty && removals.isEmpty, "isOpen": isOpen,
                "text": shown, "removals": removals.lines, "isRemoval": !removals.isEmpty,
                "removed": removals.lines.joined(separator: "; "),
            ], title: "Schema")
    }

    private func parsed() throws -> (schema: ContainerSchema, warnings: [String]) {
        do {
            let (schema, warnings) = try ContainerSchema.read(visit.fields["text"] ?? "")
            return (schema, warnings.map { "Warning: line \($0.line), column \($0.column): \($0.what)" })
        } catch {
            throw WireError(.badRequest, "Line \(error.line), column \(error.column): \(error.what)")
        }
    }
}
