// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Source: Apple's documentation of each name; values as published in the headers' open-source bindings.
extension CKRecord {
    /// Types of records that the server defines.
    public enum SystemType {
        /// The type of shares.
        public static let share: RecordType = "cloudkit.share"
        /// The type of users' records.
        public static let userRecord: RecordType = "Users"
    }

    /// Keys of the system fields, for queries.
    public enum SystemFieldKey {
        /// The key of the record's identifier.
        public static let recordID: FieldKey = "___recordID"
        /// The key of the creation date.
        public static let creationDate: FieldKey = "___createTime"
        /// The key of the creator.
        public static let creatorUserRecordID: FieldKey = "___createdBy"
        /// The key of the date of the last change.
        public static let modificationDate: FieldKey = "___modTime"
        /// The key of the author of the last change.
        public static let lastModifiedUserRecordID: FieldKey = "___modifiedBy"
        /// The key of the parent reference.
        public static let parent: FieldKey = "___parent"
        /// The key of the share reference.
        public static let share: FieldKey = "___share"
    }
}

/// The type of shares.
public let CKRecordTypeShare = CKRecord.SystemType.share
/// The type of users' records.
public let CKRecordTypeUserRecord = CKRecord.SystemType.userRecord
/// The key of the parent reference.
public let CKRecordParentKey = CKRecord.SystemFieldKey.parent
/// The key of the share reference.
public let CKRecordShareKey = CKRecord.SystemFieldKey.share
/// The record name of the share of a whole zone.
public let CKRecordNameZoneWideShare = "cloudkit.zoneshare"

/// The owner name of the signed-in user.
@available(*, deprecated, renamed: "CKCurrentUserDefaultName")
public let CKOwnerDefaultName = CKCurrentUserDefaultName
