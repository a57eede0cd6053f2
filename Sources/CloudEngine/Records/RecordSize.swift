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

    /// Adds up the values of a record in one pass: the engine measures each record several times in one request.
    private struct Sums {
        /// Bytes that each version of the server counted.
        var charged = 0
        /// Bytes beyond ``unchargedBytes`` count.
        var other = 0
        /// Memory besides the texts and bytes.
        var boxes = 0

        var uncounted: Int { max(0, other - RecordSize.unchargedBytes) }
        var bytes: Int { charged + uncounted }

        mutating func add(_ value: FieldValue) {
            switch value {
            case .string(let text):
                charged += text.utf8.count
                boxes += MemoryLayout<FieldValue>.stride
            case .bytes(let bytes):
                charged += bytes.count
                boxes += MemoryLayout<FieldValue>.stride
            case .int64, .double, .timestamp:
                charged += 8
                boxes += MemoryLayout<FieldValue>.stride
            case .reference(let reference):
                charged += reference.recordName.utf8.count + (reference.zoneID?.zoneName.utf8.count ?? 0)
                other += reference.zoneID?.ownerRecordName?.utf8.count ?? 0
                boxes += MemoryLayout<FieldValue>.stride + RecordSize.boxMemory
            case .location:
                charged += 64
                boxes += MemoryLayout<FieldValue>.stride + RecordSize.boxMemory
            case .asset(let asset):
                charged += asset.fileChecksum.utf8.count + 8
                boxes += MemoryLayout<FieldValue>.stride + RecordSize.boxMemory
            case .list(let elements, _):
                for element in elements {
                    let before = charged
                    add(element)
                    other += max(0, RecordSize.elementBytesMin - (charged - before))
                }
            }
        }
    }

    private static func sums(of record: Record) -> Sums {
        var sums = Sums()
        sums.charged = record.recordName.utf8.count + record.recordType.utf8.count
        sums.other = record.sharingIsPresent ? record.sharing.details.map(bytes) ?? 0 : 0
        for (name, field) in record.fields {
            sums.charged += name.utf8.count
            if let value = field.value { sums.add(value) }
        }
        return sums
    }

    package static func bytes(of record: Record) -> Int { sums(of: record).bytes }

    /// The part of the size that servers of database formats before 25 did not count.
    package static func uncountedBytes(of record: Record) -> Int { sums(of: record).uncounted }

    static func bytes(of value: FieldValue) -> Int {
        var sums = Sums()
        sums.add(value)
        return sums.charged
    }

    /// An estimate of the memory of a decoded record.
    static func memory(of record: Record) -> Int {
        let sums = sums(of: record)
        return sums.bytes + sums.boxes
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
