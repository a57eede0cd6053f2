// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

/// An account that is being removed, with all record names of its user.
package struct AccountRemoval: Hashable, Sendable {
    /// What becomes of records in public databases that the person created.
    package enum PublicRecords: String, Hashable, Sendable, CaseIterable {
        /// They stay, without the name of their creator.
        case keep
        case remove
    }

    package var account: Int64
    package var accountName: String
    package var publicRecords: PublicRecords
    /// User record names by container.
    package var userRecordNames: [String: String]
    package var emailAddress: String?
    package var phoneNumber: String?
    /// The person's own databases, with their keys.
    package var partitions: [Int64: Partition]

    /// Replaces the person's record names in data of others. No user has it, so it gives nobody a creator's rights; it is as long as a
    /// record name, so that sizes stay the same.
    package static let placeholder = "_00000000000000000000000000000000"

    /// A JSON string with the text, as bodies have it.
    package static func quoted(_ text: String) -> String { "\"\(text)\"" }

    package init(
        account: Int64, accountName: String, publicRecords: PublicRecords, userRecordNames: [String: String], emailAddress: String?,
        phoneNumber: String?, partitions: [Int64: Partition]
    ) {
        self.account = account
        self.accountName = accountName
        self.publicRecords = publicRecords
        self.userRecordNames = userRecordNames
        self.emailAddress = emailAddress
        self.phoneNumber = phoneNumber
        self.partitions = partitions
    }

    /// The person as shares of a container know them.
    func person(inContainer containerIdentifier: String) -> SharePerson {
        SharePerson(
            userRecordName: userRecordNames[containerIdentifier] ?? "", emailAddress: emailAddress, phoneNumber: phoneNumber)
    }
}

/// A record in a database of another owner that contains one of the person's names or addresses.
package struct RecordMention: Hashable, Sendable {
    /// Place in the order of the scan, for a storage that numbers its rows.
    package var number: Int64
    package var partition: Partition
    package var part: Int64
    package var zone: Int64
    /// Nil for a record of a zone that was deleted since.
    package var zoneName: String?
    package var record: Record

    package init(number: Int64, partition: Partition, part: Int64, zone: Int64, zoneName: String?, record: Record) {
        self.number = number
        self.partition = partition
        self.part = part
        self.zone = zone
        self.zoneName = zoneName
        self.record = record
    }
}

/// What a storage does for the removal of an account. Every step may be repeated, and none is one long unit of work.
package protocol RemovalStorage: Sendable {
    /// Ends all credentials of an account, in one unit of work. From then on it can't sign in, and its requests in flight can't write.
    ///
    /// Called again for an account that is being removed, it resumes.
    ///
    /// - Throws: `StorageFailure` with `.unknownName`.
    func beginRemoval(ofUser name: String, publicRecords: AccountRemoval.PublicRecords) async throws -> AccountRemoval

    /// Records of other owners' databases that contain one text.
    ///
    /// - Parameters:
    ///   - text: A user record name, an email address or a phone number.
    ///   - inShares: Whether only shares are searched, regardless of case.
    ///   - last: The last mention of the page before; nil at first.
    /// - Returns: A page in the order of the scan; empty at the end.
    func mentions(
        of text: String, inShares: Bool, after last: RecordMention?, _ removal: AccountRemoval
    ) async throws -> [RecordMention]

    /// Deletes a record with its tombstone, without a trace for clients. For databases without a feed of changes.
    func purge(_ mention: RecordMention) async throws

    /// Replaces the person's record names in the bodies of records, with names derived from them.
    func anonymize(_ mentions: [RecordMention], _ removal: AccountRemoval) async throws

    /// Deletes all other rows and files of the account, and replaces its names in other rows.
    ///
    /// - Parameter willRun: Called before each unit of work; an error ends the removal there.
    func removeRows(of removal: AccountRemoval, _ willRun: @Sendable () async throws -> Void) async throws

    /// Deletes the account itself: the last unit of work.
    func endRemoval(_ removal: AccountRemoval) async throws
}
