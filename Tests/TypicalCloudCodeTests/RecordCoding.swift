// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import Foundation

// Code as apps have it around records: typed keys, models made of records, system fields stored next to a model.

protocol CloudModel {
    static var recordType: CKRecord.RecordType { get }
    init(record: CKRecord) throws
}

enum ModelError: LocalizedError {
    case wrongType(CKRecord.RecordType)
    case missing(field: String, recordID: CKRecord.ID)

    var errorDescription: String? {
        switch self {
        case .wrongType(let type): return "unexpected type \(type)"
        case .missing(let field, let id): return "\(field) is missing in \(id.recordName)"
        }
    }
}

extension CKRecord {
    subscript<Key: RawRepresentable>(_ key: Key) -> CKRecordValue? where Key.RawValue == String {
        get { return self[key.rawValue] }
        set { self[key.rawValue] = newValue }
    }

    func required<Value, Key: RawRepresentable>(_ key: Key) throws -> Value where Key.RawValue == String {
        guard let value = object(forKey: key.rawValue) as? Value else {
            throw ModelError.missing(field: key.rawValue, recordID: recordID)
        }
        return value
    }

    var encodedSystemFields: Data {
        let coder = NSKeyedArchiver(requiringSecureCoding: true)
        encodeSystemFields(with: coder)
        coder.finishEncoding()
        return coder.encodedData
    }

    class func fromSystemFields(_ data: Data) -> CKRecord? {
        guard let coder = try? NSKeyedUnarchiver(forReadingFrom: data) else { return nil }
        coder.requiresSecureCoding = true
        defer { coder.finishDecoding() }
        return CKRecord(coder: coder)
    }
}

struct Trip: CloudModel, Identifiable {
    enum Field: String, CaseIterable {
        case title, days, budget, starts, places, isDone, diary, position, cover
    }

    static let recordType: CKRecord.RecordType = "Trip"

    var id: CKRecord.ID
    var title: String
    var days: Int
    var budget: Double
    var starts: Date
    var places: [String]
    var isDone: Bool
    var diary: String?
    var position: CLLocation?
    var cover: URL?
    var systemFields: Data?

    init(id: CKRecord.ID, title: String) {
        self.id = id
        self.title = title
        days = 3
        budget = 99.5
        starts = Date(timeIntervalSince1970: 1_900_000_000)
        places = []
        isDone = false
    }

    init(record: CKRecord) throws {
        guard record.recordType == Trip.recordType else { throw ModelError.wrongType(record.recordType) }
        id = record.recordID
        title = try record.required(Field.title)
        days = try record.required(Field.days)
        budget = record[Field.budget] as? Double ?? 0
        starts = record["starts"] as! Date
        places = record["places"] as? [String] ?? []
        isDone = (record["isDone"] as? NSNumber)?.boolValue ?? false
        diary = record.encryptedValues["diary"] as? String
        position = record["position"] as? CLLocation
        cover = (record["cover"] as? CKAsset)?.fileURL
        systemFields = record.encodedSystemFields
    }

    func makeRecord() -> CKRecord {
        let record =
            systemFields.flatMap { CKRecord.fromSystemFields($0) }
            ?? CKRecord(recordType: Trip.recordType, recordID: id)
        record[.title] = title
        record["days"] = days as NSNumber
        record["budget"] = budget
        record["starts"] = starts as NSDate
        record["places"] = places.isEmpty ? nil : places as CKRecordValue
        record["isDone"] = isDone
        record.encryptedValues["diary"] = diary
        record.setObject(position, forKey: "position")
        if let cover { record["cover"] = CKAsset(fileURL: cover) }
        return record
    }
}

private extension CKRecord {
    subscript(_ field: Trip.Field) -> CKRecordValue? {
        get { self[field.rawValue] }
        set { self[field.rawValue] = newValue }
    }
}

/// The changes of a record, for a log.
func describeChanges(of record: CKRecord) -> [String] {
    record.changedKeys().sorted().map { key in
        switch record[key] {
        case nil: return "\(key) removed"
        case let value as String: return "\(key) = \(value)"
        case let value as NSNumber: return "\(key) = \(value)"
        case let value?: return "\(key): \(type(of: value))"
        }
    }
}

/// Records by zone, and their state by identifier.
struct RecordCache {
    private var records: [CKRecord.ID: CKRecord] = [:]
    private(set) var tags: [CKRecord.ID: String] = [:]

    mutating func insert(_ record: CKRecord) {
        records[record.recordID] = record
        tags[record.recordID] = record.recordChangeTag
    }

    mutating func remove(_ ids: Set<CKRecord.ID>) { records = records.filter { !ids.contains($0.key) } }

    var byZone: [CKRecordZone.ID: [CKRecord]] { Dictionary(grouping: records.values, by: \.recordID.zoneID) }
    subscript(id: CKRecord.ID) -> CKRecord? { records[id] }
}
