// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
public import Foundation

/// A record: a type, an identifier and fields.
///
/// Records are equal only to themselves. A record may be used from any thread; a change made on one thread is seen on
/// all. Saving a record brings it up to date with the answer, but for what was changed meanwhile (unverified).
///
/// Source: Apple's documentation of `CKRecord`. Differs: dates have the milliseconds the server keeps;
/// `creatorUserRecordID` names the user by their record name, also if it is the current one.
open class CKRecord: NSObject, NSCopying, NSSecureCoding, CKRecordKeyValueSetting, @unchecked Sendable {
    // @unchecked: all that changes is behind the lock of `stored`.
    public typealias RecordType = String
    public typealias FieldKey = String

    struct State: Sendable {
        var recordType: RecordType
        var values: [FieldKey: LocalValue] = [:]
        /// Keys set or cleared since the record was fetched or saved, each with the number of its last edit.
        var changed: [FieldKey: Int] = [:]
        var edits = 0
        /// Keys whose values the server keeps encrypted.
        var encrypted: Set<FieldKey> = []
        var parent: ParentLink?
        var isParentChanged = false
        /// The share that was made for this record here; else the server says it.
        var shareName: String?
        /// Of share records only.
        var share: ShareState?
        /// How links to shares begin, where the server is.
        var linkBase: String?
        /// The record as the server last described it.
        var server: Record?

        mutating func set(_ value: LocalValue?, _ key: FieldKey) {
            values[key] = value
            edits += 1
            changed[key] = edits
        }
    }

    /// The record above this one in the hierarchy that is shared with it.
    struct ParentLink: Hashable, Sendable {
        var recordID: ID
    }

    /// Which edits of a record were sent.
    struct Edits: Sendable {
        var numbers: [FieldKey: Int] = [:]
        var parent: ParentLink?
    }

    public let recordID: ID
    let scope: CKDatabase.Scope
    let stored: Locked<State>

    /// A record that the server does not have yet.
    public convenience init(recordType: RecordType, recordID: ID = ID()) {
        self.init(State(recordType: recordType), recordID, scope: .private)
    }

    @available(*, deprecated, message: "use init(recordType:recordID:)")
    public convenience init(recordType: RecordType, zoneID: CKRecordZone.ID) {
        self.init(recordType: recordType, recordID: ID(zoneID: zoneID))
    }

    /// A record from the server; its assets have no files yet.
    ///
    /// - Parameter zoneID: The zone it was asked for in, where the record does not say.
    package convenience init(_ record: Record, in zoneID: CKRecordZone.ID, scope: CKDatabase.Scope) {
        let zoneID = record.zoneID.map { CKRecordZone.ID($0, scope: scope) } ?? zoneID
        var state = State(record)
        state.parent = record.sharing.parent.map { ParentLink(recordID: ID(recordName: $0, zoneID: zoneID)) }
        self.init(state, ID(recordName: record.recordName, zoneID: zoneID), scope: scope)
    }

    init(_ state: State, _ recordID: ID, scope: CKDatabase.Scope) {
        self.recordID = recordID
        self.scope = scope
        stored = Locked(state)
    }

    open func copy(with zone: NSZone? = nil) -> Any { CKRecord(stored.value, recordID, scope: scope) }

    open override var description: String { "<CKRecord \(recordType) \(recordID.recordName)>" }

    // MARK: What the server says of it

    public var recordType: RecordType { stored.value.recordType }
    /// The version that the server gave it; nil before it was saved.
    public var recordChangeTag: String? { stored.value.server?.recordChangeTag }
    public var creationDate: Date? { date(stored.value.server?.created) }
    public var modificationDate: Date? { date(stored.value.server?.modified) }
    public var creatorUserRecordID: ID? { user(stored.value.server?.created) }
    public var lastModifiedUserRecordID: ID? { user(stored.value.server?.modified) }

    private func date(_ stamp: RecordStamp?) -> Date? {
        stamp.flatMap { $0.timestamp <= RecordStamp.unknownTime ? nil : Date(timeIntervalSince1970: Double($0.timestamp) / 1000) }
    }

    private func user(_ stamp: RecordStamp?) -> ID? {
        stamp.flatMap { $0.userRecordName.isEmpty ? nil : ID(recordName: $0.userRecordName) }
    }

    // MARK: Fields

    public func object(forKey key: FieldKey) -> (any CKRecordValueProtocol)? {
        let state = stored.value
        guard !state.encrypted.contains(key) else { return nil }
        return state.values[key]?.appValue(in: recordID.zoneID, scope: scope)
    }

    /// Sets the value of a field; nil clears it.
    ///
    /// Setting a value of a kind that fields cannot have stops the program, as it raises an exception on Apple's
    /// platforms: a number beyond 64 bits with sign, an array of different kinds, a type that is not one of
    /// ``CKRecordValueProtocol``'s. So does a key that holds an encrypted value.
    public func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: FieldKey) {
        set(object, key, encrypted: false)
    }

    func set(_ object: (any CKRecordValueProtocol)?, _ key: FieldKey, encrypted: Bool) {
        var value: LocalValue?
        if let object {
            value = LocalValue(object)
            precondition(value != nil, "field \(key) cannot hold a value of this kind; see CKRecordValueProtocol")
            if encrypted {
                precondition(value?.canBeEncrypted == true, "field \(key) cannot be encrypted: assets and references cannot be")
            }
        }
        stored.update { state in
            let isOfOtherKind = state.values[key] != nil && state.encrypted.contains(key) != encrypted
            precondition(!isOfOtherKind, "field \(key) is both encrypted and not")
            state.set(value, key)
            if encrypted { state.encrypted.insert(key) } else if value != nil { state.encrypted.remove(key) }
        }
    }

    /// Keys of fields with a value, but for encrypted ones, in alphabetical order.
    public func allKeys() -> [FieldKey] {
        let state = stored.value
        return state.values.keys.filter { !state.encrypted.contains($0) }.sorted()
    }

    /// Keys set or cleared since the record was made, fetched or saved, in alphabetical order, encrypted ones included.
    public func changedKeys() -> [FieldKey] { stored.value.changed.keys.sorted() }

    /// The words of all texts, for a search on this device.
    public func allTokens() -> [String] {
        var tokens: [String] = []
        for key in allKeys() {
            guard let text = object(forKey: key) as? String else { continue }
            tokens += text.components(separatedBy: .whitespacesAndNewlines).filter { !$0.isEmpty }
        }
        return tokens
    }

    /// Fields whose values the server cannot read.
    public var encryptedValues: any CKRecordKeyValueSetting & Sendable { EncryptedValues(self) }

    // MARK: Archives

    open class var supportsSecureCoding: Bool { true }

    public required convenience init?(coder: NSCoder) {
        guard let archived = ArchivedRecord(coder) else { return nil }
        self.init(archived.state, archived.recordID, scope: archived.scope)
    }

    open func encode(with coder: NSCoder) { ArchivedRecord(self).encode(with: coder) }

    /// Writes what the server says of the record, without fields: enough to save changes of it later.
    public func encodeSystemFields(with coder: NSCoder) { ArchivedRecord(systemFieldsOf: self).encode(with: coder) }
}

extension CKRecord.State {
    /// What the server described.
    init(_ record: Record) {
        self.init(recordType: record.recordType, server: record)
        share = record.sharing.details.map { ShareState($0) }
        for (key, field) in record.fields {
            guard let value = field.value else { continue }
            values[key] = LocalValue(fromServer: value)
            if field.isEncrypted { encrypted.insert(key) }
        }
    }
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

    /// Whether a field of this kind can be kept encrypted.
    var canBeEncrypted: Bool {
        switch self {
        case .asset, .assets, .wire(.reference), .wire(.asset), .wire(.list(_, of: .reference)): false
        case .wire: true
        }
    }
}
