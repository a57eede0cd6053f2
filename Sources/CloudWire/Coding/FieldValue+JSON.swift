// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The `type` of a field on the wire: a type, or a list of it.
///
/// Source: *CloudKit Web Services Reference*, "Record Field Dictionary". Differs from its text: `ASSET` is read and
/// `ASSETID` written, as the live service does; `EMPTY_LIST` and `UNKNOWN_LIST` are lists of an unknown element type.
enum TypeTag {
    case one(FieldType)
    case list(FieldType?)

    init(from reader: inout JSONReader) throws(JSONFault) {
        let start = try reader.next()
        switch try reader.readToken() {
        case "STRING": self = .one(.string)
        case "INT64", "NUMBER_INT64": self = .one(.int64)
        case "TIMESTAMP": self = .one(.timestamp)
        case "DOUBLE", "NUMBER_DOUBLE": self = .one(.double)
        case "BYTES", "ENCRYPTED_BYTES": self = .one(.bytes)
        case "ASSETID", "ASSET": self = .one(.asset)
        case "REFERENCE": self = .one(.reference)
        case "LOCATION": self = .one(.location)
        case "STRING_LIST": self = .list(.string)
        case "INT64_LIST": self = .list(.int64)
        case "TIMESTAMP_LIST": self = .list(.timestamp)
        case "DOUBLE_LIST": self = .list(.double)
        case "BYTES_LIST": self = .list(.bytes)
        case "ASSETID_LIST", "ASSET_LIST": self = .list(.asset)
        case "REFERENCE_LIST": self = .list(.reference)
        case "LOCATION_LIST": self = .list(.location)
        case "EMPTY_LIST", "UNKNOWN_LIST": self = .list(nil)
        default: throw JSONFault("the type of the field is unknown", at: start)
        }
    }
}

extension FieldValue {
    init(_ tag: TypeTag, from reader: inout JSONReader) throws(JSONFault) {
        switch tag {
        case .one(let type): self = try FieldValue(type, from: &reader)
        case .list(let type?):
            let elements = try reader.readArray { (reader) throws(JSONFault) in try FieldValue(type, from: &reader) }
            self = .list(elements, of: type)
        case .list(nil): self = try FieldValue(inferredListFrom: &reader)
        }
    }

    private init(_ type: FieldType, from reader: inout JSONReader) throws(JSONFault) {
        let start = try reader.next()
        do throws(JSONFault) {
            try self.init(simple: type, from: &reader)
        } catch {
            guard let message = Self.faults[type] else { throw error }
            throw JSONFault(message, at: start)
        }
    }

    /// The live service's exact texts, which existing programs compare.
    ///
    /// Source: public reports.
    private static let faults: [FieldType: StaticString] = [
        .string: "Invalid value, expected type STRING", .int64: "Invalid value, expected type INT64",
        .double: "Invalid value, expected type DOUBLE", .timestamp: "Invalid value, expected type TIMESTAMP",
        .bytes: "Invalid value, expected type BYTES",
    ]

    private init(simple type: FieldType, from reader: inout JSONReader) throws(JSONFault) {
        switch type {
        case .string: self = .string(try reader.readString())
        case .int64:
            self = .int64(try reader.peek() == .bool ? try reader.readBool() ? 1 : 0 : try reader.readInt64())
        case .double: self = .double(try reader.readDouble())
        case .timestamp: self = .timestamp(try reader.readTimestamp())
        case .bytes: self = .bytes(try reader.readBase64())
        case .reference: self = .reference(try RecordReference(from: &reader))
        case .location: self = .location(try RecordLocation(from: &reader))
        case .asset: self = .asset(try AssetValue(from: &reader))
        }
    }

    /// Reads a value without a type. The JSON type decides, and for objects a key that only one type has.
    init(inferredFrom reader: inout JSONReader) throws(JSONFault) {
        let start = try reader.next()
        switch try reader.peek() {
        case .string: self = .string(try reader.readString())
        case .bool: self = .int64(try reader.readBool() ? 1 : 0)
        case .number:
            switch try reader.readNumber() {
            case .int(let value): self = .int64(value)
            case .double(let value): self = .double(value)
            }
        case .array: self = try FieldValue(inferredListFrom: &reader)
        case .object:
            var look = reader
            try look.beginObject()
            while let key = try look.nextKey() {
                switch key {
                case "recordName":
                    self = .reference(try RecordReference(from: &reader))
                    return
                case "latitude":
                    self = .location(try RecordLocation(from: &reader))
                    return
                case "fileChecksum":
                    self = .asset(try AssetValue(from: &reader))
                    return
                default: try look.skipValue()
                }
            }
            throw JSONFault("the object isn't a reference, location or asset", at: start)
        case .null: throw JSONFault("expected a value", at: start)
        }
    }

    private init(inferredListFrom reader: inout JSONReader) throws(JSONFault) {
        let start = try reader.next()
        var elements = try reader.readArray { (reader) throws(JSONFault) in
            guard try reader.peek() != .array else { throw JSONFault("a list holds a list", at: reader.index) }
            return try FieldValue(inferredFrom: &reader)
        }
        // Some clients write whole numbers without a fraction among others.
        if elements.contains(where: { $0.type == .double }) {
            for position in elements.indices {
                if case .int64(let value) = elements[position] { elements[position] = .double(Double(value)) }
            }
        }
        let type = elements.first?.type
        guard elements.allSatisfy({ $0.type == type }) else {
            throw JSONFault("a list holds values of different types", at: start)
        }
        self = .list(elements, of: type)
    }

    func writeType(to writer: inout JSONWriter) {
        switch self {
        case .list(_, of: nil): writer.value("EMPTY_LIST")
        case .list(_, of: let type?): writer.value(type.rawValue + "_LIST")
        case .string, .int64, .double, .timestamp, .bytes, .reference, .location, .asset:
            writer.value(type?.rawValue ?? "")
        }
    }

    func write(to writer: inout JSONWriter) {
        switch self {
        case .string(let text): writer.value(text)
        case .int64(let number), .timestamp(let number):
            if writer.numbersAsStrings { writer.value(String(number)) } else { writer.value(number) }
        case .double(let number):
            if writer.numbersAsStrings { writer.value(number.description) } else { writer.value(number) }
        case .bytes(let data): writer.base64(data)
        case .reference(let reference): reference.write(to: &writer)
        case .location(let location): location.write(to: &writer)
        case .asset(let asset): asset.write(to: &writer)
        case .list(let elements, _): writer.array(elements) { $1.write(to: &$0) }
        }
    }
}

extension Field: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var tag: TypeTag?
        var value: FieldValue?
        // A value that precedes its type is skipped, and read once the type is known.
        var untyped: JSONReader?
        var isEncrypted = false
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "type": tag = try TypeTag(from: &reader)
            case "value":
                if let tag {
                    value = try FieldValue(tag, from: &reader)
                } else {
                    untyped = reader
                    try reader.skipValue()
                }
            case "isEncrypted": isEncrypted = try reader.readFlag()
            default: try reader.skipValue()
            }
        }
        if value == nil, var untyped {
            if let tag {
                value = try FieldValue(tag, from: &untyped)
            } else {
                value = try FieldValue(inferredFrom: &untyped)
            }
        }
        self.init(value, isEncrypted: isEncrypted)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            if isEncrypted { writer.member("isEncrypted", true) }
            guard let value else {
                writer.key("value")
                writer.null()
                return
            }
            writer.key("type")
            value.writeType(to: &writer)
            writer.key("value")
            value.write(to: &writer)
        }
    }
}
