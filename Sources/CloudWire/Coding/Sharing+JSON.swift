// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension ShareParticipant: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var identity: UserIdentity?
        self.init(identity: UserIdentity(userRecordName: ""), kind: .unknown, permission: .unknown)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "participantId": participantID = try reader.readString()
            case "userIdentity": identity = try UserIdentity(from: &reader)
            case "type": kind = Kind(rawValue: try reader.readString()) ?? .unknown
            case "permission": permission = SharePermission(rawValue: try reader.readString()) ?? .unknown
            case "acceptanceStatus": status = Status(rawValue: try reader.readString()) ?? .unknown
            case "dateAddedToShare": added = try reader.readMilliseconds()
            case "isApprovedRequester": isApprovedRequester = try reader.readFlag()
            case "isOneTimeURLParticipant": isOneTime = try reader.readFlag()
            case "oneTimeShortGUID": oneTimeGUID = try reader.readString()
            default: try reader.skipValue()
            }
        }
        if isOneTime, identity == nil { return }
        self.identity = try identity.required("the participant has no userIdentity", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("participantId", participantID)
            // An empty identity cannot be decoded again.
            if !isOneTime || identity != UserIdentity(userRecordName: "") { writer.member("userIdentity", identity) }
            writer.member("type", kind.rawValue)
            writer.member("permission", permission.rawValue)
            writer.member("acceptanceStatus", status.rawValue)
            writer.member("dateAddedToShare", added)
            if isApprovedRequester { writer.member("isApprovedRequester", true) }
            if isOneTime { writer.member("isOneTimeURLParticipant", true) }
            writer.member("oneTimeShortGUID", oneTimeGUID)
        }
    }
}

/// `forRecord`: the root of a share.
private struct ShareRoot: WireMessage {
    var recordName: String
    var recordChangeTag: String?

    init(recordName: String, recordChangeTag: String?) {
        self.recordName = recordName
        self.recordChangeTag = recordChangeTag
    }

    init(from reader: inout JSONReader) throws(JSONFault) {
        var recordName: String?
        var recordChangeTag: String?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordName": recordName = try reader.readString()
            case "recordChangeTag": recordChangeTag = try reader.readString()
            default: try reader.skipValue()
            }
        }
        self.init(
            recordName: try recordName.required("forRecord has no recordName", at: start),
            recordChangeTag: recordChangeTag)
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("recordName", recordName)
            writer.member("recordChangeTag", recordChangeTag)
        }
    }
}

extension ShareDetails {
    /// Reads the value of a key, if it is a key of a share. `owner` and `currentUserParticipant` repeat participants.
    mutating func decode(_ key: JSONKey, from reader: inout JSONReader) throws(JSONFault) -> Bool {
        switch key {
        case "forRecord":
            let root = try ShareRoot(from: &reader)
            (rootRecordName, rootRecordChangeTag) = (root.recordName, root.recordChangeTag)
        case "publicPermission": publicPermission = SharePermission(rawValue: try reader.readString()) ?? .unknown
        case "participants": participants = try reader.readArray()
        case "currentUserParticipant":
            currentParticipantID = try ShareParticipant(from: &reader).participantID
        case "allowsAccessRequests": allowsAccessRequests = try reader.readFlag()
        case "accessRequesters": requesters = try reader.readArray()
        case "blockedIdentities": blocked = try reader.readArray()
        case "denyRequesters": answers.denied = try reader.readStrings()
        case "blockRequesters": answers.blocked = try reader.readStrings()
        case "unblockIdentities": answers.unblocked = try reader.readStrings()
        default: return false
        }
        return true
    }

    func writeMembers(to writer: inout JSONWriter) {
        if let rootRecordName {
            writer.member("forRecord", ShareRoot(recordName: rootRecordName, recordChangeTag: rootRecordChangeTag))
        }
        writer.member("publicPermission", publicPermission.rawValue)
        writer.member("participants", participants)
        writer.member("owner", owner)
        writer.member("currentUserParticipant", currentParticipant)
        writer.member("allowsAccessRequests", allowsAccessRequests)
        if !requesters.isEmpty { writer.member("accessRequesters", requesters) }
        if !blocked.isEmpty { writer.member("blockedIdentities", blocked) }
        if !answers.denied.isEmpty { writer.member("denyRequesters", answers.denied) }
        if !answers.blocked.isEmpty { writer.member("blockRequesters", answers.blocked) }
        if !answers.unblocked.isEmpty { writer.member("unblockIdentities", answers.unblocked) }
    }
}

extension ShortGUID: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var value: String?
        self.init(value: "")
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "value": value = try reader.readString()
            case "shouldFetchRootRecord": shouldFetchRootRecord = try reader.readFlag()
            case "rootRecordDesiredKeys": rootRecordDesiredKeys = try reader.readStrings()
            default: try reader.skipValue()
            }
        }
        self.value = try value.required("the short GUID has no value", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("value", value)
            writer.member("shouldFetchRootRecord", shouldFetchRootRecord)
            writer.member("rootRecordDesiredKeys", rootRecordDesiredKeys)
        }
    }
}

extension ShortGUIDsRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(shortGUIDs: try reader.readList("shortGUIDs", orFault: "the request has no shortGUIDs"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("shortGUIDs", shortGUIDs) }
    }
}

extension ShortGUIDResult: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var error = ErrorKeys()
        var shortGUID = ShortGUID(value: "")
        var containerIdentifier = ""
        var environment = CloudEnvironment.development
        var scope = DatabaseScope.shared
        var zoneID: ZoneID?
        var rootRecordName: String?
        var rootRecord: Record?
        var share: Record?
        var owner: UserIdentity?
        var kind = ShareParticipant.Kind.unknown
        var permission = SharePermission.unknown
        var status = ShareParticipant.Status.unknown
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            if try error.decode(key, from: &reader) { continue }
            switch key {
            case "shortGUID": shortGUID = try ShortGUID(from: &reader)
            case "containerIdentifier": containerIdentifier = try reader.readString()
            case "environment":
                environment = CloudEnvironment(rawValue: try reader.readString().lowercased()) ?? .development
            case "databaseScope": scope = DatabaseScope(rawValue: try reader.readString().lowercased()) ?? .shared
            case "zoneID": zoneID = try ZoneID(from: &reader)
            case "rootRecordName": rootRecordName = try reader.readString()
            case "rootRecord": rootRecord = try Record(from: &reader)
            case "share": share = try Record(from: &reader)
            case "ownerIdentity": owner = try UserIdentity(from: &reader)
            case "participantType": kind = ShareParticipant.Kind(rawValue: try reader.readString()) ?? .unknown
            case "participantPermission": permission = SharePermission(rawValue: try reader.readString()) ?? .unknown
            case "participantStatus": status = ShareParticipant.Status(rawValue: try reader.readString()) ?? .unknown
            default: try reader.skipValue()
            }
        }
        if let error = error.error {
            self = .failure(shortGUID, error)
            return
        }
        self = .share(
            ShareMetadata(
                shortGUID: shortGUID, containerIdentifier: containerIdentifier, environment: environment, scope: scope,
                zoneID: try zoneID.required("the result has no zoneID", at: start), rootRecordName: rootRecordName,
                rootRecord: rootRecord, share: try share.required("the result has no share", at: start),
                owner: owner ?? UserIdentity(userRecordName: ""), participantKind: kind,
                participantPermission: permission, participantStatus: status))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch self {
            case .failure(let shortGUID, let error):
                writer.member("shortGUID", shortGUID)
                error.writeMembers(to: &writer)
            case .share(let metadata):
                writer.member("shortGUID", metadata.shortGUID)
                writer.member("containerIdentifier", metadata.containerIdentifier)
                writer.member("environment", metadata.environment.rawValue.uppercased())
                writer.member("databaseScope", metadata.scope.rawValue.uppercased())
                writer.member("zoneID", metadata.zoneID)
                writer.member("rootRecordName", metadata.rootRecordName)
                writer.member("rootRecord", metadata.rootRecord)
                writer.member("participantType", metadata.participantKind.rawValue)
                writer.member("participantPermission", metadata.participantPermission.rawValue)
                writer.member("participantStatus", metadata.participantStatus.rawValue)
                // An empty identity cannot be decoded again.
                if metadata.owner != UserIdentity(userRecordName: "") { writer.member("ownerIdentity", metadata.owner) }
                writer.member("share", metadata.share)
            }
        }
    }
}

extension AccessRequestResult: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var error = ErrorKeys()
        var shortGUID: ShortGUID?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            if try error.decode(key, from: &reader) { continue }
            switch key {
            case "shortGUID": shortGUID = try ShortGUID(from: &reader)
            default: try reader.skipValue()
            }
        }
        self.init(shortGUID: try shortGUID.required("the result has no shortGUID", at: start), error: error.error)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("shortGUID", shortGUID)
            error?.writeMembers(to: &writer)
        }
    }
}

extension AccessRequestsResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(results: try reader.readList("results", orFault: "the response has no results"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("results", results) }
    }
}

extension ShortGUIDsResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(results: try reader.readList("results", orFault: "the response has no results"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("results", results) }
    }
}
