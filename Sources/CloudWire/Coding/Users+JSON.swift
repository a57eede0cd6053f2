// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension UserIdentity: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var userRecordName: String?
        var users: [UserIdentity] = []
        self.init(userRecordName: "")
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "userRecordName": userRecordName = try reader.readString()
            case "nameComponents": try readName(from: &reader)
            case "users": users = try reader.readArray()
            default: try reader.skipValue()
            }
        }
        if userRecordName == nil, let first = users.first {
            self = first
            return
        }
        self.userRecordName = try userRecordName.required("the user has no userRecordName", at: start)
    }

    private mutating func readName(from reader: inout JSONReader) throws(JSONFault) {
        try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "givenName": givenName = try reader.readString()
            case "familyName": familyName = try reader.readString()
            default: try reader.skipValue()
            }
        }
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("userRecordName", userRecordName)
            guard givenName != nil || familyName != nil else { return }
            writer.key("nameComponents")
            writer.object { writer in
                writer.member("givenName", givenName)
                writer.member("familyName", familyName)
            }
        }
    }
}
