// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension DatabaseChangesRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "syncToken": syncToken = try reader.readString()
            case "resultsLimit": resultsLimit = try reader.readInt()
            default: try reader.skipValue()
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("syncToken", syncToken)
            writer.member("resultsLimit", resultsLimit)
        }
    }
}

extension ZoneChange: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var keys = ZoneKeys()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            if try !keys.decode(key, from: &reader) { try reader.skipValue() }
        }
        self.init(
            zoneID: try keys.zoneID.required("the zone has no zoneID", at: start), syncToken: keys.syncToken,
            isDeleted: keys.isDeleted, atomic: keys.atomic, deletionReason: keys.deletionReason)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zoneID", zoneID)
            guard !isDeleted else {
                writer.member("deleted", true)
                if !writer.isDocumentedOnly { writer.member("deletionReason", deletionReason.wireValue) }
                return
            }
            writer.member("syncToken", syncToken)
            writer.member("atomic", atomic)
        }
    }
}

extension DatabaseChangesResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var token: String?
        self.init(zones: [], syncToken: "", moreComing: false)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zones": zones = try reader.readArray()
            case "syncToken": token = try reader.readString()
            case "moreComing": moreComing = try reader.readFlag()
            default: try reader.skipValue()
            }
        }
        syncToken = try token.required("the response has no syncToken", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zones", zones)
            writer.member("syncToken", syncToken)
            writer.member("moreComing", moreComing)
        }
    }
}

extension ZoneChangesQuery: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var zoneID: ZoneID?
        self.init(zoneID: .defaultZone)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zoneID": zoneID = try ZoneID(from: &reader)
            case "syncToken": syncToken = try reader.readString()
            case "savedSyncToken": savedSyncToken = try reader.readString()
            case "resultsLimit": resultsLimit = try reader.readInt()
            case "desiredKeys": desiredKeys = try reader.readStrings()
            case "desiredRecordTypes": desiredRecordTypes = try reader.readStrings()
            case "reverse": reverse = try reader.readFlag()
            case "numbersAsStrings", "numberAsStrings": numbersAsStrings = try reader.readFlag()
            default: try reader.skipValue()
            }
        }
        self.zoneID = try zoneID.required("the zone has no zoneID", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }

    func writeMembers(to writer: inout JSONWriter) {
        writer.member("zoneID", zoneID)
        writer.member("syncToken", syncToken)
        writer.member("savedSyncToken", savedSyncToken)
        writer.member("resultsLimit", resultsLimit)
        writer.member("desiredKeys", desiredKeys)
        writer.member("desiredRecordTypes", desiredRecordTypes)
        writer.member("reverse", reverse)
        writer.member("numbersAsStrings", numbersAsStrings)
    }
}

extension ZoneChangesRequest: WireMessage {
    /// A value that the request states for all its zones applies to each zone that states none.
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var zones: [ZoneChangesQuery]?
        var desiredKeys: [String]?
        var desiredRecordTypes: [String]?
        var reverse: Bool?
        self.init(zones: [])
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zones": zones = try reader.readArray()
            case "resultsLimit": resultsLimit = try reader.readInt()
            case "desiredKeys": desiredKeys = try reader.readStrings()
            case "desiredRecordTypes": desiredRecordTypes = try reader.readStrings()
            case "reverse": reverse = try reader.readFlag()
            // The documents have both spellings.
            case "numbersAsStrings", "numberAsStrings": numbersAsStrings = try reader.readFlag()
            default: try reader.skipValue()
            }
        }
        self.zones = try zones.required("the request has no zones", at: start).map { zone in
            var zone = zone
            zone.desiredKeys = zone.desiredKeys ?? desiredKeys
            zone.desiredRecordTypes = zone.desiredRecordTypes ?? desiredRecordTypes
            zone.reverse = zone.reverse ?? reverse
            return zone
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zones", zones)
            writer.member("resultsLimit", resultsLimit)
            if numbersAsStrings { writer.member("numbersAsStrings", true) }
        }
    }
}

extension ZoneChangesResult: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var zone = ZoneKeys()
        var error = ErrorKeys()
        var records: [Record] = []
        var moreComing = false
        var remaining: Int?
        var clientChangeToken: [UInt8]?
        var snapshot: SnapshotOffer?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            if try zone.decode(key, from: &reader) { continue }
            if try error.decode(key, from: &reader) { continue }
            switch key {
            case "records": records = try reader.readArray()
            case "moreComing": moreComing = try reader.readFlag()
            case "remaining": remaining = Int(try reader.readCount())
            case "clientChangeToken": clientChangeToken = try reader.readBase64()
            case "snapshot": snapshot = try SnapshotOffer(from: &reader)
            default: try reader.skipValue()
            }
        }
        let zoneID = try zone.zoneID.required("the zone has no zoneID", at: start)
        if let error = error.error {
            self = .failure(zoneID, error)
            return
        }
        let token = try zone.syncToken.required("the zone has no syncToken", at: start)
        var changes = ZoneChanges(
            zoneID: zoneID, records: records, remaining: remaining, syncToken: token, moreComing: moreComing)
        changes.clientChangeToken = clientChangeToken
        changes.snapshot = snapshot
        self = .changes(changes)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zoneID", zoneID)
            switch self {
            case .changes(let changes):
                writer.member("syncToken", changes.syncToken)
                writer.member("moreComing", changes.moreComing)
                writer.member("remaining", changes.remaining)
                if let token = changes.clientChangeToken {
                    writer.key("clientChangeToken")
                    writer.base64(token)
                }
                writer.member("snapshot", changes.snapshot)
                if let texts = changes.texts {
                    writer.key("records")
                    writer.array(written: texts.bytes)
                } else {
                    let numbersAsStrings = writer.numbersAsStrings
                    writer.numbersAsStrings = numbersAsStrings || changes.numbersAsStrings
                    writer.member("records", changes.records)
                    writer.numbersAsStrings = numbersAsStrings
                }
            case .failure(_, let error): error.writeMembers(to: &writer)
            }
        }
    }
}

extension ZoneChangesResult {
    /// Returns the change token of a page that others follow, without decoding the records behind it; nil for the last page, and for a
    /// text that cannot be read.
    package static func tokenIfMoreComing(json: [UInt8]) -> String? {
        json.withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes)
            return try? tokenIfMoreComing(&reader)
        }
    }

    private static func tokenIfMoreComing(_ reader: inout JSONReader) throws(JSONFault) -> String? {
        var token: String?, moreComing: Bool?
        try reader.beginObject()
        while moreComing != false, token == nil || moreComing == nil, let key = try reader.nextKey() {
            switch key {
            case "syncToken": token = try reader.readString()
            case "moreComing": moreComing = try reader.readFlag()
            default: try reader.skipValue()
            }
        }
        return moreComing == true ? token : nil
    }

    /// A page that others follow, of which no record is decoded.
    package struct Outline: Hashable, Sendable {
        package var syncToken: String
        package var recordCount: Int
        /// Whether a record has an asset, as far as the text shows.
        package var hasAssets: Bool
    }

    /// Returns the outline of a page that others follow; nil for the last page, and for a text that cannot be read.
    ///
    /// The text is JSON, but its records may be none.
    package static func outlineIfMoreComing(json: [UInt8]) -> Outline? {
        json.withUnsafeBufferPointer { bytes in
            var reader = JSONReader(bytes)
            return try? outlineIfMoreComing(&reader, hasAssets: AssetMark.occurs(in: UnsafeRawBufferPointer(bytes)))
        }
    }

    private static func outlineIfMoreComing(_ reader: inout JSONReader, hasAssets: Bool) throws(JSONFault) -> Outline? {
        var token: String?, moreComing = false, count = 0
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "syncToken": token = try reader.readString()
            case "moreComing": moreComing = try reader.readFlag()
            case "records":
                count = 0
                try reader.beginArray()
                while try reader.nextElement() {
                    try reader.skipValue()
                    count += 1
                }
            default: try reader.skipValue()
            }
        }
        try reader.expectEnd()
        guard moreComing, let token else { return nil }
        return Outline(syncToken: token, recordCount: count, hasAssets: hasAssets)
    }
}

extension ZoneChangesResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(zones: try reader.readList("zones", orFault: "the response has no zones"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("zones", zones) }
    }
}
