// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Source: Apple's documentation of each name; values as published in the headers' open-source bindings.
extension CKRecord {
    public enum SystemType {
        public static let share: RecordType = "cloudkit.share"
        public static let userRecord: RecordType = "Users"
    }

    public enum SystemFieldKey {
        public static let recordID: FieldKey = "___recordID"
        public static let creationDate: FieldKey = "___createTime"
        public static let creatorUserRecordID: FieldKey = "___createdBy"
        public static let modificationDate: FieldKey = "___modTime"
        public static let lastModifiedUserRecordID: FieldKey = "___modifiedBy"
        public static let parent: FieldKey = "___parent"
        public static let share: FieldKey = "___share"
    }
}

public let CKRecordTypeShare = CKRecord.SystemType.share
public let CKRecordTypeUserRecord = CKRecord.SystemType.userRecord
public let CKRecordParentKey = CKRecord.SystemFieldKey.parent
public let CKRecordShareKey = CKRecord.SystemFieldKey.share
public let CKRecordNameZoneWideShare = "cloudkit.zoneshare"

@available(*, deprecated, renamed: "CKCurrentUserDefaultName")
public let CKOwnerDefaultName = CKCurrentUserDefaultName
