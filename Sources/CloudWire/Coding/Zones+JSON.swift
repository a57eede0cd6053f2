// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The keys of a zone dictionary.
struct ZoneKeys {
    var zoneID: ZoneID?
    var syncToken: String?
    var isDeleted = false
    var atomic = true
    var shareName: String?
    var deletionReason = ZoneDeletionReason.deleted

    mutating func decode(_ key: JSONKey, from reader: inout JSONReader) throws(JSONFault) -> Bool {
        switch key {
        case "zoneID": zoneID = try ZoneID(from: &reader)
        case "syncToken": syncToken = try reader.readString()
        case "deleted": isDeleted = try reader.readFlag()
        case "atomic": atomic = try reader.readFlag()
        case "share": shareName = try reader.readRecordName()
        // An unknown reason is read as a deletion.
        case "deletionReason": deletionReason = ZoneDeletionReason(rawValue: try reader.readString()) ?? .deleted
        default: return false
        }
        return true
    }
}

extension ZoneOperation: WireMessage {
    private enum Kind: String { case create, delete }

    package init(from reader: inout JSONReader) throws(JSONFault) {
        var kind: Kind?
        var zone = ZoneKeys()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "operationType": kind = try reader.readChoice(orFault: "the operationType is unknown")
            case "zone":
                try reader.beginObject()
                while let key = try reader.nextKey() {
                    if try !zone.decode(key, from: &reader) { try reader.skipValue() }
                }
            default: try reader.skipValue()
            }
        }
        let zoneID = try zone.zoneID.required("the operation has no zone.zoneID", at: start)
        switch try kind.required("the operation has no operationType", at: start) {
        case .create: self = .create(zoneID)
        case .delete: self = .delete(zoneID)
        }
    }

    package func write(to writer: inout JSONWriter) {
        let kind: Kind =
            switch self {
            case .create: .create
            case .delete: .delete
            }
        writer.object { writer in
            writer.member("operationType", kind.rawValue)
            writer.key("zone")
            writer.object { $0.member("zoneID", zoneID) }
        }
    }
}

extension ZonesModifyRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(operations: try reader.readList("operations", orFault: "the request has no operations"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("operations", operations) }
    }
}

extension ZonesLookupRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(zones: try reader.readList("zones", orFault: "the request has no zones"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("zones", zones) }
    }
}

extension ZoneResult: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var zone = ZoneKeys()
        var error = ErrorKeys()
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            if try zone.decode(key, from: &reader) { continue }
            if try error.decode(key, from: &reader) { continue }
            try reader.skipValue()
        }
        let zoneID = try zone.zoneID.required("the zone has no zoneID", at: start)
        if let error = error.error {
            self = .failure(zoneID, error)
        } else if zone.isDeleted {
            self = .deleted(zoneID)
        } else {
            self = .zone(
                Zone(zoneID: zoneID, syncToken: zone.syncToken, atomic: zone.atomic, shareName: zone.shareName))
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zoneID", zoneID)
            switch self {
            case .zone(let zone):
                writer.member("syncToken", zone.syncToken)
                writer.member("atomic", zone.atomic)
                if !writer.isDocumentedOnly { writer.member("share", zone.shareName.map { RecordName($0) }) }
            case .deleted: writer.member("deleted", true)
            case .failure(_, let error): error.writeMembers(to: &writer)
            }
        }
    }
}

extension ZonesResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var zones: [ZoneResult]?
        self.init(zones: [])
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "zones": zones = try reader.readArray()
            case "syncToken": syncToken = try reader.readString()
            case "moreComing": moreComing = try reader.readFlag()
            default: try reader.skipValue()
            }
        }
        self.zones = try zones.required("the response has no zones", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("zones", zones)
            writer.member("syncToken", syncToken)
            writer.member("moreComing", moreComing)
        }
    }
}
