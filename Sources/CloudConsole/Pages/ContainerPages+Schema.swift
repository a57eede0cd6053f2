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

    /// Whether the schema of the environment can be edited.
    var isOpen: Bool { environment == .development }

    func types() async throws -> ServiceResponse {
        let schema = try await schemas.export(environment).completed
        guard let name = pathComponents.dropFirst().first else { return try await allTypes(schema) }
        guard let type = schema.types[name] else { return problem("This record type does not exist.", status: 404) }
        guard visit.isPost else { return typePage(name, type, schema) }
        guard isOpen else { throw WireError(.badRequest, "Production takes its schema from development.") }
        do {
            return try await changeType(name, type, schema)
        } catch let error as WireError {
            return typePage(name, type, schema, problem: error.reason)
        } catch let refused as SchemaRefused {
            return typePage(name, type, schema, problem: refused.reasons.joined(separator: " "))
        }
    }

    private func allTypes(_ schema: ContainerSchema) async throws -> ServiceResponse {
        var problem: String?
        if visit.isPost {
            let name = visit.fields["name"] ?? ""
            do {
                guard isOpen else { throw WireError(.badRequest, "Production takes its schema from development.") }
                guard schema.types[name] == nil else { throw WireError(.badRequest, "The record type \(name) exists.") }
                try Self.requireIdentifier(name, "record type")
                _ = try await schemas.changeType(name, creating: true) { _, _ in }
                return Page.redirect("\(base)/types/\(QueryItems.encode(name))")
            } catch let error as WireError {
                problem = error.reason
            }
        }
        let types = schema.types.sorted { $0.key < $1.key }.map { name, type -> [String: Any] in
            [
                "name": name, "fields": type.schema.fields.count, "isBrowsed": name != UsersType.name,
                "grants": type.grants.byRole.sorted { $0.key < $1.key }.map { role, granted in
                    "\(role) \(Self.permissions.filter { granted.contains($0.permission) }.map(\.name).joined(separator: ", "))"
                }.joined(separator: " · "),
            ]
        }
        var values: [String: Any] = ["types": types, "isOpen": isOpen]
        if let problem { values["problem"] = problem }
        return page("types", values, title: "Record types")
    }

    private func typePage(
        _ name: String, _ type: ContainerSchema.RecordType, _ schema: ContainerSchema, problem: String? = nil, removal: [String: Any]? = nil
    ) -> ServiceResponse {
        var values: [String: Any] = [
            "fields": fields(of: type), "roles": roles(of: type, schema), "isOpen": isOpen,
            "fieldTypes": Self.fieldTypes.map { ["name": $0] },
            "removable": type.schema.fields.keys.sorted().map { ["name": $0] },
            "records": "\(base)/records?type=\(QueryItems.encode(name))",
        ]
        if !Self.hasTalkIndexes(type) { values["lacksIndexes"] = true }
        if let problem { values["problem"] = problem }
        if let saved = visit.query["saved"], !visit.isPost, let text = Self.saved[saved] { values["saved"] = text }
        if let removal { values["removal"] = removal }
        return page("type", values, title: name)
    }

    private static let saved = [
        "indexes": "The indexes and permissions were saved.", "field": "The field was added.", "removed": "The field was removed.",
    ]

    private func changeType(_ name: String, _ type: ContainerSchema.RecordType, _ schema: ContainerSchema) async throws -> ServiceResponse {
        let form = visit.fields
        let address = "\(base)/types/\(QueryItems.encode(name))"
        let isThere: Bool
        switch form["do"] {
        case "add-field":
            let (field, added) = try Self.newField(form, of: type)
            isThere = try await schemas.changeType(name) { type, _ in
                if type.schema.fields[field] == nil { type.schema.fields[field] = added }
            }
        case "index":
            isThere = try await schemas.changeType(name) { type, _ in
                type.schema.systemIndexes[.recordName, default: []].insert(.queryable)
                type.schema.systemIndexes[.modifiedTimestamp, default: []].formUnion([.queryable, .sortable])
            }
        case "remove-field", "remove-type": return try await remove(name, type, schema)
        default: isThere = try await schemas.changeType(name) { Self.edit(&$0, roles: $1, form) }
        }
        guard isThere else { return problem("This record type does not exist.", status: 404) }
        return Page.redirect(address + (form["do"] == "add-field" ? "?saved=field" : "?saved=indexes"))
    }

    /// Removes a field or the type after a confirmation that lists the deleted values.
    private func remove(_ name: String, _ type: ContainerSchema.RecordType, _ schema: ContainerSchema) async throws -> ServiceResponse {
        let field = visit.fields["do"] == "remove-field" ? visit.fields["field"] ?? "" : nil
        if let field, type.schema.fields[field] == nil { throw WireError(.badRequest, "The type has no such field.") }
        var smaller = try await schemas.export(environment)
        if let field { smaller.types[name]?.schema.fields[field] = nil } else { smaller.types[name] = nil }
        let lines = try await schemas.removals(by: smaller).lines
        let confirmation = service.formCode(of: "remove " + ([name, field ?? ""] + lines).joined(separator: "; "))
        guard visit.fields["confirmed"] == confirmation else {
            return typePage(
                name, type, schema,
                removal: [
                    "do": visit.fields["do"] ?? "", "field": field ?? "", "what": field ?? name, "code": confirmation,
                    "lines": lines.isEmpty ? ["No values are deleted."] : lines.map { "\($0) in all databases of development" },
                ])
        }
        try await schemas.remove(field, ofType: name)
        return Page.redirect(field == nil ? "\(base)/types" : "\(base)/types/\(QueryItems.encode(name))?saved=removed")
    }

    /// The indexes that a list of all records by time needs.
    ///
    /// Source: WWDC20, "Sync a Core Data store with the CloudKit public database", adds them by hand.
    private static func hasTalkIndexes(_ type: ContainerSchema.RecordType) -> Bool {
        type.schema.systemIndexes[.recordName]?.contains(.queryable) == true
            && type.schema.systemIndexes[.modifiedTimestamp]?.isSuperset(of: [.queryable, .sortable]) == true
    }

    private static let elementTypes = ["STRING", "INT64", "DOUBLE", "TIMESTAMP", "REFERENCE", "LOCATION", "BYTES", "ASSET"]
    private static let fieldTypes = elementTypes + elementTypes.map { "LIST<\($0)>" }

    private static func requireIdentifier(_ name: String, _ kind: String) throws(WireError) {
        let isLetter = { (byte: UInt8) in (65...90).contains(byte) || (97...122).contains(byte) }
        guard let first = name.utf8.first, name.utf8.count <= 255, isLetter(first),
            name.utf8.allSatisfy({ isLetter($0) || (48...57).contains($0) || $0 == UInt8(ascii: "_") })
        else {
            throw WireError(.badRequest, "A \(kind) has a name that begins with a letter, followed by letters, digits and underscores.")
        }
    }

    private static func newField(_ form: QueryItems, of type: ContainerSchema.RecordType) throws -> (String, FieldSchema) {
        let (name, fieldType) = (form["name"] ?? "", form["type"] ?? "")
        try requireIdentifier(name, "field")
        guard type.schema.fields[name] == nil else { throw WireError(.badRequest, "The type has a field '\(name)'.") }
        guard QueryKey.SystemField(rawValue: name) == nil else {
            throw WireError(.badRequest, "'\(name)' is a field that every record has: choose another name.")
        }
        guard fieldTypes.contains(fieldType) else { throw WireError(.badRequest, "Choose a type for the field.") }
        // The schema language has the rules of types, so it reads the field.
        do {
            let schema = try ContainerSchema(
                text: "DEFINE SCHEMA RECORD TYPE T (\(name) \(form["encrypted"] == nil ? "" : "ENCRYPTED ")\(fieldType));")
            guard let field = schema.types["T"]?.schema.fields[name] else { throw WireError(.badRequest, "The field cannot be added.") }
            return (name, field)
        } catch let fault as SchemaFault {
            throw WireError(.badRequest, "The field cannot be added: \(fault.what).")
        }
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
            row(name, field.type, key: "i.\(name)", field.indexes, isEncrypted: field.isEncrypted)
        }
        return system + own
    }

    private func row(_ name: String, _ type: String, key: String, _ indexes: FieldIndexes, isEncrypted: Bool = false) -> [String: Any] {
        let possible = isEncrypted ? [] : FieldIndexes.possible(forType: type)
        return [
            "name": name, "type": isEncrypted ? "ENCRYPTED \(type)" : type,
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
}
