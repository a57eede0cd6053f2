// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension RecordChangesRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        // The keys of a zone's entry, at the top level.
        var zone = try ZoneChangesQuery(from: &reader)
        let numbersAsStrings = zone.numbersAsStrings ?? false
        zone.numbersAsStrings = nil
        self.init(zone: zone, numbersAsStrings: numbersAsStrings)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            zone.writeMembers(to: &writer)
            if numbersAsStrings { writer.member("numbersAsStrings", true) }
        }
    }
}

extension RecordChangesResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var records: [Record]?
        var token: String?
        self.init(records: [], syncToken: "", moreComing: false)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "records": records = try reader.readArray()
            case "syncToken": token = try reader.readString()
            case "moreComing": moreComing = try reader.readFlag()
            case "reverse": reverse = try reader.readFlag()
            default: try reader.skipValue()
            }
        }
        self.records = try records.required("the response has no records", at: start)
        syncToken = try token.required("the response has no syncToken", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("records", records)
            writer.member("syncToken", syncToken)
            writer.member("moreComing", moreComing)
            if reverse { writer.member("reverse", true) }
        }
    }
}

extension ChangedZonesRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "metaSyncToken": metaSyncToken = try reader.readString()
            case "resultsLimit": resultsLimit = try reader.readInt()
            default: try reader.skipValue()
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("metaSyncToken", metaSyncToken)
            writer.member("resultsLimit", resultsLimit)
        }
    }
}

extension ChangedZonesResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var token: String?
        self.init(zones: [], metaSyncToken: "", moreComing: false)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zones": zones = try reader.readArray()
            case "metaSyncToken": token = try reader.readString()
            case "moreComing": moreComing = try reader.readFlag()
            default: try reader.skipValue()
            }
        }
        metaSyncToken = try token.required("the response has no metaSyncToken", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zones", zones)
            writer.member("metaSyncToken", metaSyncToken)
            writer.member("moreComing", moreComing)
        }
    }
}

extension RereferenceAssetsRequest.Item: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var recordName: String?
        var fieldName: String?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": recordName = try reader.readString()
            case "fieldName": fieldName = try reader.readString()
            default: try reader.skipValue()
            }
        }
        self.init(
            recordName: try recordName.required("the asset has no recordName", at: start),
            fieldName: try fieldName.required("the asset has no fieldName", at: start))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("recordName", recordName)
            writer.member("fieldName", fieldName)
        }
    }
}

extension RereferenceAssetsRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var assets: [Item]?
        self.init(assets: [])
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "assets": assets = try reader.readArray()
            case "zoneID": zoneID = try ZoneID(from: &reader)
            default: try reader.skipValue()
            }
        }
        self.assets = try assets.required("the request has no assets", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zoneID", zoneID)
            writer.member("assets", assets)
        }
    }
}

extension RereferenceAssetsResponse.Result: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        guard try reader.peek() == .object else {
            self = .list(try reader.readArray())
            return
        }
        var recordName = ""
        var fieldName = ""
        var error = ErrorKeys()
        var look = reader
        try look.beginObject()
        while let key = try look.nextKey() {
            if try error.decode(key, from: &look) { continue }
            switch key {
            case "recordName": recordName = try look.readString()
            case "fieldName": fieldName = try look.readString()
            default: try look.skipValue()
            }
        }
        guard let error = error.error else {
            self = .asset(try AssetValue(from: &reader))
            return
        }
        reader = look
        self = .failure(recordName: recordName, fieldName: fieldName, error)
    }

    package func write(to writer: inout JSONWriter) {
        switch self {
        case .asset(let asset): asset.write(to: &writer)
        case .list(let assets): writer.array(assets) { $1.write(to: &$0) }
        case .failure(let recordName, let fieldName, let error):
            writer.object { writer in
                writer.member("recordName", recordName)
                writer.member("fieldName", fieldName)
                error.writeMembers(to: &writer)
            }
        }
    }
}

extension RereferenceAssetsResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(assets: try reader.readList("assets", orFault: "the response has no assets"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("assets", assets) }
    }
}
