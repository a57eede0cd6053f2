// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire
public import Foundation

/// A record: a type, an identifier and fields.
///
/// A record equals only itself. It may be used from any thread. Saving a record updates it with the response, except
/// for fields that changed concurrently (unverified).
///
/// Source: Apple's documentation of `CKRecord`. Differs: dates of a saved or fetched record have the milliseconds the
/// server keeps; `creatorUserRecordID` names the user by their record name, also if it is the current one.
open class CKRecord: NSObject, NSCopying, NSSecureCoding, CKRecordKeyValueSetting, @unchecked Sendable {
    // @unchecked: mutable state is behind the lock of `stored`.
    /// The type of a record type's name.
    public typealias RecordType = String
    /// The type of a field's name.
    public typealias FieldKey = String

    struct State: Sendable {
        var recordType: RecordType
        var values: [FieldKey: LocalValue] = [:]
        /// Dates as the app set them, by field, since those of the server are rounded to milliseconds: a field returns the value that it
        /// was given until the record is saved.
        var exactDates: [FieldKey: [Date]] = [:]
        /// The keys that were set or cleared since the record was fetched or saved, each with the number of its last
        /// edit.
        var changed: [FieldKey: Int] = [:]
        var edits = 0
        /// The keys of encrypted fields.
        var encrypted: Set<FieldKey> = []
        var parent: ParentLink?
        var isParentChanged = false
        /// The share that was created here for this record. Otherwise the server states it.
        var shareName: String?
        /// For share records only.
        var share: ShareState?
        /// Prefix of the links to shares on the server.
        var linkBase: String?
        /// The record as the server last returned it.
        var server: Record?

        mutating func set(_ value: LocalValue?, _ key: FieldKey, dates: [Date]? = nil) {
            values[key] = value
            exactDates[key] = dates
            edits += 1
            changed[key] = edits
        }

        /// The value of a field for the app.
        func appValue(_ key: FieldKey, in zoneID: CKRecordZone.ID, scope: CKDatabase.Scope) -> (any CKRecordValueProtocol)? {
            guard let value = values[key] else { return nil }
            if let dates = exactDates[key] {
                if case .wire(.timestamp) = value { return dates.first }
                return dates
            }
            return value.appValue(in: zoneID, scope: scope)
        }
    }

    /// The parent record in the hierarchy that is shared.
    struct ParentLink: Hashable, Sendable {
        var recordID: ID
    }

    /// The edits that were sent.
    struct Edits: Sendable {
        var numbers: [FieldKey: Int] = [:]
        var parent: ParentLink?
    }

    /// The identifier of the record.
    public let recordID: ID
    let scope: CKDatabase.Scope
    let stored: Locked<State>

    /// Creates a record that the server does not have yet.
    public convenience init(recordType: RecordType, recordID: ID = ID()) {
        self.init(State(recordType: recordType), recordID, scope: .private)
    }

    /// Creates a record with a random name in a zone.
    @available(*, deprecated, message: "use init(recordType:recordID:)")
    public convenience init(recordType: RecordType, zoneID: CKRecordZone.ID) {
        self.init(recordType: recordType, recordID: ID(zoneID: zoneID))
    }

    /// Creates a record from the server. Its assets have no files yet.
    ///
    /// - Parameter zoneID: The zone of the request, if the record does not name one.
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

    /// Returns an independent copy.
    open func copy(with zone: NSZone? = nil) -> Any { CKRecord(stored.value, recordID, scope: scope) }

    /// The type and the name, without fields.
    open override var description: String { "<CKRecord \(recordType) \(recordID.recordName)>" }

    // MARK: System fields

    /// The type of the record.
    public var recordType: RecordType { stored.value.recordType }
    /// The version on the server. `nil` before the record was saved.
    public var recordChangeTag: String? { stored.value.server?.recordChangeTag }
    /// When the record was first saved. `nil` before that.
    public var creationDate: Date? { date(stored.value.server?.created) }
    /// When the record was last saved. `nil` before that.
    public var modificationDate: Date? { date(stored.value.server?.modified) }
    /// The creator of the record. `nil` before it was saved.
    public var creatorUserRecordID: ID? { user(stored.value.server?.created) }
    /// The author of the last change. `nil` before it was saved.
    public var lastModifiedUserRecordID: ID? { user(stored.value.server?.modified) }

    private func date(_ stamp: RecordStamp?) -> Date? {
        stamp.flatMap { $0.timestamp <= RecordStamp.unknownTime ? nil : Date(timeIntervalSince1970: Double($0.timestamp) / 1000) }
    }

    private func user(_ stamp: RecordStamp?) -> ID? {
        stamp.flatMap { $0.userRecordName.isEmpty ? nil : ID(recordName: $0.userRecordName) }
    }

    // MARK: Fields

    /// Returns the value of a field. `nil` if it has none.
    public func object(forKey key: FieldKey) -> (any CKRecordValueProtocol)? {
        let state = stored.value
        guard !state.encrypted.contains(key) else { return nil }
        return state.appValue(key, in: recordID.zoneID, scope: scope)
    }

    /// Sets the value of a field. `nil` clears it.
    ///
    /// A value that fields cannot have traps, as it raises an exception on Apple's platforms: a number outside of
    /// signed 64 bits, an array of mixed types, a type that does not conform to ``CKRecordValueProtocol``. So does a
    /// key with an encrypted value that the app has set; one of the server is replaced.
    public func setObject(_ object: (any CKRecordValueProtocol)?, forKey key: FieldKey) {
        set(object, key, encrypted: false)
    }

    func set(_ object: (any CKRecordValueProtocol)?, _ key: FieldKey, encrypted: Bool) {
        var value: LocalValue?
        var dates: [Date]?
        if let object {
            value = LocalValue(object)
            dates = value?.isOfDates == true ? Self.dates(object) : nil
            precondition(value != nil, "field \(key) cannot have a value of this type; see CKRecordValueProtocol")
            if encrypted {
                precondition(value?.canBeEncrypted == true, "field \(key) cannot be encrypted: assets and references cannot be")
            }
        }
        stored.update { state in
            // A value of the server is replaced: a malicious server could mark it otherwise to end the process.
            let isSetHere = state.changed[key] != nil && state.values[key] != nil
            precondition(!isSetHere || state.encrypted.contains(key) == encrypted, "field \(key) is both encrypted and not")
            state.set(value, key, dates: dates)
            if encrypted { state.encrypted.insert(key) } else if value != nil { state.encrypted.remove(key) }
        }
    }

    private static func dates(_ object: any CKRecordValueProtocol) -> [Date]? {
        switch object {
        case let date as Date: [date]
        case let dates as [Date]: dates
        default: nil
        }
    }

    /// The keys of fields with a value, except encrypted ones, in alphabetical order.
    public func allKeys() -> [FieldKey] {
        let state = stored.value
        return state.values.keys.filter { !state.encrypted.contains($0) }.sorted()
    }

    /// The keys that were set or cleared since the record was created, fetched or saved, in alphabetical order,
    /// encrypted ones included.
    public func changedKeys() -> [FieldKey] { stored.value.changed.keys.sorted() }

    /// The words of all texts, for a local search.
    public func allTokens() -> [String] {
        var tokens: [String] = []
        for key in allKeys() {
            guard let text = object(forKey: key) as? String else { continue }
            tokens += text.components(separatedBy: .whitespacesAndNewlines).filter { !$0.isEmpty }
        }
        return tokens
    }

    /// The encrypted fields, which the server cannot read.
    public var encryptedValues: any CKRecordKeyValueSetting & Sendable { EncryptedValues(self) }

    // MARK: Archives

    /// `true`: archives may contain the class.
    open class var supportsSecureCoding: Bool { true }

    /// Decodes an archived record. Returns `nil` if the archive is damaged.
    public required convenience init?(coder: NSCoder) {
        guard let archived = ArchivedRecord(coder) else { return nil }
        self.init(archived.state, archived.recordID, scope: archived.scope)
    }

    /// Encodes the record.
    open func encode(with coder: NSCoder) { ArchivedRecord(self).encode(with: coder) }

    /// Encodes the system fields only: enough to save changes of the record later.
    public func encodeSystemFields(with coder: NSCoder) { ArchivedRecord(systemFieldsOf: self).encode(with: coder) }
}

extension CKRecord.State {
    /// Creates the state of a record from the server.
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
    /// Creates a value from the server, with assets extracted.
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

    var isOfDates: Bool {
        switch self {
        case .wire(.timestamp), .wire(.list(_, of: .timestamp)): true
        default: false
        }
    }

    /// Whether a field with this value can be encrypted.
    var canBeEncrypted: Bool {
        switch self {
        case .asset, .assets, .wire(.reference), .wire(.asset), .wire(.list(_, of: .reference)): false
        case .wire: true
        }
    }
}
