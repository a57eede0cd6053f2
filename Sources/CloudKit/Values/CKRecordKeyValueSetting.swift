// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// A type with fields that are read and set by key: a record, and its encrypted values.
///
/// Source: Apple's documentation of `CKRecordKeyValueSetting`.
public protocol CKRecordKeyValueSetting: AnyObject {
    /// Returns the value of a field. `nil` if it has none.
    func object(forKey key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)?
    /// Sets the value of a field. `nil` clears it.
    func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: CKRecord.FieldKey)
    /// The keys of fields with a value.
    func allKeys() -> [CKRecord.FieldKey]
    /// The keys that were set or cleared since the record was fetched or saved.
    func changedKeys() -> [CKRecord.FieldKey]
}

extension CKRecordKeyValueSetting {
    /// The value of a field. `nil` clears it.
    public subscript(key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    /// The value of a field as the requested type. `nil` if it is of another type.
    public subscript<Value: CKRecordValueProtocol>(key: CKRecord.FieldKey) -> Value? {
        get { object(forKey: key).flatMap { LocalValue.cast($0, to: Value.self) } }
        set { setObject(newValue, forKey: key) }
    }

    /// Returns the value of a field, as key-value coding.
    public func value(forKey key: CKRecord.FieldKey) -> Any? { object(forKey: key) }

    /// Sets the value of a field, as key-value coding. A value of a type that fields cannot have traps.
    public func setValue(_ value: Any?, forKey key: CKRecord.FieldKey) {
        guard let value else { return setObject(nil, forKey: key) }
        guard let object = value as? any CKRecordValueProtocol else {
            preconditionFailure("field \(key) cannot have a \(type(of: value)); see CKRecordValueProtocol")
        }
        setObject(object, forKey: key)
    }

    /// Sets the values of several fields.
    public func setValuesForKeys(_ values: [String: Any]) {
        for (key, value) in values { setValue(value, forKey: key) }
    }

    /// Returns the values of several fields, `NSNull` for those without a value.
    public func dictionaryWithValues(forKeys keys: [String]) -> [String: Any] {
        var values: [String: Any] = [:]
        for key in keys { values[key] = object(forKey: key) }
        return values
    }

    /// Returns an iterator over the fields.
    public func makeIterator() -> CKRecordKeyValueIterator { CKRecordKeyValueIterator(self) }
}

/// Iterates over the keys and values of fields, in alphabetical order of the keys.
public struct CKRecordKeyValueIterator: IteratorProtocol {
    private var remainingFields: [(CKRecord.FieldKey, any CKRecordValueProtocol)]

    init(_ fields: any CKRecordKeyValueSetting) {
        remainingFields = fields.allKeys().reversed().compactMap { key in fields.object(forKey: key).map { (key, $0) } }
    }

    /// Returns the next field. `nil` at the end.
    public mutating func next() -> (CKRecord.FieldKey, any CKRecordValueProtocol)? { remainingFields.popLast() }
}

extension CKRecord: Sequence {}

/// The encrypted fields of a record.
final class EncryptedValues: CKRecordKeyValueSetting, Sendable {
    private let record: CKRecord

    init(_ record: CKRecord) { self.record = record }

    func object(forKey key: CKRecord.FieldKey) -> (any CKRecordValueProtocol)? {
        let state = record.stored.value
        guard state.encrypted.contains(key) else { return nil }
        return state.appValue(key, in: record.recordID.zoneID, scope: record.scope)
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
