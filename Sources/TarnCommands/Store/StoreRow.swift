// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import SQLiteStore

/// A row with its relationships, as `tarn store browse` and `tarn store export` print it.
///
///     {"entity":"Car","id":"Car/p7","attributes":{"maker":"FIAT"},"relationships":{"owner":"Person/p3"}}
///
/// Dates are ISO 8601 in UTC, decimal numbers are texts, binary data is base64; nil is null. To-many relationships are
/// lists, in their order if they have one, else by key.
struct StoreRow {
    let entity: ResolvedEntity
    let row: Row
    /// Keys by to-many relationship; nil if they were not read.
    let members: [[RowKey]]?
    let model: ResolvedModel

    init(_ row: Row, _ model: ResolvedModel, readingMembers reader: StoreReader?) throws {
        (self.row, self.model) = (row, model)
        let entity = model.entities[row.key.entityIndex]
        members = try reader.map { reader in
            try entity.toMany.indices.map { try reader.destinations(of: row.key, toMany: $0) }
        }
        self.entity = entity
    }

    var id: String { text(of: row.key) }

    /// `Car/p7`: the end of the object's URI.
    func text(of key: RowKey) -> String { "\(model.entities[key.entityIndex].name)/p\(key.primaryKey)" }

    /// Attributes and to-one relationships in the order of their names, without transient ones.
    var slots: [(name: String, value: StoredValue)] {
        zip(entity.slots, row.values).filter { !$0.0.isTransient }.map { ($0.name, $1) }.sorted { $0.name < $1.name }
    }

    var json: String {
        var attributes: [String] = []
        var relationships: [(name: String, json: String)] = []
        for (slot, value) in zip(entity.slots, row.values) where !slot.isTransient {
            switch slot {
            case .attribute(let attribute):
                attributes.append("\(JSONText.string(attribute.name)):\(JSONText.value(value, isFlag: attribute.type == .boolean))")
            case .toOne(let relationship):
                relationships.append((relationship.name, value.reference.map { JSONText.string(text(of: $0)) } ?? "null"))
            }
        }
        for (relationship, keys) in zip(entity.toMany, members ?? []) {
            relationships.append((relationship.name, "[" + keys.map { JSONText.string(text(of: $0)) }.joined(separator: ",") + "]"))
        }
        relationships.sort { $0.name < $1.name }
        let links = relationships.map { "\(JSONText.string($0.name)):\($0.json)" }
        return """
            {"entity":\(JSONText.string(entity.name)),"id":\(JSONText.string(id)),\
            "attributes":{\(attributes.joined(separator: ","))},"relationships":{\(links.joined(separator: ","))}}
            """
    }

    /// The value as a person reads it; nil for nil.
    func plain(_ value: StoredValue) -> String? {
        switch value {
        case .null, .object: nil
        case .int(let number): "\(number)"
        case .double(let number): "\(number)"
        case .decimal(let number): "\(number)"
        case .string(let text), .url(let text): text
        case .date(let seconds): DateText.utc(seconds)
        case .data(let data): data.base64EncodedString()
        case .uuid(let identifier): identifier.uuidString
        case .reference(let key): text(of: key)
        }
    }
}

extension Slot {
    /// Not stored.
    var isTransient: Bool {
        switch self {
        case .attribute(let attribute): attribute.isTransient
        case .toOne(let relationship): relationship.declaration.isTransient
        }
    }
}

/// Writes JSON one value at a time, since an export may be large.
enum JSONText {
    static func value(_ value: StoredValue, isFlag: Bool = false) -> String {
        switch value {
        case .null, .object, .reference: "null"
        case .int(let number): isFlag && (number == 0 || number == 1) ? (number == 1 ? "true" : "false") : "\(number)"
        case .double(let number): number.isFinite ? "\(number)" : string("\(number)")
        case .decimal(let number): string("\(number)")
        case .string(let text), .url(let text): string(text)
        case .date(let seconds): string(DateText.utc(seconds))
        case .data(let data): string(data.base64EncodedString())
        case .uuid(let identifier): string(identifier.uuidString)
        }
    }

    /// Source: RFC 8259, section 7. Line separators are escaped, too: a row is one line for every reader.
    static func string(_ text: String) -> String {
        var json = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": json += "\\\""
            case "\\": json += "\\\\"
            case "\n": json += "\\n"
            case "\r": json += "\\r"
            case "\t": json += "\\t"
            case _ where scalar.value < 0x20 || (0x7F...0x9F).contains(scalar.value) || scalar == "\u{2028}" || scalar == "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                json += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: json.unicodeScalars.append(scalar)
            }
        }
        return json + "\""
    }
}

enum DateText {
    /// - Parameter seconds: Since 2001-01-01 00:00:00 UTC.
    /// - Returns: ISO 8601 with milliseconds; the number itself where no calendar has the date.
    static func utc(_ seconds: Double) -> String {
        // Years 0001 to 9999, which ISO 8601 writes with four digits.
        guard (-63_113_904_000.0..<252_423_993_600.0).contains(seconds) else { return "\(seconds)" }
        return Date(timeIntervalSinceReferenceDate: seconds).formatted(
            .iso8601.year().month().day().time(includingFractionalSeconds: true).timeZone(separator: .omitted))
    }
}

/// Escapes characters that move a terminal's cursor, change its colours or reverse text.
enum TerminalText {
    static func escaped(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) { escaped += "\\u{\(String(scalar.value, radix: 16))}" } else { escaped.unicodeScalars.append(scalar) }
        }
        return escaped
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse: true
        default: false
        }
    }
}
