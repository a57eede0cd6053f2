// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension RecordOperation: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var kind: Kind?
        var record: Record?
        var desiredKeys: [String]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "operationType": kind = try reader.readChoice(orFault: "the operationType is unknown")
            case "record": record = try Record(from: &reader)
            case "desiredKeys": desiredKeys = try reader.readStrings()
            default: try reader.skipValue()
            }
        }
        self.init(
            try kind.required("the operation has no operationType", at: start),
            try record.required("the operation has no record", at: start), desiredKeys: desiredKeys)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("operationType", kind.rawValue)
            writer.member("record", record)
            writer.member("desiredKeys", desiredKeys)
        }
    }
}

extension ModifyRecordsRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var operations: [RecordOperation]?
        var named: ZoneID?
        self.init(operations: [])
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "operations": operations = try reader.readArray()
            case "zoneID": named = try ZoneID(from: &reader)
            case "atomic": atomic = try reader.readFlag()
            case "desiredKeys": desiredKeys = try reader.readStrings()
            case "numbersAsStrings": numbersAsStrings = try reader.readFlag()
            case "clientChangeToken": clientChangeToken = try reader.readBase64()
            case "saveGroup": saveGroup = try SaveGroup(from: &reader)
            case "historyToken": historyToken = try reader.readString()
            default: try reader.skipValue()
            }
        }
        self.operations = try operations.required("the request has no operations", at: start)
        // Some clients name the zone in each record instead.
        zoneID = named ?? self.operations.lazy.compactMap(\.record.zoneID).first ?? .defaultZone
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zoneID", zoneID)
            writer.member("atomic", atomic)
            writer.member("desiredKeys", desiredKeys)
            if numbersAsStrings { writer.member("numbersAsStrings", true) }
            if let clientChangeToken {
                writer.key("clientChangeToken")
                writer.base64(clientChangeToken)
            }
            writer.member("saveGroup", saveGroup)
            writer.member("historyToken", historyToken)
            writer.member("operations", operations)
        }
    }
}

extension ModifyRecordsResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        let response = try reader.readRecordsResponse()
        self.init(results: response.results, syncToken: response.syncToken, nextSyncToken: response.nextSyncToken)
        saveGroup = response.saveGroup
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("records", results)
            writer.member("syncToken", syncToken)
            writer.member("nextSyncToken", nextSyncToken)
            writer.member("saveGroup", saveGroup)
        }
    }
}

extension LookupRecordsRequest.Item: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var recordName: String?
        var zoneID: ZoneID?
        var desiredKeys: [String]?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": recordName = try reader.readString()
            case "zoneID": zoneID = try ZoneID(from: &reader)
            case "desiredKeys": desiredKeys = try reader.readStrings()
            default: try reader.skipValue()
            }
        }
        self.init(
            recordName: try recordName.required("the record has no recordName", at: start), desiredKeys: desiredKeys)
        self.zoneID = zoneID
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("recordName", recordName)
            writer.member("zoneID", zoneID)
            writer.member("desiredKeys", desiredKeys)
        }
    }
}

extension LookupRecordsRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var records: [Item]?
        var named: ZoneID?
        self.init(recordNames: [])
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "records": records = try reader.readArray()
            case "zoneID": named = try ZoneID(from: &reader)
            case "desiredKeys": desiredKeys = try reader.readStrings()
            case "numbersAsStrings": numbersAsStrings = try reader.readFlag()
            default: try reader.skipValue()
            }
        }
        self.records = try records.required("the request has no records", at: start)
        zoneID = named ?? self.records.lazy.compactMap(\.zoneID).first ?? .defaultZone
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zoneID", zoneID)
            writer.member("desiredKeys", desiredKeys)
            if numbersAsStrings { writer.member("numbersAsStrings", true) }
            writer.member("records", records)
        }
    }
}

extension LookupRecordsResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        let response = try reader.readRecordsResponse()
        self.init(results: response.results, syncToken: response.syncToken)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("records", results)
            writer.member("syncToken", syncToken)
        }
    }
}

extension JSONReader {
    fileprivate mutating func readRecordsResponse() throws(JSONFault) -> (
        results: [RecordResult], syncToken: String?, nextSyncToken: String?, saveGroup: SaveGroupState?
    ) {
        var results: [RecordResult]?
        var token: String?
        var next: String?
        var group: SaveGroupState?
        let start = try beginObject()
        while let key = try nextKey() {
            switch key {
            case "records": results = try readArray()
            case "syncToken": token = try readString()
            case "nextSyncToken": next = try readString()
            case "saveGroup": group = try SaveGroupState(from: &self)
            default: try skipValue()
            }
        }
        return (try results.required("the response has no records", at: start), token, next, group)
    }

    /// Reads an object with one relevant key, an array.
    mutating func readList<Element: WireMessage>(
        _ name: StaticString, orFault message: StaticString
    ) throws(JSONFault) -> [Element] {
        try readMember(name, orFault: message) { reader throws(JSONFault) in try reader.readArray() }
    }

    /// Reads an object with one relevant key, a string.
    mutating func readText(_ name: StaticString, orFault message: StaticString) throws(JSONFault) -> String {
        try readMember(name, orFault: message) { reader throws(JSONFault) in try reader.readString() }
    }

    private mutating func readMember<Value>(
        _ name: StaticString, orFault message: StaticString, _ read: (inout JSONReader) throws(JSONFault) -> Value
    ) throws(JSONFault) -> Value {
        var value: Value?
        let start = try beginObject()
        while let key = try nextKey() {
            if name ~= key {
                value = try read(&self)
            } else {
                try skipValue()
            }
        }
        return try value.required(message, at: start)
    }
}
