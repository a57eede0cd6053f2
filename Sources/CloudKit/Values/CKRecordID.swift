// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// A record's name and zone. Equal by value.
///
/// The name is that of the Objective-C class, since archives on Linux cannot contain nested classes.
///
/// Source: Apple's documentation of `CKRecord.ID`.
public final class CKRecordID: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The name, unique in the zone.
    public let recordName: String
    /// The zone.
    public let zoneID: CKRecordZone.ID

    /// Creates an identifier.
    ///
    /// - Parameters:
    ///   - recordName: At most 255 ASCII characters, without a leading underscore.
    ///   - zoneID: The zone.
    public init(recordName: String = UUID().uuidString, zoneID: CKRecordZone.ID = .default) {
        self.recordName = recordName
        self.zoneID = zoneID
    }

    /// Returns whether an object is an equal identifier.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordID else { return false }
        return recordName == other.recordName && zoneID == other.zoneID
    }

    /// A hash of the values that ``isEqual(_:)`` compares.
    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(recordName)
        hasher.combine(zoneID)
        return hasher.finalize()
    }

    /// The name and the zone.
    public override var description: String { "<CKRecord.ID \(recordName), zone \(zoneID.zoneName)>" }

    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived identifier. Returns `nil` if the archive is damaged.
    public init?(coder: NSCoder) {
        guard let recordName = coder.decodeObject(of: NSString.self, forKey: "recordName"),
            let zoneID = coder.decodeObject(of: CKRecordZone.ID.self, forKey: "zoneID")
        else { return nil }
        self.recordName = recordName as String
        self.zoneID = zoneID
    }

    /// Encodes the identifier.
    public func encode(with coder: NSCoder) {
        coder.encode(recordName as NSString, forKey: "recordName")
        coder.encode(zoneID, forKey: "zoneID")
    }
}

extension CKRecord {
    /// The type of a record's identifier.
    public typealias ID = CKRecordID

    /// The effect of a reference target's deletion on the referring record.
    public enum ReferenceAction: UInt, Sendable {
        /// The referring record stays, and its reference dangles.
        case none = 0
        /// The referring record is deleted by cascade.
        case deleteSelf = 1
    }

    /// The type of a reference.
    public typealias Reference = CKReference
}

/// The value of a field that refers to another record of the same database.
///
/// Source: Apple's documentation of `CKRecord.Reference`. The name is that of the Objective-C class, since archives on
/// Linux cannot contain nested classes.
public final class CKReference: NSObject, NSCopying, NSSecureCoding, Sendable {
    /// The type of the action.
    public typealias Action = CKRecord.ReferenceAction

    /// The identifier of the target.
    public let recordID: CKRecord.ID
    /// The effect of the target's deletion on the referring record.
    public let action: CKRecord.ReferenceAction

    /// Creates a reference to a record by its identifier.
    public init(recordID: CKRecord.ID, action: CKRecord.ReferenceAction) {
        self.recordID = recordID
        self.action = action
    }

    /// Creates a reference to a record.
    public convenience init(record: CKRecord, action: CKRecord.ReferenceAction) {
        self.init(recordID: record.recordID, action: action)
    }

    /// - Parameter zoneID: The zone of the referring record, if the reference names none.
    convenience init(_ reference: RecordReference, in zoneID: CKRecordZone.ID, scope: CKDatabase.Scope) {
        self.init(
            recordID: CKRecord.ID(
                recordName: reference.recordName,
                zoneID: reference.zoneID.map { CKRecordZone.ID($0, scope: scope) } ?? zoneID),
            action: reference.action == .deleteSelf ? .deleteSelf : .none)
    }

    var wire: RecordReference {
        RecordReference(
            recordName: recordID.recordName, zoneID: recordID.zoneID.wire,
            action: action == .deleteSelf ? .deleteSelf : .none)
    }

    /// Returns whether an object is an equal reference.
    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKReference else { return false }
        return recordID == other.recordID && action == other.action
    }

    /// A hash of the values that ``isEqual(_:)`` compares.
    public override var hash: Int { recordID.hash }

    /// The name of the target.
    public override var description: String { "<CKRecord.Reference \(recordID.recordName)>" }

    /// Returns the object itself, which is immutable.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    /// `true`: archives may contain the class.
    public static var supportsSecureCoding: Bool { true }

    /// Decodes an archived reference. Returns `nil` if the archive is damaged.
    public init?(coder: NSCoder) {
        guard let recordID = coder.decodeObject(of: CKRecord.ID.self, forKey: "recordID"), coder.decodeInteger(forKey: "action") >= 0,
            let action = CKRecord.ReferenceAction(rawValue: UInt(coder.decodeInteger(forKey: "action")))
        else { return nil }
        self.recordID = recordID
        self.action = action
    }

    /// Encodes the reference.
    public func encode(with coder: NSCoder) {
        coder.encode(recordID, forKey: "recordID")
        coder.encode(Int(action.rawValue), forKey: "action")
    }
}
