// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The two keys of a filter or sort, one of which names the field.
private struct FieldKeys {
    var key: QueryKey?

    mutating func decode(_ key: JSONKey, from reader: inout JSONReader) throws(JSONFault) -> Bool {
        switch key {
        case "fieldName": self.key = QueryKey(fieldName: try reader.readString())
        case "systemFieldName":
            self.key = .system(try reader.readChoice(orFault: "the systemFieldName is unknown"))
        default: return false
        }
        return true
    }
}

extension QueryKey {
    fileprivate func writeMember(to writer: inout JSONWriter) {
        switch self {
        case .field(let name): writer.member("fieldName", name)
        case .system(let field): writer.member("systemFieldName", field.rawValue)
        case .allSearchable: break
        }
    }
}

extension QueryFilter: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var field = FieldKeys()
        var comparator: Comparator?
        var value: FieldValue?
        var distance: Double?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            if try field.decode(key, from: &reader) { continue }
            switch key {
            case "comparator":
                let offset = try reader.next()
                comparator = try Comparator(name: try reader.readString()).required("the comparator is unknown", at: offset)
            case "fieldValue": value = try Field(from: &reader).value
            case "distance": distance = try reader.readDouble()
            default: try reader.skipValue()
            }
        }
        let chosen = try comparator.required("the filter has no comparator", at: start)
        if field.key == nil, chosen == .containsAllTokens || chosen == .containsAnyTokens { field.key = .allSearchable }
        self.init(
            try field.key.required("the filter has no fieldName", at: start), chosen, value, distance: distance)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            key.writeMember(to: &writer)
            writer.member("comparator", comparator.rawValue)
            if let value { writer.member("fieldValue", Field(value)) }
            writer.member("distance", distance)
        }
    }
}

extension QuerySort: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var field = FieldKeys()
        var ascending = true
        var location: RecordLocation?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            if try field.decode(key, from: &reader) { continue }
            switch key {
            case "ascending": ascending = try reader.readFlag()
            case "relativeLocation": location = try reader.readLocation()
            default: try reader.skipValue()
            }
        }
        self.init(
            try field.key.required("the sort has no fieldName", at: start), ascending: ascending,
            relativeLocation: location)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            key.writeMember(to: &writer)
            writer.member("ascending", ascending)
            if let relativeLocation { writer.member("relativeLocation", Field(.location(relativeLocation))) }
        }
    }
}

extension JSONReader {
    /// Reads a location, as a field dictionary or bare.
    fileprivate mutating func readLocation() throws(JSONFault) -> RecordLocation {
        let start = try next()
        var look = self
        try look.beginObject()
        while let key = try look.nextKey() {
            if "latitude" ~= key { return try RecordLocation(from: &self) }
            try look.skipValue()
        }
        guard case .location(let location) = try Field(from: &self).value else {
            throw JSONFault("expected a location", at: start)
        }
        return location
    }
}

extension Query: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var recordType: String?
        self.init(recordType: "")
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordType": recordType = try reader.readString()
            case "filterBy": filters = try reader.readArrayOrOne()
            case "sortBy": sorts = try reader.readArrayOrOne()
            default: try reader.skipValue()
            }
        }
        self.recordType = try recordType.required("the query has no recordType", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("recordType", recordType)
            if !filters.isEmpty { writer.member("filterBy", filters) }
            if !sorts.isEmpty { writer.member("sortBy", sorts) }
        }
    }
}
