// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

// Generated from Tests/Surface/Records.txt. To regenerate it: REWRITE_GOLDEN=1 swift test --filter SurfaceTests

import CloudKit
import Foundation
import Testing

@Suite struct RecordsSurfaceTests {
    @Test func constantsHaveTheirDocumentedValues() {
        expectDocumented("CKRecord.SystemType.userRecord", CKRecord.SystemType.userRecord, "Users")
        expectDocumented("CKRecord.SystemType.share", CKRecord.SystemType.share, "cloudkit.share")
        expectDocumented("CKRecord.SystemFieldKey.recordID", CKRecord.SystemFieldKey.recordID, "___recordID")
        expectDocumented("CKRecord.SystemFieldKey.creationDate", CKRecord.SystemFieldKey.creationDate, "___createTime")
        expectDocumented("CKRecord.SystemFieldKey.creatorUserRecordID", CKRecord.SystemFieldKey.creatorUserRecordID, "___createdBy")
        expectDocumented("CKRecord.SystemFieldKey.modificationDate", CKRecord.SystemFieldKey.modificationDate, "___modTime")
        expectDocumented("CKRecord.SystemFieldKey.lastModifiedUserRecordID", CKRecord.SystemFieldKey.lastModifiedUserRecordID, "___modifiedBy")
        expectDocumented("CKRecord.SystemFieldKey.parent", CKRecord.SystemFieldKey.parent, "___parent")
        expectDocumented("CKRecord.SystemFieldKey.share", CKRecord.SystemFieldKey.share, "___share")
        expectDocumented("CKRecord.ReferenceAction.none", CKRecord.ReferenceAction.none, 0)
        expectDocumented("CKRecord.ReferenceAction.deleteSelf", CKRecord.ReferenceAction.deleteSelf, 1)
        expectDocumented("CKRecordZone.ID.defaultZoneName", CKRecordZone.ID.defaultZoneName, "_defaultZone")
        expectDocumented("CKRecordZone.Capabilities.fetchChanges", CKRecordZone.Capabilities.fetchChanges, 1)
        expectDocumented("CKRecordZone.Capabilities.atomic", CKRecordZone.Capabilities.atomic, 2)
        expectDocumented("CKRecordZone.Capabilities.sharing", CKRecordZone.Capabilities.sharing, 4)
        expectDocumented("CKRecordZone.Capabilities.zoneWideSharing", CKRecordZone.Capabilities.zoneWideSharing, 8)
        expectDocumented("CKRecordTypeUserRecord", CKRecordTypeUserRecord, "Users")
        expectDocumented("CKRecordTypeShare", CKRecordTypeShare, "cloudkit.share")
        expectDocumented("CKRecordNameZoneWideShare", CKRecordNameZoneWideShare, "cloudkit.zoneshare")
        expectDocumented("CKRecordParentKey", CKRecordParentKey, "___parent")
        expectDocumented("CKRecordShareKey", CKRecordShareKey, "___share")
        expectDocumented("CKRecordZoneDefaultName", CKRecordZoneDefaultName, "_defaultZone")
        expectDocumented("CKCurrentUserDefaultName", CKCurrentUserDefaultName, "__defaultOwner__")
    }

    @Test func membersHaveTheirDocumentedTypes() {
        Self.usesCKRecord()
        Self.usesCKRecordKeyValueSetting()
        Self.usesCKRecordKeyValueIterator()
        Self.usesString()
        Self.usesInt()
        Self.usesInt8()
        Self.usesInt16()
        Self.usesInt32()
        Self.usesInt64()
        Self.usesUInt()
        Self.usesUInt8()
        Self.usesUInt16()
        Self.usesUInt32()
        Self.usesUInt64()
        Self.usesFloat()
        Self.usesDouble()
        Self.usesBool()
        Self.usesDate()
        Self.usesData()
        Self.usesArrayString()
        Self.usesNSString()
        Self.usesNSNumber()
        Self.usesNSDate()
        Self.usesNSData()
        Self.usesNSArray()
        Self.usesCLLocation()
        Self.usesCKRecordSystemType()
        Self.usesCKRecordSystemFieldKey()
        Self.usesCKRecordID()
        Self.usesCKRecordReference()
        Self.usesCKRecordReferenceAction()
        Self.usesCKAsset()
        Self.usesCKRecordZone()
        Self.usesCKRecordZoneID()
        Self.usesCKRecordZoneCapabilities()
        Self.usesCKServerChangeToken()
        Self.usesCKQuery()
        Self.usesCKLocationSortDescriptor()
        Self.usesGlobals()
    }

    private static func usesCKRecord() {
        _ = { (x: CKRecord) -> NSObject in x }
        _ = { (x: CKRecord) -> any NSSecureCoding in x }
        _ = { (x: CKRecord) -> any NSCopying in x }
        _ = { (x: CKRecord) -> any CKRecordKeyValueSetting in x }
        _ = { (x: CKRecord) -> any Sendable in x }
        _ = { (x: [CKRecord.RecordType]) -> [String] in x }
        _ = { (x: [CKRecord.FieldKey]) -> [String] in x }
        _ = { (x: [CKRecord.Reference.Action]) -> [CKRecord.ReferenceAction] in x }
        _ = { (a0: CKRecord.RecordType, a1: CKRecord.ID) -> CKRecord in CKRecord(recordType: a0, recordID: a1) }
        _ = { (a0: CKRecord.RecordType) -> CKRecord in CKRecord(recordType: a0) }
        _ = { (a0: NSCoder) -> CKRecord? in CKRecord(coder: a0) }
        let _: KeyPath<CKRecord, CKRecord.RecordType> = \.recordType
        let _: KeyPath<CKRecord, CKRecord.ID> = \.recordID
        let _: KeyPath<CKRecord, String?> = \.recordChangeTag
        let _: KeyPath<CKRecord, CKRecord.ID?> = \.creatorUserRecordID
        let _: KeyPath<CKRecord, Date?> = \.creationDate
        let _: KeyPath<CKRecord, CKRecord.ID?> = \.lastModifiedUserRecordID
        let _: KeyPath<CKRecord, Date?> = \.modificationDate
        _ = { (x: CKRecord, key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? in x[key] }
        _ = { (x: CKRecord, key: CKRecord.FieldKey, value: (any __CKRecordObjCValue)?) in x[key] = value }
        _ = { (x: CKRecord, key: CKRecord.FieldKey) -> String? in x[key] }
        _ = { (x: CKRecord, key: CKRecord.FieldKey, value: String?) in x[key] = value }
        _ = { (x: CKRecord, key: CKRecord.FieldKey) -> [Int64]? in x[key] }
        _ = { (x: CKRecord, key: CKRecord.FieldKey, value: [Int64]?) in x[key] = value }
        _ = { (x: CKRecord, a0: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? in x.object(forKey: a0) }
        _ = { (x: CKRecord, a0: (any __CKRecordObjCValue)?, a1: CKRecord.FieldKey) -> Void in x.setObject(a0, forKey: a1) }
        _ = { (x: CKRecord, a0: String) -> Any? in x.value(forKey: a0) }
        _ = { (x: CKRecord, a0: Any?, a1: String) -> Void in x.setValue(a0, forKey: a1) }
        _ = { (x: CKRecord) -> [CKRecord.FieldKey] in x.allKeys() }
        _ = { (x: CKRecord) -> [CKRecord.FieldKey] in x.changedKeys() }
        _ = { (x: CKRecord) -> [String] in x.allTokens() }
        let _: KeyPath<CKRecord, any CKRecordKeyValueSetting & Sendable> = \.encryptedValues
        _ = { (x: CKRecord, a0: NSCoder) -> Void in x.encodeSystemFields(with: a0) }
        let _: ReferenceWritableKeyPath<CKRecord, CKRecord.Reference?> = \.parent
        _ = { (x: CKRecord, a0: CKRecord?) -> Void in x.setParent(a0) }
        _ = { (x: CKRecord, a0: CKRecord.ID?) -> Void in x.setParent(a0) }
        let _: KeyPath<CKRecord, CKRecord.Reference?> = \.share
        _ = { (x: CKRecord) -> CKRecordKeyValueIterator in x.makeIterator() }
    }

    @available(*, deprecated)
    private static func usesDeprecatedCKRecord() {
        _ = { (a0: CKRecord.RecordType, a1: CKRecordZone.ID) -> CKRecord in CKRecord(recordType: a0, zoneID: a1) }
    }

    private static func usesCKRecordKeyValueSetting() {
        _ = (any CKRecordKeyValueSetting).self
        _ = { (x: any CKRecordKeyValueSetting, key: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? in x[key] }
        _ = { (x: any CKRecordKeyValueSetting, key: CKRecord.FieldKey, value: (any __CKRecordObjCValue)?) in x[key] = value }
        _ = { (x: any CKRecordKeyValueSetting, a0: CKRecord.FieldKey) -> (any __CKRecordObjCValue)? in x.object(forKey: a0) }
        _ = { (x: any CKRecordKeyValueSetting, a0: (any __CKRecordObjCValue)?, a1: CKRecord.FieldKey) -> Void in x.setObject(a0, forKey: a1) }
        _ = { (x: any CKRecordKeyValueSetting) -> [CKRecord.FieldKey] in x.allKeys() }
        _ = { (x: any CKRecordKeyValueSetting) -> [CKRecord.FieldKey] in x.changedKeys() }
    }

    private static func usesCKRecordKeyValueIterator() {
        _ = { (x: CKRecordKeyValueIterator) -> any IteratorProtocol in x }
    }

    private static func usesString() {
        _ = { (x: String) -> any CKRecordValueProtocol in x }
    }

    private static func usesInt() {
        _ = { (x: Int) -> any CKRecordValueProtocol in x }
    }

    private static func usesInt8() {
        _ = { (x: Int8) -> any CKRecordValueProtocol in x }
    }

    private static func usesInt16() {
        _ = { (x: Int16) -> any CKRecordValueProtocol in x }
    }

    private static func usesInt32() {
        _ = { (x: Int32) -> any CKRecordValueProtocol in x }
    }

    private static func usesInt64() {
        _ = { (x: Int64) -> any CKRecordValueProtocol in x }
    }

    private static func usesUInt() {
        _ = { (x: UInt) -> any CKRecordValueProtocol in x }
    }

    private static func usesUInt8() {
        _ = { (x: UInt8) -> any CKRecordValueProtocol in x }
    }

    private static func usesUInt16() {
        _ = { (x: UInt16) -> any CKRecordValueProtocol in x }
    }

    private static func usesUInt32() {
        _ = { (x: UInt32) -> any CKRecordValueProtocol in x }
    }

    private static func usesUInt64() {
        _ = { (x: UInt64) -> any CKRecordValueProtocol in x }
    }

    private static func usesFloat() {
        _ = { (x: Float) -> any CKRecordValueProtocol in x }
    }

    private static func usesDouble() {
        _ = { (x: Double) -> any CKRecordValueProtocol in x }
    }

    private static func usesBool() {
        _ = { (x: Bool) -> any CKRecordValueProtocol in x }
    }

    private static func usesDate() {
        _ = { (x: Date) -> any CKRecordValueProtocol in x }
    }

    private static func usesData() {
        _ = { (x: Data) -> any CKRecordValueProtocol in x }
    }

    private static func usesArrayString() {
        _ = { (x: Array<String>) -> any CKRecordValueProtocol in x }
    }

    private static func usesNSString() {
        _ = { (x: NSString) -> any CKRecordValueProtocol in x }
    }

    private static func usesNSNumber() {
        _ = { (x: NSNumber) -> any CKRecordValueProtocol in x }
    }

    private static func usesNSDate() {
        _ = { (x: NSDate) -> any CKRecordValueProtocol in x }
    }

    private static func usesNSData() {
        _ = { (x: NSData) -> any CKRecordValueProtocol in x }
    }

    private static func usesNSArray() {
        _ = { (x: NSArray) -> any CKRecordValueProtocol in x }
    }

    private static func usesCLLocation() {
        _ = { (x: CLLocation) -> any CKRecordValueProtocol in x }
    }

    private static func usesCKRecordSystemType() {
        _ = CKRecord.SystemType.self
        _ = { () -> CKRecord.RecordType in CKRecord.SystemType.userRecord }
        _ = { () -> CKRecord.RecordType in CKRecord.SystemType.share }
    }

    private static func usesCKRecordSystemFieldKey() {
        _ = CKRecord.SystemFieldKey.self
        _ = { () -> CKRecord.FieldKey in CKRecord.SystemFieldKey.recordID }
        _ = { () -> CKRecord.FieldKey in CKRecord.SystemFieldKey.creationDate }
        _ = { () -> CKRecord.FieldKey in CKRecord.SystemFieldKey.creatorUserRecordID }
        _ = { () -> CKRecord.FieldKey in CKRecord.SystemFieldKey.modificationDate }
        _ = { () -> CKRecord.FieldKey in CKRecord.SystemFieldKey.lastModifiedUserRecordID }
        _ = { () -> CKRecord.FieldKey in CKRecord.SystemFieldKey.parent }
        _ = { () -> CKRecord.FieldKey in CKRecord.SystemFieldKey.share }
    }

    private static func usesCKRecordID() {
        _ = { (x: CKRecord.ID) -> NSObject in x }
        _ = { (x: CKRecord.ID) -> any NSSecureCoding in x }
        _ = { (x: CKRecord.ID) -> any NSCopying in x }
        _ = { (x: CKRecord.ID) -> any Sendable in x }
        _ = { (a0: String, a1: CKRecordZone.ID) -> CKRecord.ID in CKRecord.ID(recordName: a0, zoneID: a1) }
        _ = { () -> CKRecord.ID in CKRecord.ID() }
        _ = { (a0: NSCoder) -> CKRecord.ID? in CKRecord.ID(coder: a0) }
        let _: KeyPath<CKRecord.ID, String> = \.recordName
        let _: KeyPath<CKRecord.ID, CKRecordZone.ID> = \.zoneID
    }

    private static func usesCKRecordReference() {
        _ = { (x: CKRecord.Reference) -> NSObject in x }
        _ = { (x: CKRecord.Reference) -> any NSSecureCoding in x }
        _ = { (x: CKRecord.Reference) -> any NSCopying in x }
        _ = { (x: CKRecord.Reference) -> any Sendable in x }
        _ = { (x: CKRecord.Reference) -> any CKRecordValueProtocol in x }
        _ = { (a0: CKRecord.ID, a1: CKRecord.ReferenceAction) -> CKRecord.Reference in CKRecord.Reference(recordID: a0, action: a1) }
        _ = { (a0: CKRecord, a1: CKRecord.ReferenceAction) -> CKRecord.Reference in CKRecord.Reference(record: a0, action: a1) }
        _ = { (a0: NSCoder) -> CKRecord.Reference? in CKRecord.Reference(coder: a0) }
        let _: KeyPath<CKRecord.Reference, CKRecord.ID> = \.recordID
        let _: KeyPath<CKRecord.Reference, CKRecord.ReferenceAction> = \.action
    }

    private static func usesCKRecordReferenceAction() {
        _ = CKRecord.ReferenceAction.self
        _ = { () -> CKRecord.ReferenceAction in .none }
        _ = { () -> CKRecord.ReferenceAction in .deleteSelf }
    }

    private static func usesCKAsset() {
        _ = { (x: CKAsset) -> NSObject in x }
        _ = { (x: CKAsset) -> any NSSecureCoding in x }
        _ = { (x: CKAsset) -> any NSCopying in x }
        _ = { (x: CKAsset) -> any Sendable in x }
        _ = { (x: CKAsset) -> any CKRecordValueProtocol in x }
        _ = { (a0: URL) -> CKAsset in CKAsset(fileURL: a0) }
        let _: KeyPath<CKAsset, URL?> = \.fileURL
    }

    private static func usesCKRecordZone() {
        _ = { (x: CKRecordZone) -> NSObject in x }
        _ = { (x: CKRecordZone) -> any NSSecureCoding in x }
        _ = { (x: CKRecordZone) -> any NSCopying in x }
        _ = { (x: CKRecordZone) -> any Sendable in x }
        _ = { () -> CKRecordZone in CKRecordZone.`default`() }
        _ = { (a0: String) -> CKRecordZone in CKRecordZone(zoneName: a0) }
        _ = { (a0: CKRecordZone.ID) -> CKRecordZone in CKRecordZone(zoneID: a0) }
        _ = { (a0: NSCoder) -> CKRecordZone? in CKRecordZone(coder: a0) }
        let _: KeyPath<CKRecordZone, CKRecordZone.ID> = \.zoneID
        let _: KeyPath<CKRecordZone, CKRecordZone.Capabilities> = \.capabilities
        let _: KeyPath<CKRecordZone, CKRecord.Reference?> = \.share
    }

    private static func usesCKRecordZoneID() {
        _ = { (x: CKRecordZone.ID) -> NSObject in x }
        _ = { (x: CKRecordZone.ID) -> any NSSecureCoding in x }
        _ = { (x: CKRecordZone.ID) -> any NSCopying in x }
        _ = { (x: CKRecordZone.ID) -> any Sendable in x }
        _ = { (a0: String, a1: String) -> CKRecordZone.ID in CKRecordZone.ID(zoneName: a0, ownerName: a1) }
        _ = { () -> CKRecordZone.ID in CKRecordZone.ID() }
        _ = { (a0: NSCoder) -> CKRecordZone.ID? in CKRecordZone.ID(coder: a0) }
        let _: KeyPath<CKRecordZone.ID, String> = \.zoneName
        let _: KeyPath<CKRecordZone.ID, String> = \.ownerName
        _ = { () -> CKRecordZone.ID in CKRecordZone.ID.`default` }
        _ = { () -> String in CKRecordZone.ID.defaultZoneName }
    }

    private static func usesCKRecordZoneCapabilities() {
        _ = { (x: CKRecordZone.Capabilities) -> any OptionSet in x }
        _ = { (x: CKRecordZone.Capabilities) -> any Sendable in x }
        _ = { () -> CKRecordZone.Capabilities in CKRecordZone.Capabilities.fetchChanges }
        _ = { () -> CKRecordZone.Capabilities in CKRecordZone.Capabilities.atomic }
        _ = { () -> CKRecordZone.Capabilities in CKRecordZone.Capabilities.sharing }
        _ = { () -> CKRecordZone.Capabilities in CKRecordZone.Capabilities.zoneWideSharing }
    }

    private static func usesCKServerChangeToken() {
        _ = { (x: CKServerChangeToken) -> NSObject in x }
        _ = { (x: CKServerChangeToken) -> any NSSecureCoding in x }
        _ = { (x: CKServerChangeToken) -> any NSCopying in x }
        _ = { (x: CKServerChangeToken) -> any Sendable in x }
    }

    private static func usesCKQuery() {
        _ = { (x: CKQuery) -> NSObject in x }
        _ = { (x: CKQuery) -> any NSSecureCoding in x }
        _ = { (x: CKQuery) -> any NSCopying in x }
        _ = { (a0: CKRecord.RecordType, a1: NSPredicate) -> CKQuery in CKQuery(recordType: a0, predicate: a1) }
        _ = { (a0: NSCoder) -> CKQuery? in CKQuery(coder: a0) }
        let _: KeyPath<CKQuery, CKRecord.RecordType> = \.recordType
        let _: KeyPath<CKQuery, NSPredicate> = \.predicate
        let _: ReferenceWritableKeyPath<CKQuery, [NSSortDescriptor]?> = \.sortDescriptors
    }

    private static func usesCKLocationSortDescriptor() {
        _ = { (x: CKLocationSortDescriptor) -> NSSortDescriptor in x }
        _ = { (a0: String, a1: CLLocation) -> CKLocationSortDescriptor in CKLocationSortDescriptor(key: a0, relativeLocation: a1) }
        let _: KeyPath<CKLocationSortDescriptor, CLLocation> = \.relativeLocation
    }

    private static func usesGlobals() {
        _ = { () -> CKRecord.RecordType in CKRecordTypeUserRecord }
        _ = { () -> CKRecord.RecordType in CKRecordTypeShare }
        _ = { () -> String in CKRecordNameZoneWideShare }
        _ = { () -> String in CKRecordParentKey }
        _ = { () -> String in CKRecordShareKey }
        _ = { () -> String in CKRecordZoneDefaultName }
        _ = { () -> String in CKCurrentUserDefaultName }
    }

    @available(*, deprecated)
    private static func usesDeprecatedGlobals() {
        _ = { () -> String in CKOwnerDefaultName }
    }

    static var propertiesOfCKRecord: [(name: String, path: PartialKeyPath<CKRecord>)] {
        [
            ("recordType", \.recordType),
            ("recordID", \.recordID),
            ("recordChangeTag", \.recordChangeTag),
            ("creatorUserRecordID", \.creatorUserRecordID),
            ("creationDate", \.creationDate),
            ("lastModifiedUserRecordID", \.lastModifiedUserRecordID),
            ("modificationDate", \.modificationDate),
            ("encryptedValues", \.encryptedValues),
            ("parent", \.parent),
            ("share", \.share),
        ]
    }

    static var propertiesOfCKRecordID: [(name: String, path: PartialKeyPath<CKRecord.ID>)] {
        [
            ("recordName", \.recordName),
            ("zoneID", \.zoneID),
        ]
    }

    static var propertiesOfCKRecordReference: [(name: String, path: PartialKeyPath<CKRecord.Reference>)] {
        [
            ("recordID", \.recordID),
            ("action", \.action),
        ]
    }

    static var propertiesOfCKAsset: [(name: String, path: PartialKeyPath<CKAsset>)] {
        [
            ("fileURL", \.fileURL),
        ]
    }

    static var propertiesOfCKRecordZone: [(name: String, path: PartialKeyPath<CKRecordZone>)] {
        [
            ("zoneID", \.zoneID),
            ("capabilities", \.capabilities),
            ("share", \.share),
        ]
    }

    static var propertiesOfCKRecordZoneID: [(name: String, path: PartialKeyPath<CKRecordZone.ID>)] {
        [
            ("zoneName", \.zoneName),
            ("ownerName", \.ownerName),
        ]
    }

    static var propertiesOfCKQuery: [(name: String, path: PartialKeyPath<CKQuery>)] {
        [
            ("recordType", \.recordType),
            ("predicate", \.predicate),
            ("sortDescriptors", \.sortDescriptors),
        ]
    }

    static var propertiesOfCKLocationSortDescriptor: [(name: String, path: PartialKeyPath<CKLocationSortDescriptor>)] {
        [
            ("relativeLocation", \.relativeLocation),
        ]
    }
}
