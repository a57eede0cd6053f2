// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The subject of a filter or a sort, as the schema has it.
struct QueryField {
    enum Subject: Hashable {
        case field(String)
        case system(QueryKey.SystemField)
        /// The searchable fields of the type, by name.
        case allSearchable([String])
    }

    let subject: Subject
    /// Wire name of the type; that of a list ends with `_LIST`.
    let type: String
    let isEncrypted: Bool
    private let indexes: FieldIndexes
    /// As errors name it.
    let name: String

    /// - Throws: `WireError` for a field that the record type does not have.
    init(_ key: QueryKey, in schema: RecordTypeSchema) throws(WireError) {
        var system: QueryKey.SystemField?
        switch key {
        case .system(let field): system = field
        // Some clients send a system field's name as that of a field.
        case .field(let name): system = schema.fields[name] == nil ? QueryKey.SystemField(rawValue: name) : nil
        case .allSearchable: break
        }
        if let system {
            (subject, type, isEncrypted) = (.system(system), system.type, false)
            // The schema language cannot name these two, so that queries may use them without an index word.
            indexes = system == .parent || system == .share ? [.queryable] : schema.systemIndexes[system] ?? []
            name = system.rawValue
            return
        }
        if case .field(let name) = key {
            guard let field = schema.fields[name] else {
                // Names come from outside; a long one would make a long answer.
                throw WireError(.badRequest, "Unknown field '\(name.prefix(64))'")
            }
            (subject, type, isEncrypted, indexes) = (.field(name), field.type, field.isEncrypted, field.indexes)
            self.name = name
            return
        }
        let names = schema.fields.filter { $0.value.indexes.contains(.searchable) }.keys.sorted()
        (subject, type, isEncrypted) = (.allSearchable(names), "STRING", false)
        indexes = names.isEmpty ? [] : [.searchable]
        name = "self"
    }

    var isList: Bool { type.hasSuffix("_LIST") }
    /// Type of one value.
    var elementType: String {
        let element = isList ? String(type.dropLast(5)) : type
        return element.hasPrefix("NUMBER") ? "NUMBER" : element
    }

    /// Source: the texts are those of public reports.
    func require(_ index: FieldIndexes) throws(WireError) {
        guard !indexes.contains(index) else { return }
        let word = index == .sortable ? "sortable" : index == .searchable ? "searchable" : "queryable"
        throw WireError(.badRequest, "Field '\(name)' is not marked \(word)")
    }

    func value(in record: Record) -> FieldValue? {
        switch subject {
        case .field(let name): record.fields[name]?.value
        case .system(let field): field.value(in: record)
        case .allSearchable: nil
        }
    }

    /// Name in an index of values.
    var indexName: String {
        switch subject {
        case .field(let name): name
        case .system(let field): field.internalName
        case .allSearchable: RecordIndex.allFields
        }
    }

    /// Reads a value of a filter as one of the field's type.
    ///
    /// Source: *CloudKit Web Services Reference*: a filter on a name takes a reference; here a text does too. The
    /// error's text is that of public reports.
    ///
    /// - Parameter caller: Record name that replaces the placeholder of the current user.
    func coerce(_ value: FieldValue, caller: String) throws(WireError) -> FieldValue {
        if case .location(let location) = value, GlobePoint(location) == nil {
            throw WireError(.badRequest, "Invalid value, expected type LOCATION")
        }
        guard let converted = convert(value) else {
            throw WireError(.badRequest, "Invalid value, expected type \(elementType)")
        }
        guard case .reference(let user) = converted, isOfUsers else { return converted }
        // Users are in the default zone, in any zone of the record that they wrote, so the zone is irrelevant.
        return .reference(RecordReference(recordName: user.recordName == ZoneAccess.currentUser ? caller : user.recordName))
    }

    /// Whether the values are users, by the names of their records.
    private var isOfUsers: Bool {
        subject == .system(.createdUserRecordName) || subject == .system(.modifiedUserRecordName)
    }

    private func convert(_ value: FieldValue) -> FieldValue? {
        switch (elementType, value) {
        case ("STRING", .string), ("INT64", .int64), ("DOUBLE", .double), ("TIMESTAMP", .timestamp), ("REFERENCE", .reference),
            ("LOCATION", .location), ("NUMBER", .int64), ("NUMBER", .double):
            value
        case ("TIMESTAMP", .int64(let number)): .timestamp(number)
        case ("DOUBLE", .int64(let number)): .double(Double(number))
        case ("INT64", .double(let number)): Int64(exactly: number).map { .int64($0) }
        case ("TIMESTAMP", .double(let number)): Int64(exactly: number).map { .timestamp($0) }
        case ("INT64", .string(let text)): Int64(text).map { .int64($0) }
        case ("TIMESTAMP", .string(let text)): Int64(text).map { .timestamp($0) }
        case ("DOUBLE", .string(let text)), ("NUMBER", .string(let text)): Double(text).map { .double($0) }
        case ("REFERENCE", .string(let name)): .reference(RecordReference(recordName: name))
        default: nil
        }
    }
}

/// The schema of a record type.
package struct RecordTypeSchema: Hashable, Sendable {
    package var fields: [String: FieldSchema]
    /// Indexes of system fields; those that have none are left out.
    package var systemIndexes: [QueryKey.SystemField: FieldIndexes]

    package init(fields: [String: FieldSchema] = [:], systemIndexes: [QueryKey.SystemField: FieldIndexes] = [:]) {
        self.fields = fields
        self.systemIndexes = systemIndexes
    }
}
