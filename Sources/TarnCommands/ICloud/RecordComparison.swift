// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire

/// The content of a record that is copied between iCloud and a Tarn server, and compared.
///
/// Not copied: change tags and stamps, which each server assigns; shares, since participants are accounts of one server; the records
/// of users. References to zones of the same database name no owner, since the owner has another name on each server.
enum CopiedRecord {
    static func isCopied(_ record: Record) -> Bool {
        !record.isDeleted && !isShare(record) && record.recordType != UsersType.name
    }

    /// Whether a record, or a deleted one without a type, is a share. The share of a zone has the same name on each server: its deletion on
    /// one isn't that of the other's.
    static func isShare(_ record: Record) -> Bool {
        record.recordType == ShareDetails.recordType || record.recordName == ShareDetails.zoneShareName
    }

    /// Names of the records that a server requires before it saves this one: its parent, and the targets of `VALIDATE`.
    static func requiredTargets(of record: Record) -> Set<String> {
        var names: Set<String> = []
        if let parent = record.sharing.parent, !parent.isEmpty { names.insert(parent) }
        for field in record.fields.values {
            switch field.value {
            case .reference(let reference)?: if reference.action == .validate { names.insert(reference.recordName) }
            case .list(let elements, of: .reference)?:
                for case .reference(let reference) in elements where reference.action == .validate { names.insert(reference.recordName) }
            default: break
            }
        }
        return names
    }

    /// Removes `DELETE_SELF` references to records of these names.
    ///
    /// - Returns: Whether the record had one.
    static func removeDeletingReferences(to names: Set<String>, from record: inout Record) -> Bool {
        guard !names.isEmpty else { return false }
        func isRemoved(_ value: FieldValue) -> Bool {
            guard case .reference(let reference) = value else { return false }
            return reference.action == .deleteSelf && names.contains(reference.recordName)
        }
        var hasRemoved = false
        for (name, field) in record.fields {
            switch field.value {
            case .list(let elements, of: .reference)?:
                let remaining = elements.filter { !isRemoved($0) }
                guard remaining.count < elements.count else { continue }
                record.fields[name] = remaining.isEmpty ? nil : Field(.list(remaining, of: .reference), isEncrypted: field.isEncrypted)
            case let value?:
                guard isRemoved(value) else { continue }
                record.fields[name] = nil
            case nil: continue
            }
            hasRemoved = true
        }
        return hasRemoved
    }

    /// The record as it is written to the other server. Assets are the source's.
    static func content(of record: Record) -> Record {
        var copy = Record(recordName: record.recordName, recordType: record.recordType)
        for (name, field) in record.fields {
            guard let value = field.value else { continue }
            copy.fields[name] = Field(content(of: value), isEncrypted: field.isEncrypted)
        }
        copy.sharing.parent = record.sharing.parent
        return copy
    }

    private static func content(of value: FieldValue) -> FieldValue {
        switch value {
        case .reference(var reference):
            reference.zoneID = reference.zoneID.map { ZoneID(zoneName: $0.zoneName) }
            return .reference(reference)
        case .list(let elements, let type): return .list(elements.map(content), of: type)
        default: return value
        }
    }
}

/// A difference between a record in iCloud and the one of its name on a Tarn server.
enum RecordDifference: Hashable {
    case onlyInICloud, onlyInTarn
    case recordType, parent
    /// Fields that one side lacks, or has with another value, in alphabetical order.
    case fields([String])
    /// One side could not return the record, or it cannot be decoded: the side and the reason.
    case unreadable(String)

    var kind: String {
        switch self {
        case .onlyInICloud: "onlyInICloud"
        case .onlyInTarn: "onlyInTarn"
        case .recordType: "recordType"
        case .parent: "parent"
        case .fields: "fields"
        case .unreadable: "unreadable"
        }
    }

    var sentence: String {
        switch self {
        case .onlyInICloud: "only in iCloud"
        case .onlyInTarn: "only on the Tarn server"
        case .recordType: "another record type"
        case .parent: "another parent"
        case .fields(let names): "other values: \(names.joined(separator: ", "))"
        case .unreadable(let reason): "not compared: \(reason)"
        }
    }
}

/// Compares two records of one name.
struct RecordComparison {
    /// Other differences than those of fields.
    private(set) var differences: [RecordDifference] = []
    /// Fields with other values.
    private(set) var fields: [String] = []
    /// Assets of equal size with different checksums. Services compute checksums differently, so contents decide.
    private(set) var undecided: [(field: String, iCloud: AssetValue, tarn: AssetValue)] = []
    private let zone: String

    /// - Parameter zone: The zone of both records, which references may leave out.
    init(iCloud: Record, tarn: Record, inZone zone: String) {
        self.zone = zone
        let (one, other) = (CopiedRecord.content(of: iCloud), CopiedRecord.content(of: tarn))
        if one.recordType != other.recordType { differences.append(.recordType) }
        if (one.sharing.parent ?? "") != (other.sharing.parent ?? "") { differences.append(.parent) }
        for name in Set(one.fields.keys).union(other.fields.keys).sorted() where !isEqual(name, one.fields[name], other.fields[name]) {
            fields.append(name)
        }
    }

    private mutating func isEqual(_ name: String, _ one: Field?, _ other: Field?) -> Bool {
        guard let first = one?.value, let second = other?.value, one?.isEncrypted == other?.isEncrypted else { return false }
        return isEqual(name, first, second)
    }

    private mutating func isEqual(_ name: String, _ one: FieldValue, _ other: FieldValue) -> Bool {
        switch (one, other) {
        case (.asset(let one), .asset(let other)):
            guard one.size == other.size else { return false }
            if one.fileChecksum != other.fileChecksum { undecided.append((name, one, other)) }
            return true
        case (.list(let one, _), .list(let other, _)):
            guard one.count == other.count else { return false }
            for (one, other) in zip(one, other) where !isEqual(name, one, other) { return false }
            return true
        case (.reference(var one), .reference(var other)):
            // Source: *CloudKit Web Services Reference*, "Reference Dictionary": the default is the zone of the record.
            one.zoneID = one.zoneID ?? ZoneID(zoneName: zone)
            other.zoneID = other.zoneID ?? ZoneID(zoneName: zone)
            return one == other
        default: return one == other
        }
    }
}
