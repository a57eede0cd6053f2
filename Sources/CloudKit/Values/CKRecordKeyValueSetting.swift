// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// What has fields that are read and set by key: a record, and its encrypted values.
///
/// Source: Apple's documentation of `CKRecordKeyValueSetting`.
public protocol CKRecordKeyValueSetting: AnyObject {
    func object(forKey key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)?
    func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: CKRecord.FieldKey)
    func allKeys() -> [CKRecord.FieldKey]
    func changedKeys() -> [CKRecord.FieldKey]
}

extension CKRecordKeyValueSetting {
    /// The value of a field; nil clears it.
    public subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    /// The value of a field in the type that is asked for; nil if it is of another kind.
    public subscript<Value: CKRecordValueProtocol>(key: CKRecord.FieldKey) -> Value? {
        get { object(forKey: key).flatMap { LocalValue.cast($0, to: Value.self) } }
        set { setObject(newValue, forKey: key) }
    }

    /// The value of a field, as key-value coding reads it.
    public func value(forKey key: CKRecord.FieldKey) -> Any? { object(forKey: key) }

    /// Sets the value of a field, as key-value coding does. A value of a type that fields cannot hold stops the program.
    public func setValue(_ value: Any?, forKey key: CKRecord.FieldKey) {
        guard let value else { return setObject(nil, forKey: key) }
        guard let object = value as? any CKRecordValueProtocol else {
            preconditionFailure("field \(key) cannot hold a \(type(of: value)); see CKRecordValueProtocol")
        }
        setObject(object, forKey: key)
    }

    public func setValuesForKeys(_ values: [String: Any]) {
        for (key, value) in values { setValue(value, forKey: key) }
    }

    public func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
        var values: [String: Any] = [:]
        for key in keys { values[key] = object(forKey: key) }
        return values
    }

    public func makeIterator() -> CKRecordKeyValueIterator { CKRecordKeyValueIterator(self) }
}

/// The keys and values of fields, in alphabetical order of the keys.
public struct CKRecordKeyValueIterator: IteratorProtocol {
    private var rest: [(CKRecord.FieldKey, any CKRecordValueProtocol)]

    init(_ fields: any CKRecordKeyValueSetting) {
        rest = fields.allKeys().reversed().compactMap { key in fields.object(forKey: key).map { (key, $0) } }
    }

    public mutating func next() -> (CKRecord.FieldKey, any CKRecordValueProtocol)? { rest.popLast() }
}

extension CKRecord: Sequence {}

/// The encrypted fields of a record.
final class EncryptedValues: CKRecordKeyValueSetting, Sendable {
    private let record: CKRecord

    init(_ record: CKRecord) { self.record = record }

    func object(forKey key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        let state = record.stored.value
        guard state.encrypted.contains(key) else { return nil }
        return state.values[key]?.appValue(in: record.recordID.zoneID, scope: record.scope)
    }

    func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: CKRecord.FieldKey) {
        record.set(object, key, encrypted: true)
    }

    func allKeys() -> [CKRecord.FieldKey] {
        let state = record.stored.value
        return state.values.keys.filter { state.encrypted.contains($0) }.sorted()
    }

    func changedKeys() -> [CKRecord.FieldKey] {
        let state = record.stored.value
        return state.changed.keys.filter { state.encrypted.contains($0) }.sorted()
    }
}
