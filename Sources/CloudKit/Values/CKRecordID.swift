// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
public import Foundation

/// A record's name and zone. Equal by value.
///
/// The name is that of the Objective-C class; archives on Linux hold classes that are not nested only.
///
/// Source: Apple's documentation of `CKRecord.ID`.
public final class CKRecordID: NSObject, NSCopying, NSSecureCoding, Sendable {
    public let recordName: String
    public let zoneID: CKRecordZone.ID

    /// - Parameter recordName: At most 255 ASCII characters, without an underscore in front.
    public init(recordName: String = UUID().uuidString, zoneID: CKRecordZone.ID = .default) {
        self.recordName = recordName
        self.zoneID = zoneID
    }

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKRecordID else { return false }
        return recordName == other.recordName && zoneID == other.zoneID
    }

    public override var hash: Int {
        var hasher = Hasher()
        hasher.combine(recordName)
        hasher.combine(zoneID)
        return hasher.finalize()
    }

    public override var description: String { "<CKRecord.ID \(recordName), zone \(zoneID.zoneName)>" }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    public static var supportsSecureCoding: Bool { true }

    public init?(coder: NSCoder) {
        guard let recordName = coder.decodeObject(of: NSString.self, forKey: "recordName"),
            let zoneID = coder.decodeObject(of: CKRecordZone.ID.self, forKey: "zoneID")
        else { return nil }
        self.recordName = recordName as String
        self.zoneID = zoneID
    }

    public func encode(with coder: NSCoder) {
        coder.encode(recordName as NSString, forKey: "recordName")
        coder.encode(zoneID, forKey: "zoneID")
    }
}

extension CKRecord {
    public typealias ID = CKRecordID

    /// What deleting the target of a reference does to the record that refers to it.
    public enum ReferenceAction: UInt, Sendable {
        case none = 0
        case deleteSelf = 1
    }

    public typealias Reference = CKReference
}

/// The value of a field that names another record of the same database.
///
/// Source: Apple's documentation of `CKRecord.Reference`.
/// The name is that of the Objective-C class; archives on Linux hold classes that are not nested only.
public final class CKReference: NSObject, NSCopying, NSSecureCoding, Sendable {
    public typealias Action = CKRecord.ReferenceAction

    public let recordID: CKRecord.ID
    public let action: CKRecord.ReferenceAction

    public init(recordID: CKRecord.ID, action: CKRecord.ReferenceAction) {
        self.recordID = recordID
        self.action = action
    }

    public convenience init(record: CKRecord, action: CKRecord.ReferenceAction) {
        self.init(recordID: record.recordID, action: action)
    }

    /// - Parameter zoneID: The zone of the record that refers, where the reference names none.
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

    public override func isEqual(_ object: Any?) -> Bool {
        guard let other = object as? CKReference else { return false }
        return recordID == other.recordID && action == other.action
    }

    public override var hash: Int { recordID.hash }

    public override var description: String { "<CKRecord.Reference \(recordID.recordName)>" }

    public func copy(with zone: NSZone? = nil) -> Any { self }

    // MARK: Archives

    public static var supportsSecureCoding: Bool { true }

    public init?(coder: NSCoder) {
        guard let recordID = coder.decodeObject(of: CKRecord.ID.self, forKey: "recordID"), coder.decodeInteger(forKey: "action") >= 0,
            let action = CKRecord.ReferenceAction(rawValue: UInt(coder.decodeInteger(forKey: "action")))
        else { return nil }
        self.recordID = recordID
        self.action = action
    }

    public func encode(with coder: NSCoder) {
        coder.encode(recordID, forKey: "recordID")
        coder.encode(Int(action.rawValue), forKey: "action")
    }
}
