// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// The record type of which every user has one record in the public database, named as the user. The server makes it;
/// its user may write fields of it; the type cannot be queried.
///
/// Source: *CloudKit Web Services Reference*, "Users"; the schema language's implicit field `roles`.
package enum UsersType {
    package static let name = "Users"
    /// Which roles a user has is the operator's to say.
    static let rolesField = "roles"

    /// Whether a text has the form of a user record name: `_` and 32 lower-case hexadecimal digits.
    package static func isUserRecordName(_ name: String) -> Bool {
        let bytes = name.utf8
        return bytes.count == 33 && bytes.first == UInt8(ascii: "_")
            && bytes.dropFirst().allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }

    /// Adds the records of users without a stored record.
    static func complete(
        _ stored: inout [String: StoredRecord], named names: [String], in view: any PartitionReader, _ call: Call
    ) throws {
        guard call.partition.scope == .public else { return }
        for name in names where isUserRecordName(name) && stored[name]?.record.isDeleted != false {
            guard let since = try view.userSince(name) else { continue }
            var record = Record(recordName: name, recordType: Self.name, recordChangeTag: "0")
            record.created = RecordStamp(timestamp: since, userRecordName: name)
            record.modified = record.created
            stored[name] = StoredRecord(record: record, change: 0)
        }
    }

    static func check(_ operation: RecordOperation, over current: Record?, _ call: Call) throws(WireError) {
        guard (current?.recordType ?? operation.record.recordType) == name else { return }
        guard let current else {
            throw WireError(.badRequest, "records of type Users are made by the server")
        }
        switch operation.kind {
        case .create, .update, .forceUpdate, .replace, .forceReplace: break
        case .delete, .forceDelete:
            throw WireError(.accessDenied, "the record of a user cannot be deleted")
        }
        guard
            call.caller.isOperator || operation.record.fields[rolesField] == nil
                || operation.record.fields[rolesField] == current.fields[rolesField]
        else { throw WireError(.accessDenied, "the roles of a user cannot be written") }
    }
}
