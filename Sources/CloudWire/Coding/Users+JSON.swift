// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension NameComponents: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) { try self.init(from: &reader, isPhonetic: false) }

    private init(from reader: inout JSONReader, isPhonetic: Bool) throws(JSONFault) {
        self.init()
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "phoneticRepresentation" where !isPhonetic:
                phoneticRepresentation = try NameComponents(from: &reader, isPhonetic: true)
            case "namePrefix": namePrefix = try reader.readString()
            case "givenName": givenName = try reader.readString()
            case "middleName": middleName = try reader.readString()
            case "familyName": familyName = try reader.readString()
            case "nameSuffix": nameSuffix = try reader.readString()
            case "nickname": nickname = try reader.readString()
            default: try reader.skipValue()
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("namePrefix", namePrefix)
            writer.member("givenName", givenName)
            writer.member("middleName", middleName)
            writer.member("familyName", familyName)
            writer.member("nameSuffix", nameSuffix)
            writer.member("nickname", nickname)
            writer.member("phoneticRepresentation", phoneticRepresentation)
        }
    }
}

/// The keys of a lookup info dictionary. An empty one is of a user that cannot be looked up.
private struct LookupKeys: WireMessage {
    var info: LookupInfo?

    init(_ info: LookupInfo?) {
        self.info = info
    }

    init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(nil)
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "emailAddress": info = .emailAddress(try reader.readString())
            case "phoneNumber": info = .phoneNumber(try reader.readString())
            case "userRecordName": info = .userRecordName(try reader.readString())
            default: try reader.skipValue()
            }
        }
    }

    func write(to writer: inout JSONWriter) {
        writer.object { writer in
            switch info {
            case .emailAddress(let address): writer.member("emailAddress", address)
            case .phoneNumber(let number): writer.member("phoneNumber", number)
            case .userRecordName(let name): writer.member("userRecordName", name)
            case nil: break
            }
        }
    }
}

extension LookupInfo: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        let start = reader.index
        self = try LookupKeys(from: &reader).info.required(
            "the lookup info has no emailAddress, phoneNumber or userRecordName", at: start)
    }

    package func write(to writer: inout JSONWriter) { LookupKeys(self).write(to: &writer) }
}

extension UserIdentity: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var userRecordName: String?
        var users: [UserIdentity] = []
        self.init(userRecordName: "")
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "userRecordName": userRecordName = try reader.readString()
            case "nameComponents": name = try NameComponents(from: &reader)
            case "lookupInfo": lookupInfo = try LookupKeys(from: &reader).info
            case "users": users = try reader.readArray()
            default: try reader.skipValue()
            }
        }
        if userRecordName == nil, let first = users.first {
            self = first
            return
        }
        if userRecordName == nil, lookupInfo != nil || !name.isEmpty { userRecordName = "" }
        self.userRecordName = try userRecordName.required("the user has no userRecordName", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writeMembers(to: &$0) }
    }

    func writeMembers(to writer: inout JSONWriter) {
        // An object without members has no identity, and cannot be decoded.
        if !userRecordName.isEmpty || name.isEmpty && lookupInfo == nil { writer.member("userRecordName", userRecordName) }
        if !name.isEmpty { writer.member("nameComponents", name) }
        writer.member("lookupInfo", lookupInfo)
    }
}

extension DiscoverUsersRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(lookupInfos: try reader.readList("lookupInfos", orFault: "the request has no lookupInfos"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("lookupInfos", lookupInfos) }
    }
}

extension UserIdentitiesResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(users: try reader.readList("users", orFault: "the response has no users"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("users", users) }
    }
}

extension UserDictionary: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var userRecordName: String?
        self.init(userRecordName: "")
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "userRecordName": userRecordName = try reader.readString()
            case "firstName": firstName = try reader.readString()
            case "lastName": lastName = try reader.readString()
            case "emailAddress": emailAddress = try reader.readString()
            case "quota": quota = try QuotaStatus(from: &reader)
            default: try reader.skipValue()
            }
        }
        self.userRecordName = try userRecordName.required("the user has no userRecordName", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("userRecordName", userRecordName)
            writer.member("firstName", firstName)
            writer.member("lastName", lastName)
            writer.member("emailAddress", emailAddress)
            writer.member("quota", quota)
        }
    }
}

extension LookupUsersRequest: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(users: try reader.readList("users", orFault: "the request has no users"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("users", users) }
    }
}

extension UserDictionariesResponse: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        self.init(users: try reader.readList("users", orFault: "the response has no users"))
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { $0.member("users", users) }
    }
}
