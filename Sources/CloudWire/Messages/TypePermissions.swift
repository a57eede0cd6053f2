// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The caller's permissions for records of one type in the public database, by the roles of the schema: in the response
/// of `users/caller`, for clients that request the capability.
package struct TypePermissions: Hashable, Sendable {
    /// Which records the caller may change and delete.
    package enum Writing: String, Hashable, Sendable, CaseIterable {
        case all
        /// Those that the caller created.
        case own
        case none
    }

    package var recordType: String
    package var mayCreate: Bool
    package var writing: Writing

    package init(recordType: String, mayCreate: Bool, writing: Writing) {
        self.recordType = recordType
        self.mayCreate = mayCreate
        self.writing = writing
    }
}

extension TypePermissions: WireMessage {
    package init(from reader: inout JSONReader) throws(JSONFault) {
        var recordType: String?
        self.init(recordType: "", mayCreate: false, writing: .none)
        let start = try reader.beginObject()
        while let key = try reader.nextKey() {
            switch key {
            case "recordType": recordType = try reader.readString()
            case "create": mayCreate = try reader.readFlag()
            // An unknown value of a later server grants nothing.
            case "write": writing = Writing(rawValue: try reader.readString()) ?? .none
            default: try reader.skipValue()
            }
        }
        self.recordType = try recordType.required("the permissions have no recordType", at: start)
    }

    package func write(to writer: inout JSONWriter) {
        writer.object { writer in
            writer.member("recordType", recordType)
            writer.member("create", mayCreate)
            writer.member("write", writing.rawValue)
        }
    }
}
