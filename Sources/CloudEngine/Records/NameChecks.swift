// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// What names may look like.
///
/// Source: Apple, `CKRecord.ID` and `CKRecordZone.ID` (ASCII, at most 255 characters, no underscore at the beginning) and
/// `CKRecord` (types and keys begin with a letter and hold letters, digits, underscores).
package enum NameChecks {
    package static func record(_ name: String, _ limits: Limits) -> WireError? {
        guard !name.isEmpty, name.utf8.count <= limits.recordNameCharacters, isText(name) else {
            return WireError(
                .badRequest, "a record name has 1 to \(limits.recordNameCharacters) ASCII characters other than U+0000")
        }
        return nil
    }

    /// Whether a record may be created. Names with a leading underscore belong to users, whose records the server
    /// creates: a client must not impersonate another user.
    package static func newRecord(_ record: Record) -> WireError? {
        if record.recordType == UsersType.name { return WireError(.badRequest, "records of type Users are made by the server") }
        guard !record.recordName.hasPrefix("_") else {
            return WireError(.badRequest, "the name of a new record does not begin with an underscore")
        }
        return nil
    }

    /// Whether a name may be that of a custom zone.
    static func zone(_ name: String, _ limits: Limits) -> WireError? {
        guard !name.isEmpty, name.utf8.count <= limits.zoneNameCharacters, isText(name), !name.hasPrefix("_")
        else {
            return WireError(
                .badRequest,
                "a zone name has 1 to \(limits.zoneNameCharacters) ASCII characters other than U+0000 and does not begin with an underscore"
            )
        }
        return nil
    }

    static func recordType(_ name: String) -> WireError? {
        guard isIdentifier(name) || name == ShareDetails.recordType else {
            return WireError(
                .badRequest, "a record type begins with a letter, followed by letters, digits and underscores")
        }
        return nil
    }

    static func field(_ name: String) -> WireError? {
        guard isIdentifier(name) else {
            return WireError(
                .badRequest, "a field name begins with a letter, followed by letters, digits and underscores")
        }
        return nil
    }

    /// Whether a name is one of the service's own, such as `cloudkit.title` or `_sub_x`; those of records do not count.
    static func isSystemName(_ name: String) -> Bool {
        if name.hasPrefix("_") { return true }
        let parts = name.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count > 1 && parts[0] == "cloudkit" && parts.allSatisfy { isIdentifier(String($0)) }
    }

    /// Whether a name may be that of a container's own role; quoted ones may have spaces.
    static func role(_ name: String) -> Bool {
        !name.isEmpty && !name.hasPrefix("_") && name.utf8.count <= identifierCharacters
            && name.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "\"" && $0.value != 0x7F }
    }

    /// ASCII that a text of a database may have: PostgreSQL stores no U+0000.
    private static func isText(_ name: String) -> Bool { name.utf8.allSatisfy { $0 < 0x80 && $0 != 0 } }

    private static let identifierCharacters = 255

    private static func isIdentifier(_ name: String) -> Bool {
        guard let first = name.utf8.first, isLetter(first), name.utf8.count <= identifierCharacters else { return false }
        return name.utf8.allSatisfy { isLetter($0) || (48...57).contains($0) || $0 == UInt8(ascii: "_") }
    }

    private static func isLetter(_ byte: UInt8) -> Bool { (97...122).contains(byte | 0x20) && byte >= 65 }
}
