// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension PushNotification: WireMessage {
    /// The keys of `ck.met`, `ck.fet` and `ck.qry`.
    private struct SubjectKeys {
        var subscriptionID: String?
        var recordName: String?
        var zoneName: String?
        var zoneOwner: String?
        var scope: DatabaseScope?
        var reason: Reason?
        var fields: [String: FieldValue] = [:]

        init(from reader: inout JSONReader) throws(JSONFault) {
            try reader.beginObject()
            while let key = try reader.nextKey() {
                let start = try reader.next()
                switch key {
                case "sid": subscriptionID = try reader.readString()
                case "rid": recordName = try reader.readString()
                case "zid": zoneName = try reader.readString()
                case "zoid": zoneOwner = try reader.readString()
                case "dbs":
                    scope = DatabaseScope(number: try reader.readInt())
                    guard scope != nil else { throw JSONFault("the database is not 1, 2 or 3", at: start) }
                case "fo":
                    reason = Reason(rawValue: try reader.readInt())
                    guard reason != nil else { throw JSONFault("the reason is not 1, 2 or 3", at: start) }
                case "af":
                    try reader.beginObject()
                    while let key = try reader.nextKey() { fields[key.text] = try FieldValue(inferredFrom: &reader) }
                default: try reader.skipValue()
                }
            }
        }

        func zoneID(at start: Int) throws(JSONFault) -> ZoneID {
            ZoneID(
                zoneName: try zoneName.required("the notification has no zid", at: start), ownerRecordName: zoneOwner)
        }
    }

    package init(from reader: inout JSONReader) throws(JSONFault) {
        var isContentAvailable = false
        var shown = Alert()
        var changes: PushedChanges?
        self.init(notificationID: "", containerIdentifier: "", subscriptionID: "", subject: .database(.private))
        var hasBody = false
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "aps":
                try reader.beginObject()
                while let key = try reader.nextKey() {
                    switch key {
                    case "content-available": isContentAvailable = try reader.readFlag()
                    case "alert": try shown.readText(from: &reader)
                    case "sound": shown.soundName = try reader.readString()
                    case "category": shown.category = try reader.readString()
                    default: try reader.skipValue()
                    }
                }
            case "ck":
                try readBody(from: &reader)
                hasBody = true
            case "changes": changes = try PushedChanges(from: &reader)
            default: try reader.skipValue()
            }
        }
        guard hasBody else { throw JSONFault("the notification has no ck", at: start) }
        self.isContentAvailable = isContentAvailable
        alert = shown == Alert() ? nil : shown
        self.changes = changes
    }

    private mutating func readBody(from reader: inout JSONReader) throws(JSONFault) {
        var database: SubjectKeys?
        var zone: SubjectKeys?
        var query: SubjectKeys?
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "cid": containerIdentifier = try reader.readString()
            case "nid": notificationID = try reader.readString()
            case "ckuserid": userRecordName = try reader.readString()
            case "p": isPruned = try reader.readFlag()
            case "met": database = try SubjectKeys(from: &reader)
            case "fet": zone = try SubjectKeys(from: &reader)
            case "qry": query = try SubjectKeys(from: &reader)
            default: try reader.skipValue()
            }
        }
        let keys = try (query ?? zone ?? database).required("the notification has no met, fet or qry", at: start)
        subscriptionID = keys.subscriptionID ?? ""
        let scope = try keys.scope.required("the notification has no dbs", at: start)
        if query != nil {
            var match = Match(
                recordName: try keys.recordName.required("the notification has no rid", at: start),
                zoneID: try keys.zoneID(at: start), scope: scope,
                reason: try keys.reason.required("the notification has no fo", at: start))
            match.fields = keys.fields
            subject = .query(match)
        } else if zone != nil {
            subject = .zone(try keys.zoneID(at: start), scope)
        } else {
            subject = .database(scope)
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.key("aps")
            writer.object { writer in
                alert?.write(to: &writer)
                if isContentAvailable { writer.member("content-available", 1) }
            }
            writer.key("ck")
            writer.object { writer in
                writer.member("ce", 2)
                writer.member("cid", containerIdentifier)
                writer.member("ckuserid", userRecordName)
                writer.member("nid", notificationID)
                if isPruned { writer.member("p", 1) }
                writeSubject(to: &writer)
            }
            writer.member("changes", changes)
        }
    }

    private func writeSubject(to writer: inout JSONWriter) {
        switch subject {
        case .database(let scope):
            writer.key("met")
            writer.object { writer in
                writer.member("sid", subscriptionID)
                writer.member("dbs", scope.number)
            }
        case .zone(let zoneID, let scope):
            writer.key("fet")
            writer.object { writer in
                writer.member("sid", subscriptionID)
                writer.member("zid", zoneID.zoneName)
                writer.member("zoid", zoneID.ownerRecordName)
                writer.member("dbs", scope.number)
            }
        case .query(let match):
            writer.key("qry")
            writer.object { writer in
                writer.member("sid", subscriptionID)
                writer.member("rid", match.recordName)
                writer.member("zid", match.zoneID.zoneName)
                writer.member("zoid", match.zoneID.ownerRecordName)
                writer.member("dbs", match.scope.number)
                writer.member("fo", match.reason.rawValue)
                guard !match.fields.isEmpty else { return }
                writer.key("af")
                writer.object { writer in
                    for (name, value) in match.fields.sorted(by: { $0.key < $1.key }) {
                        writer.key(name)
                        value.write(to: &writer)
                    }
                }
            }
        }
    }
}

extension PushNotification.Alert {
    /// Reads `aps.alert`: a string, or an object of parts.
    fileprivate mutating func readText(from reader: inout JSONReader) throws(JSONFault) {
        guard try reader.peek() == .object else {
            body = try reader.readString()
            return
        }
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "body": body = try reader.readString()
            case "loc-key": localizationKey = try reader.readString()
            case "loc-args": localizationArgs = try reader.readStrings()
            case "title": title = try reader.readString()
            case "title-loc-key": titleLocalizationKey = try reader.readString()
            case "title-loc-args": titleLocalizationArgs = try reader.readStrings()
            case "subtitle": subtitle = try reader.readString()
            case "subtitle-loc-key": subtitleLocalizationKey = try reader.readString()
            case "subtitle-loc-args": subtitleLocalizationArgs = try reader.readStrings()
            case "action-loc-key": actionLocalizationKey = try reader.readString()
            case "launch-image": launchImage = try reader.readString()
            default: try reader.skipValue()
            }
        }
    }

    /// Writes the members of `aps`.
    fileprivate func write(to writer: inout JSONWriter) {
        var text = PushNotification.Alert()
        text.body = body
        var withoutText = self
        (withoutText.soundName, withoutText.category) = (nil, nil)
        if withoutText == text {
            writer.member("alert", body)
        } else {
            writer.key("alert")
            writer.object { writer in
                writer.member("body", body)
                writer.member("loc-key", localizationKey)
                writer.member("loc-args", localizationArgs)
                writer.member("title", title)
                writer.member("title-loc-key", titleLocalizationKey)
                writer.member("title-loc-args", titleLocalizationArgs)
                writer.member("subtitle", subtitle)
                writer.member("subtitle-loc-key", subtitleLocalizationKey)
                writer.member("subtitle-loc-args", subtitleLocalizationArgs)
                writer.member("action-loc-key", actionLocalizationKey)
                writer.member("launch-image", launchImage)
            }
        }
        writer.member("sound", soundName)
        writer.member("category", category)
    }
}
