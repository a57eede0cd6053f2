// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The schema of the record types of one request: the stored one, and the additions of the request.
struct SchemaCheck {
    private var known: [String: [String: FieldSchema]] = [:]
    private var unknownTypes: Set<String> = []
    private(set) var added: [String: [String: FieldSchema]] = [:]
    private let growsByUse: Bool
    /// Types of the stored schema; 0 unless the request may add one.
    private var typeCount = 0
    private var addedTypes: Int { added.keys.count { unknownTypes.contains($0) } }

    /// Of a type, and of a schema, that grow by use: every save reads its type. An import of a schema has no such limit.
    static let fieldsPerTypeMax = 1000
    static let typesMax = 1000
    /// Whether the records are everybody's, so that nothing in them can be encrypted.
    private let isPublic: Bool

    init(recordTypes: Set<String>, growsByUse: Bool, isPublic: Bool, _ view: any PartitionReader) throws {
        self.growsByUse = growsByUse
        self.isPublic = isPublic
        for recordType in recordTypes.sorted() {
            if let schema = try view.schema(ofType: recordType) {
                known[recordType] = schema.fields
            } else if recordType == UsersType.name {
                known[recordType] = [:]
            } else {
                unknownTypes.insert(recordType)
            }
        }
        if growsByUse, !unknownTypes.isEmpty { typeCount = try view.recordTypes().count }
    }

    /// Compares the values of a record with the schema, converts whole numbers to the type of the schema, and
    /// remembers new fields. A refused record adds nothing.
    ///
    /// Source: *CloudKit Web Services Reference*, "Record Field Dictionary": the field's type decides how a number
    /// without a type is read. The texts are those of public reports.
    mutating func check(_ record: inout Record) throws(WireError) {
        let recordType = record.recordType
        if unknownTypes.contains(recordType), !growsByUse {
            throw WireError(.badRequest, "record type '\(recordType)' is not in the production schema")
        }
        if let schema = known[recordType], record.fields.allSatisfy({ fits($0.value, schema[$0.key]) }) { return }
        var fields = record.fields
        var new: [String: FieldSchema] = [:]
        for (name, field) in record.fields.sorted(by: { $0.key < $1.key }) {
            guard let value = field.value else { continue }
            if !Self.isOnTheGlobe(value) {
                throw WireError(.badRequest, "the location in field '\(name)' has a \(GlobePoint.range)")
            }
            guard !isPublic || !field.isEncrypted else {
                throw WireError(.badRequest, "encrypted fields are not supported in the public database")
            }
            guard let expected = known[recordType]?[name] ?? added[recordType]?[name] else {
                if let error = NameChecks.field(name) { throw error }
                guard growsByUse else {
                    throw WireError(
                        .badRequest, "field '\(name)' of type '\(recordType)' is not in the production schema")
                }
                if let type = Self.typeName(of: value) { new[name] = FieldSchema(type: type, isEncrypted: field.isEncrypted) }
                continue
            }
            guard expected.isEncrypted || !field.isEncrypted else {
                throw WireError(.badRequest, "Attempt to save encrypted data in non encrypted field type")
            }
            let type = Self.typeName(of: value) ?? Self.emptyList
            guard expected.type != type else { continue }
            if case .list(let elements, _) = value, elements.isEmpty, expected.type.hasSuffix(Self.listSuffix) {
                // A list without elements has the type that the schema knows.
                fields[name]?.value = .list([], of: Self.element(ofList: expected.type))
                continue
            }
            guard let converted = Self.convert(value, to: expected.type) else {
                throw WireError(
                    .badRequest,
                    "invalid attempt to set value type \(type) for field '\(name)' for type '\(recordType)', "
                        + "defined to be: \(expected.type)")
            }
            fields[name]?.value = converted
        }
        record.fields = fields
        if unknownTypes.contains(recordType) || !new.isEmpty {
            let count = (known[recordType]?.count ?? 0) + (added[recordType] ?? [:]).merging(new) { old, _ in old }.count
            guard count <= Self.fieldsPerTypeMax else {
                throw WireError(
                    .badRequest, "type '\(recordType)' has at most \(Self.fieldsPerTypeMax) fields in the development schema",
                    nativeCode: .limitExceeded)
            }
            guard !unknownTypes.contains(recordType) || added[recordType] != nil || typeCount + addedTypes < Self.typesMax else {
                throw WireError(
                    .badRequest, "the development schema has at most \(Self.typesMax) record types", nativeCode: .limitExceeded)
            }
            added[recordType, default: [:]].merge(new) { old, _ in old }
        }
    }

    /// Whether a field needs neither conversion nor an addition to the schema, as nearly all do.
    private func fits(_ field: Field, _ expected: FieldSchema?) -> Bool {
        guard let value = field.value else { return true }
        guard let expected, expected.isEncrypted || !field.isEncrypted, !isPublic || !field.isEncrypted else { return false }
        return expected.type == Self.typeName(of: value) && Self.isOnTheGlobe(value)
    }

    /// Whether a location is on the globe: otherwise it has no distance, and no position in an index.
    private static func isOnTheGlobe(_ value: FieldValue) -> Bool {
        switch value {
        case .location(let location): GlobePoint(location) != nil
        case .list(let elements, of: .location): elements.allSatisfy(isOnTheGlobe)
        default: true
        }
    }

    private static let listSuffix = "_LIST"
    private static let emptyList = "EMPTY_LIST"

    /// Wire name of a value's type; nil for an empty list, which fits every list field.
    private static func typeName(of value: FieldValue) -> String? {
        if case .list(_, let element) = value { return element.map { $0.rawValue + listSuffix } }
        return value.type?.rawValue
    }

    /// The type of a list's elements; nil for one of the numbers, which may be of both kinds.
    private static func element(ofList type: String) -> FieldType? {
        switch type {
        case "NUMBER_INT64_LIST": .int64
        case "NUMBER_DOUBLE_LIST": .double
        default: FieldType(rawValue: String(type.dropLast(listSuffix.count)))
        }
    }

    private static func convert(_ value: FieldValue, to type: String) -> FieldValue? {
        switch (value, type) {
        case (.int64(let number), FieldType.timestamp.rawValue): .timestamp(number)
        case (.int64(let number), FieldType.double.rawValue): .double(Double(number))
        // Clients without 64-bit integers send numbers as strings.
        case (.string(let text), FieldType.int64.rawValue): Int64(text).map { .int64($0) }
        case (.string(let text), FieldType.timestamp.rawValue): Int64(text).map { .timestamp($0) }
        case (.string(let text), FieldType.double.rawValue): Double(text).map { .double($0) }
        // Clients that know the schema leave the type out.
        case (.string(let text), FieldType.bytes.rawValue): Base64.decode(text).map { .bytes($0) }
        case (.double(let number), FieldType.int64.rawValue): Int64(exactly: number).map { .int64($0) }
        case (.double(let number), FieldType.timestamp.rawValue): Int64(exactly: number).map { .timestamp($0) }
        case (.int64, _) where type.hasPrefix("NUMBER") && !type.hasSuffix(listSuffix): value
        case (.double, _) where type.hasPrefix("NUMBER") && !type.hasSuffix(listSuffix): value
        case (.list(_, of: .int64), _) where type.hasPrefix("NUMBER") && type.hasSuffix(listSuffix): value
        case (.list(_, of: .double), _) where type.hasPrefix("NUMBER") && type.hasSuffix(listSuffix): value
        case (.list(let elements, of: _?), _) where type.hasSuffix(listSuffix):
            FieldType(rawValue: String(type.dropLast(listSuffix.count))).flatMap { list(elements, of: $0) }
        default: nil
        }
    }

    /// - Returns: Nil if one of the elements cannot be converted.
    private static func list(_ elements: [FieldValue], of type: FieldType) -> FieldValue? {
        var converted: [FieldValue] = []
        for element in elements {
            guard let value = convert(element, to: type.rawValue) else { return nil }
            converted.append(value)
        }
        return .list(converted, of: type)
    }
}
