// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// How much of the size limits a record uses: the bytes of its names and values without the syntax around them, and
/// without the content of assets.
package enum RecordSize {
    /// Stored bytes of records that are read and decoded together. Decoded, records of many references take fifteen times as much memory.
    package static let storedBytesAtOnce = 1 << 20
    /// Bytes of owners' names, participants and short elements that are not counted. Records of most apps have less of them, so their
    /// sizes are those that earlier versions counted.
    private static let unchargedBytes = 4096
    /// Bytes of an element of a list at least, since each takes memory.
    private static let elementBytesMin = 8
    /// Bytes of memory of a value that is boxed, besides its texts.
    private static let boxMemory = 112

    package static func bytes(of record: Record) -> Int {
        var charged = record.recordName.utf8.count + record.recordType.utf8.count
        var other = record.sharingIsPresent ? record.sharing.details.map(bytes) ?? 0 : 0
        for (name, field) in record.fields {
            charged += name.utf8.count
            guard let value = field.value else { continue }
            charged += bytes(of: value)
            other += otherBytes(of: value)
        }
        return charged + max(0, other - unchargedBytes)
    }

    /// An estimate of the memory of a decoded record.
    static func memory(of record: Record) -> Int {
        record.fields.values.reduce(bytes(of: record)) { sum, field in sum + (field.value.map(memory) ?? 0) }
    }

    private static func memory(of value: FieldValue) -> Int {
        switch value {
        case .reference, .location, .asset: MemoryLayout<FieldValue>.stride + boxMemory
        case .list(let elements, _): elements.reduce(0) { $0 + memory(of: $1) }
        case .string, .bytes, .int64, .double, .timestamp: MemoryLayout<FieldValue>.stride
        }
    }

    static func bytes(of value: FieldValue) -> Int {
        switch value {
        case .string(let text): text.utf8.count
        case .bytes(let bytes): bytes.count
        case .int64, .double, .timestamp: 8
        case .reference(let reference):
            reference.recordName.utf8.count + (reference.zoneID?.zoneName.utf8.count ?? 0)
        case .location: 64
        case .asset(let asset): asset.fileChecksum.utf8.count + 8
        case .list(let elements, _): elements.reduce(0) { $0 + bytes(of: $1) }
        }
    }

    /// Bytes that the size of a value lacks: the owner of a reference's zone, and what elements lack to ``elementBytesMin``.
    private static func otherBytes(of value: FieldValue) -> Int {
        switch value {
        case .reference(let reference): reference.zoneID?.ownerRecordName?.utf8.count ?? 0
        case .list(let elements, _): elements.reduce(0) { $0 + max(0, elementBytesMin - bytes(of: $1)) + otherBytes(of: $1) }
        case .string, .bytes, .int64, .double, .timestamp, .location, .asset: 0
        }
    }

    private static func bytes(of details: ShareDetails) -> Int {
        let people = details.participants.map(\.identity) + details.requesters + details.blocked
        let identifiers = details.participants.reduce(0) { $0 + ($1.participantID?.utf8.count ?? 0) }
        return people.reduce(identifiers + (details.rootRecordName?.utf8.count ?? 0)) { $0 + bytes(of: $1) }
    }

    private static func bytes(of identity: UserIdentity) -> Int {
        let lookup =
            switch identity.lookupInfo {
            case .emailAddress(let text), .phoneNumber(let text), .userRecordName(let text): text.utf8.count
            case nil: 0
            }
        return identity.userRecordName.utf8.count + lookup + bytes(of: identity.name)
    }

    private static func bytes(of name: NameComponents) -> Int {
        let parts = [name.namePrefix, name.givenName, name.middleName, name.familyName, name.nameSuffix, name.nickname]
        return parts.reduce(name.phoneticRepresentation.map(bytes) ?? 0) { $0 + ($1?.utf8.count ?? 0) }
    }
}
