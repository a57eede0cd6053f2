// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
public import Foundation

/// A record: a type, an identifier and fields.
///
/// Records are equal only to themselves. A record may be used from any thread; a change made on one thread is seen on
/// all.
///
/// Source: Apple's documentation of `CKRecord`. Differs: dates have the milliseconds the server keeps;
/// `creatorUserRecordID` names the user by their record name, also if it is the current one.
public class CKRecord: NSObject, NSCopying, @unchecked Sendable {  // All that changes is behind the lock of `stored`.
    public typealias RecordType = String
    public typealias FieldKey = String

    struct State: Sendable {
        var recordType: RecordType
        var values: [FieldKey: LocalValue] = [:]
        /// Keys set or cleared since the record was fetched or saved.
        var changed: Set<FieldKey> = []
        /// Keys whose values the server keeps encrypted.
        var encrypted: Set<FieldKey> = []
        /// The record as the server last described it.
        var server: Record?
    }

    public let recordID: ID
    let scope: CKDatabase.Scope
    let stored: Locked<State>

    public convenience init(recordType: RecordType, recordID: ID = ID()) {
        self.init(State(recordType: recordType), recordID, scope: .private)
    }

    /// A record from the server; its assets have no files yet.
    ///
    /// - Parameter zoneID: The zone it was asked for in, where the record does not say.
    package convenience init(_ record: Record, in zoneID: CKRecordZone.ID, scope: CKDatabase.Scope) {
        let zoneID = record.zoneID.map { CKRecordZone.ID($0, scope: scope) } ?? zoneID
        var state = State(recordType: record.recordType, server: record)
        for (key, field) in record.fields {
            guard let value = field.value else { continue }
            state.values[key] = LocalValue(fromServer: value)
            if field.isEncrypted { state.encrypted.insert(key) }
        }
        self.init(state, ID(recordName: record.recordName, zoneID: zoneID), scope: scope)
    }

    init(_ state: State, _ recordID: ID, scope: CKDatabase.Scope) {
        self.recordID = recordID
        self.scope = scope
        stored = Locked(state)
    }

    public func copy(with zone: NSZone? = nil) -> Any { CKRecord(stored.value, recordID, scope: scope) }

    public override var description: String { "<CKRecord \(recordType) \(recordID.recordName)>" }

    // MARK: What the server says of it

    public var recordType: RecordType { stored.value.recordType }
    /// The version that the server gave it; nil before it was saved.
    public var recordChangeTag: String? { stored.value.server?.recordChangeTag }
    public var creationDate: Date? { date(stored.value.server?.created) }
    public var modificationDate: Date? { date(stored.value.server?.modified) }
    public var creatorUserRecordID: ID? { user(stored.value.server?.created) }
    public var lastModifiedUserRecordID: ID? { user(stored.value.server?.modified) }

    private func date(_ stamp: RecordStamp?) -> Date? {
        stamp.map { Date(timeIntervalSince1970: Double($0.timestamp) / 1000) }
    }

    private func user(_ stamp: RecordStamp?) -> ID? {
        stamp.flatMap { $0.userRecordName.isEmpty ? nil : ID(recordName: $0.userRecordName) }
    }

    // MARK: Fields

    /// The value of a field; nil clears it.
    ///
    /// Setting a value of a kind that fields cannot have stops the program: a number beyond 64 bits with sign, an array
    /// of different kinds, a type that is not one of ``CKRecordValueProtocol``'s.
    public subscript(key: FieldKey) -> (any CKRecordValueProtocol)? {
        get { object(forKey: key) }
        set { setObject(newValue, forKey: key) }
    }

    /// The value of a field in the type that is asked for; nil if it is of another kind.
    public subscript<Value: CKRecordValueProtocol>(key: FieldKey) -> Value? {
        get { object(forKey: key).flatMap { LocalValue.cast($0, to: Value.self) } }
        set { setObject(newValue, forKey: key) }
    }

    public func object(forKey key: FieldKey) -> (any CKRecordValueProtocol)? {
        stored.value.values[key]?.appValue(in: recordID.zoneID, scope: scope)
    }

    public func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: FieldKey) {
        var value: LocalValue?
        if let object {
            value = LocalValue(object)
            precondition(value != nil, "field \(key) cannot hold a value of this kind; see CKRecordValueProtocol")
        }
        stored.update { state in
            state.values[key] = value
            state.changed.insert(key)
        }
    }

    /// Keys of fields with a value, in alphabetical order.
    public func allKeys() -> [FieldKey] { stored.value.values.keys.sorted() }

    /// Keys set or cleared since the record was made, fetched or saved, in alphabetical order.
    public func changedKeys() -> [FieldKey] { stored.value.changed.sorted() }
}

extension LocalValue {
    /// A value from the server, with assets taken out of it.
    init(fromServer value: FieldValue) {
        switch value {
        case .asset(let asset): self = .asset(CKAsset(asset, fileURL: nil))
        case .list(let elements, of: .asset):
            self = .assets(
                elements.compactMap { element in
                    guard case .asset(let asset) = element else { return nil }
                    return CKAsset(asset, fileURL: nil)
                })
        case .string, .int64, .double, .timestamp, .bytes, .reference, .location, .list: self = .wire(value)
        }
    }
}
