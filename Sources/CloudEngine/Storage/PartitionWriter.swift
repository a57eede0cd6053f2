// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Changes one partition. All or nothing; nothing is visible to others before the commit.
package protocol PartitionWriter: PartitionReader {
    /// Raises the partition's counter and returns its new value: the last of `count` new numbers.
    ///
    /// - Parameter usage: Added to the usage of the partition, as by ``addUsage(_:)``: both are in one row.
    func raiseCounter(by count: Int, adding usage: StoredBytes) throws -> Int64

    /// Stores a zone under its name, in place of the one that has the name.
    func save(_ zone: StoredZone, at now: Int64) throws
    /// Removes records, tombstones, links and index entries of a deleted zone, of each kind no more than `count`: one unit of work
    /// delays all others.
    ///
    /// - Returns: `false` if some are left.
    func removeContents(ofZone key: Int64, atMost count: Int, at now: Int64) throws -> Bool

    /// Stores records, deleted ones included, in place of those with the same names.
    func save(_ records: [StoredRecord], in zone: Int64, at now: Int64) throws

    /// Appends an entry to the change log. While the log of the partition has more than `bytesMax` bytes, the oldest ones are removed: by
    /// this entry, a later one, or the housekeeping of the next day.
    func append(_ entry: ChangeLogEntry, bytesMax: Int64) throws

    /// The index, made without entries if it is not there.
    func makeIndex(_ index: RecordIndex) throws -> StoredIndex
    /// Remembers how far the index has been built; nil means completely.
    func setBuilt(_ index: Int64, upTo place: RecordPlace?) throws
    func apply(_ changes: [IndexChange], in zone: Int64) throws

    /// Stores the schema of a record type, and replaces the stored one; nil removes the type.
    func save(_ schema: RecordTypeSchema?, ofType recordType: String) throws
    /// Leaves the type with the grants of a new one.
    func forgetGrants(ofType recordType: String) throws
    /// Remembers a record type and those of its fields that were not known.
    func learn(_ fields: [String: FieldSchema], ofType recordType: String) throws

    /// Adds to the number of fields in a zone that refer to assets. An asset without references is removed after a while.
    ///
    /// - Returns: The bytes of the assets that are referred to now and were not, less those of the assets that no longer are.
    func addLinks(_ differences: [String: Int], in zone: Int64, at now: Int64) throws -> Int64
    /// Adds to the usage of the partition; the usage of zones is stored with them.
    func addUsage(_ difference: StoredBytes) throws
    /// Adds to ``PartitionState/tombstones``: the deleted records of ``save(_:in:at:)``, less those that it made again.
    func addTombstones(_ difference: Int64) throws
    func save(_ uploads: [StoredUpload]) throws
    /// Restarts the time after which unreferenced files are deleted.
    func touch(assets checksums: [String], at now: Int64) throws

    func save(_ subscription: Subscription) throws
    func removeSubscription(id: String) throws

    /// Stored until the zone's contents are removed.
    func setClientToken(_ token: [UInt8], ofUser user: String, device: String, in zone: Int64) throws

    func remember(_ answer: StoredAnswer, forKey key: String, at now: Int64) throws
    /// Deletes stored answers, the oldest first, until at least so many bytes are free.
    ///
    /// - Parameter key: The key of an answer that stays.
    func removeAnswers(freeing bytes: Int64, exceptKey key: String?) throws

    // MARK: Access

    func setGrants(_ grants: SecurityGrants, ofType recordType: String) throws
    /// A role that is there already stays as it is.
    func addRole(_ role: String) throws
    func removeRole(_ role: String) throws
    func setRoles(_ roles: Set<String>, ofUser userRecordName: String) throws

    // MARK: Sharing

    func save(_ share: StoredShare, in zone: Int64) throws
    /// Removes a share, its members and its list of records.
    func removeShare(named name: String, in zone: Int64) throws
    func setMembers(_ members: [ShareMember], ofShare name: String, in zone: Int64) throws
    func raiseGeneration(ofUsers users: Set<String>, in zone: Int64) throws

    func setParent(_ parent: String?, of name: String, in zone: Int64) throws
    func place(_ name: String, inShare share: String, hasLeft: Bool, change: Int64, in zone: Int64) throws
    /// Removes all that is known of sharing in a zone, but for its links.
    func removeSharing(ofZone zone: Int64) throws

    /// The number of the link to a record, made on first use.
    func link(to name: String, in zone: Int64) throws -> Int64

    /// Remembers news for other partitions until they are delivered.
    func post(_ news: [ShareNews]) throws
    func removeNews(_ news: [ShareNews]) throws

    // MARK: References

    func apply(_ changes: [ReferenceChange], in zone: Int64) throws

    // MARK: Query subscriptions

    /// Removes a subscription of any user on the public database. It may be carried out after the unit, and more than
    /// once: a subscription that fires twice costs a notification.
    func retire(_ subscription: OwnedSubscription) throws

    // MARK: Save groups

    // Requests that were staged and have changed nothing. They expire after a day.

    /// Stores a request in place of the one with its number.
    func stage(_ request: StagedRequest, at now: Int64) throws
    /// Sizes of the staged requests of a group, in order.
    func stagedSizes(of group: StagedGroupKey) throws -> [StagedRequestSize]
    /// The body of a staged request; nil if it was removed, also by another process. Then its group is no longer there.
    func stagedBody(_ part: Int, of group: StagedGroupKey) throws -> [UInt8]?
    /// Groups of a user's devices with staged requests. The first is the one to which nothing was added for the longest time.
    func stagedGroups(ofUser userRecordName: String) throws -> [StagedGroup]
    func removeStaged(_ group: StagedGroupKey) throws
}

extension PartitionWriter {
    package func raiseCounter(by count: Int) throws -> Int64 { try raiseCounter(by: count, adding: StoredBytes()) }
}

/// The size of units of work, each of which delays all others.
package enum UnitOfWork {
    /// Rows of each table that one unit removes: 20 milliseconds of the writer's time, about.
    package static let removedRowsMax = 2000
}
