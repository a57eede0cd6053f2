// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Reading one partition. Functions take many keys at once so that a database over a wire needs few round trips.
package protocol PartitionView: AccessView, SharingView, ReferenceView, QuerySubscriptionView {
    func state() throws -> PartitionState
    /// Where the last restore cut the history; nil for a partition that was never restored.
    func restorePoint() throws -> RestorePoint?

    /// A zone by name, deleted or not.
    func zone(named name: String) throws -> StoredZone?
    /// Zones that are there, the default zone included if it was ever written to, by name.
    func zones() throws -> [StoredZone]
    /// Custom zones that changed or were deleted after a number, in order of change.
    func zones(changedAfter change: Int64, limit: Int) throws -> [StoredZone]

    /// Records of a zone by name, deleted ones included.
    func records(named names: [String], in zone: Int64) throws -> [String: StoredRecord]
    /// Records of a zone by the numbers of their last changes, in order of change.
    ///
    /// - Parameters:
    ///   - includingDeleted: Whether deleted records are listed too.
    ///   - limit: Records at most.
    ///   - bytesMax: Stops after the record that passes this size; at least one record comes if there is one.
    func records(
        _ slice: ChangeSlice, in zone: Int64, includingDeleted: Bool, limit: Int, bytesMax: Int
    ) throws -> [StoredRecord]

    /// The same one after the other, each as `Record.encoded()` wrote it, until `visit` returns false.
    func recordTexts(
        _ slice: ChangeSlice, in zone: Int64, includingDeleted: Bool,
        _ visit: (_ text: UnsafeRawBufferPointer, _ change: Int64) throws -> Bool
    ) throws

    /// How many changes there are in a part of a zone's history, all of it or some shares' part; counting ends at `limit`.
    func count(_ slice: ChangeSlice, in zone: Int64, shares: [String]?, includingDeleted: Bool, atMost limit: Int) throws -> Int

    /// What the fields of a record type hold, or nil for a type that was never used in this container and environment.
    func schema(ofType recordType: String) throws -> RecordTypeSchema?
    /// Record types of this container and environment, by name.
    func recordTypes() throws -> [String]

    /// Indexes there are for the records of a type, built or not.
    func indexes(ofType recordType: String) throws -> [StoredIndex]
    /// Goes along a part of an index, with the records, until `visit` returns false.
    func scan(_ scan: IndexScan, _ visit: (IndexRow) throws -> Bool) throws
    /// Entries in a part of an index; counting ends at `limit`.
    func count(_ scan: IndexScan, atMost limit: Int) throws -> Int
    /// Records that are there, by zone and name.
    func records(after place: RecordPlace?, limit: Int) throws -> [(place: RecordPlace, record: Record)]

    /// The time from which on it is known what records were; nil if nothing is kept.
    func historyStart(now: Int64) throws -> Int64?
    /// The records of a zone, deleted or not, as they were at a time; without those that are only remembered as deleted.
    func records(ofZone key: Int64, at time: Int64) throws -> [String: Record]

    func subscriptions() throws -> [Subscription]
    func subscription(id: String) throws -> Subscription?

    func upload(id: String) throws -> StoredUpload?
    /// Whether records of a zone may refer to assets; false means that none does.
    func hasAssets(inZone zone: Int64) throws -> Bool
    func asset(checksum: String) throws -> StoredAsset?
    /// Bytes of the uploads of the last day that no record refers to, those that arrive in parts as far as they are.
    func unusedUploadBytes() throws -> Int64
    /// How many fields in a zone refer to assets; those that none refers to are left out.
    func links(toAssets checksums: [String], in zone: Int64) throws -> [String: Int]

    func answer(toKey key: String) throws -> StoredAnswer?

    /// What a device of a user sent last as its token of a zone.
    func clientToken(ofUser user: String, device: String, in zone: Int64) throws -> [UInt8]?
}

/// Changing one partition. All or nothing; nothing is visible to others before the unit's commit.
package protocol UnitOfWork: PartitionView, AccessWork, SharingWork, ReferenceWork, QuerySubscriptionWork, SaveGroupWork {
    /// Raises the partition's counter and returns its new value: the last of `count` new numbers.
    func raiseCounter(by count: Int) throws -> Int64

    /// Stores a zone under its name, in place of the one that has the name.
    func save(_ zone: StoredZone, at now: Int64) throws
    /// Removes the records, remembered deletions and links of a zone.
    func removeContents(ofZone key: Int64, at now: Int64) throws

    /// Stores records, deleted ones included, in place of those with the same names.
    func save(_ records: [StoredRecord], in zone: Int64, at now: Int64) throws

    /// The index, made without entries if it is not there.
    func makeIndex(_ index: RecordIndex) throws -> StoredIndex
    /// Remembers how far the index has been built; nil means completely.
    func setBuilt(_ index: Int64, upTo place: RecordPlace?) throws
    func apply(_ changes: [IndexChange], in zone: Int64) throws

    /// Stores what is known of a record type in place of what was; nil forgets the type.
    func save(_ schema: RecordTypeSchema?, ofType recordType: String) throws
    /// Leaves the type with the grants of a new one.
    func forgetGrants(ofType recordType: String) throws
    /// Remembers a record type and those of its fields that were not known.
    func learn(_ fields: [String: FieldSchema], ofType recordType: String) throws

    /// Adds to the number of fields in a zone that refer to assets. An asset without references is removed after a while.
    ///
    /// - Returns: The bytes of the assets that are referred to now and were not, less those of the assets that no longer are.
    func addLinks(_ differences: [String: Int], in zone: Int64, at now: Int64) throws -> Int64
    /// Adds to what the partition takes; what its zones take is stored with them.
    func addUsage(_ difference: StoredBytes) throws
    func save(_ uploads: [StoredUpload]) throws
    /// Lets the time begin anew after which files without references go.
    func touch(assets checksums: [String], at now: Int64) throws

    func save(_ subscription: Subscription) throws
    func removeSubscription(id: String) throws

    /// Stored until the zone's contents are removed.
    func setClientToken(_ token: [UInt8], ofUser user: String, device: String, in zone: Int64) throws

    func remember(_ answer: StoredAnswer, forKey key: String, at now: Int64) throws
}
