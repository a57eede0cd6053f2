// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension Record: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(recordName: "")
        try reader.beginObject()
        while let key = try reader.nextKey() {
            if try !decode(key, from: &reader) { try reader.skipValue() }
        }
    }

    /// Reads the value of a key, if it is a key of a record.
    mutating func decode(_ key: JSONKey, from reader: inout JSONReader) throws(JSONFault) -> Bool {
        switch key {
        case "recordName": recordName = try reader.readString()
        case "recordType": recordType = try reader.readString()
        case "recordChangeTag": recordChangeTag = try reader.readString()
        case "fields": try readFields(from: &reader)
        case "created": created = try RecordStamp(from: &reader)
        case "modified": modified = try RecordStamp(from: &reader)
        case "zoneID": zoneID = try ZoneID(from: &reader)
        case "deleted": isDeleted = try reader.readFlag()
        case "parent": sharing.parent = try reader.readRecordName()
        case "share": sharing.share = try reader.readRecordName()
        case "shortGUID": sharing.shortGUID = try reader.readString()
        case "createShortGUID": sharing.createsShortGUID = try reader.readFlag()
        case "forRecord", "publicPermission", "participants", "currentUserParticipant", "allowsAccessRequests",
            "accessRequesters", "blockedIdentities", "denyRequesters", "blockRequesters", "unblockIdentities":
            var details = sharing.details ?? ShareDetails(publicPermission: .unknown)
            _ = try details.decode(key, from: &reader)
            sharing.details = details
        default: return false
        }
        return true
    }

    /// Members that the live service writes in every existing record.
    ///
    /// Source: public reports.
    static let liveKeys: StaticString = #""deleted":false,"pluginFields":{}"#

    private mutating func readFields(from reader: inout JSONReader) throws(JSONFault) {
        try reader.beginObject()
        // Growing from empty would cost a third of the time of reading the fields.
        if fields.isEmpty { fields.reserveCapacity(6) }
        while let key = try reader.nextKey(skipsNull: false) {
            let name = key.text
            fields[name] = try reader.readNull() ? Field(nil) : try Field(from: &reader)
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            if !recordName.isEmpty { writer.member("recordName", recordName) }
            if isDeleted, writer.isDocumentedOnly { return writer.member("deleted", true) }
            if !recordType.isEmpty { writer.member("recordType", recordType) }
            writer.member("recordChangeTag", recordChangeTag)
            writer.member("zoneID", zoneID)
            writer.member("created", created)
            writer.member("modified", modified)
            guard !isDeleted else { return writer.member("deleted", true) }
            if writer.hasLiveKeys { writer.raw(members: Record.liveKeys) }
            if sharingIsPresent { write(sharing, to: &writer) }
            writer.key("fields")
            writer.object { writer in
                for (name, field) in fields.sorted(by: { $0.key < $1.key }) {
                    writer.key(name)
                    field.write(to: &writer)
                }
            }
        }
    }
}

extension Record {
    private func write(_ sharing: RecordSharing, to writer: inout JSONWriter) {
        writer.member("parent", sharing.parent.map { RecordName($0, in: nil) })
        writer.member("share", sharing.share.map { RecordName($0, in: zoneID) })
        writer.member("shortGUID", sharing.shortGUID)
        if sharing.createsShortGUID { writer.member("createShortGUID", true) }
        sharing.details?.writeMembers(to: &writer)
    }
}

/// `{"recordName": …}`, the short form of a reference.
struct RecordName: WireMessage {
    var recordName: String
    var zoneID: ZoneID?

    init(_ recordName: String, in zoneID: ZoneID? = nil) {
        self.recordName = recordName
        self.zoneID = zoneID
    }

    init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(try reader.readRecordName(), in: nil)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("recordName", recordName)
            writer.member("zoneID", zoneID)
        }
    }
}

extension JSONReader {
    /// Reads the name of a reference, and skips its other members.
    mutating func readRecordName() throws(JSONFault) -> String {
        var recordName: String?
        let start = try beginObject()
        while let key = try nextKey() {
            switch key {
            case "recordName": recordName = try readString()
            default: try skipValue()
            }
        }
        return try recordName.required("the reference has no recordName", at: start)
    }
}

extension RecordResult: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var record = Record(recordName: "")
        var error = ErrorKeys()
        var serverRecord: Record?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            if try record.decode(key, from: &reader) { continue }
            if try error.decode(key, from: &reader) { continue }
            switch key {
            case "serverRecord": serverRecord = try Record(from: &reader)
            default: try reader.skipValue()
            }
        }
        if let error = error.error {
            self = .failure(recordName: record.recordName, error, serverRecord: serverRecord)
            return
        }
        guard !record.recordName.isEmpty else { throw JSONFault("the record has no recordName", at: start) }
        self = .record(record)
    }

    package func write(to writer: inout JSONWriter) {
        switch self {
        case .record(let record): record.write(to: &writer)
        case .failure(let recordName, let error, let serverRecord):
            writer.object { writer in
                writer.member("recordName", recordName)
                error.writeMembers(to: &writer)
                writer.member("serverRecord", serverRecord)
            }
        }
    }
}
