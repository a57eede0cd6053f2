// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension QueryRecordsRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var query: Query?
        self.init(query: Query(recordType: ""))
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "query": query = try Query(from: &reader)
            case "zoneID": zoneID = try ZoneID(from: &reader)
            case "zoneWide": zoneWide = try reader.readFlag()
            case "resultsLimit": resultsLimit = try reader.readInt()
            case "continuationMarker": continuationMarker = try reader.readString()
            case "desiredKeys": desiredKeys = try reader.readStrings()
            case "numbersAsStrings": numbersAsStrings = try reader.readFlag()
            default: try reader.skipValue()
            }
        }
        self.query = try query.required("the request has no query", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zoneID", zoneID)
            if zoneWide { writer.member("zoneWide", true) }
            writer.member("resultsLimit", resultsLimit)
            writer.member("continuationMarker", continuationMarker)
            writer.member("desiredKeys", desiredKeys)
            if numbersAsStrings { writer.member("numbersAsStrings", true) }
            writer.member("query", query)
        }
    }
}

extension QueryRecordsResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var results: [RecordResult]?
        self.init(results: [])
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "records": results = try reader.readArray()
            case "continuationMarker": continuationMarker = try reader.readString()
            case "syncToken": syncToken = try reader.readString()
            default: try reader.skipValue()
            }
        }
        self.results = try results.required("the response has no records", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("records", results)
            writer.member("continuationMarker", continuationMarker)
            writer.member("syncToken", syncToken)
        }
    }
}
