// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Reads one partition. Functions take many keys at once so that a database over a wire needs few round trips.
package protocol PartitionReader {
    // MARK: Zones and records

    func state() throws -> PartitionState
    /// Throws if this copy of the data is outdated, so that the unit runs on another one. Called for a change token from its future.
    func checkIsLatest() throws
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
    /// Records of the first of some names, as ``records(named:in:)`` returns them: one ``RecordSlice``.
    ///
    /// - Parameter names: At least one.
    /// - Returns: The records, and of how many names they are, at least one.
    func leadingRecords(named names: ArraySlice<String>, in zone: Int64) throws -> (records: [String: StoredRecord], count: Int)
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

    /// The schema of a record type, or nil for a type that was never used in this container and environment.
    func schema(ofType recordType: String) throws -> RecordTypeSchema?
    /// Record types of this container and environment, by name.
    func recordTypes() throws -> [String]

    /// Indexes there are for the records of a type, built or not.
    func indexes(ofType recordType: String) throws -> [StoredIndex]
    /// Scans a part of an index, with the records, until `visit` returns false.
    func scan(_ scan: IndexScan, _ visit: (IndexRow) throws -> Bool) throws
    /// Entries in a part of an index; counting ends at `limit`.
    func count(_ scan: IndexScan, atMost limit: Int) throws -> Int
    /// Records that are there, by zone and name: one ``RecordSlice`` of at most `limit` records, which is empty behind the last record only.
    func records(after place: RecordPlace?, limit: Int) throws -> [(place: RecordPlace, record: Record)]

    /// The time from which on it is known what records were; nil if nothing is kept.
    func historyStart(now: Int64) throws -> Int64?
    /// The records of a zone, deleted or not, at a time; without tombstones whose earlier versions are not stored.
    func records(ofZone key: Int64, at time: Int64) throws -> [String: Record]

    /// The entry of the change log with a number, or the next one behind it; nil if the log has none from there on.
    func changeLog(at number: Int64) throws -> ChangeLogEntry?

    func subscriptions() throws -> [Subscription]
    func subscriptionIDs() throws -> Set<String>
    /// Subscriptions on the database and on zones. Those on queries, which may have long filters, are not decoded.
    func changeSubscriptions() throws -> [Subscription]
    /// Record types of the subscriptions on queries.
    func queriedTypes() throws -> Set<String>
    /// Visits the subscriptions in the order of their identifiers until `visit` returns false.
    ///
    /// - Parameter visit: Receives the stored bytes of a subscription, and its decoder.
    func visitSubscriptions(_ visit: (_ bytes: Int, _ subscription: () throws -> Subscription) throws -> Bool) throws
    func subscription(id: String) throws -> Subscription?

    func upload(id: String) throws -> StoredUpload?
    /// Whether a zone has records or tombstones. A deleted zone may have some for a while; they are removed last.
    func hasRecords(inZone zone: Int64) throws -> Bool
    /// Whether records of a zone may refer to assets; false means that none does.
    func hasAssets(inZone zone: Int64) throws -> Bool
    func asset(checksum: String) throws -> StoredAsset?
    /// Bytes of the uploads of the last day that no record refers to, those that arrive in parts as far as they are.
    func unusedUploadBytes() throws -> Int64
    /// Uploads that were begun after a time, in milliseconds since 1970 UTC, and have no complete file.
    func openUploadCount(since time: Int64) throws -> Int
    /// How many fields in a zone refer to assets; those that none refers to are left out.
    func links(toAssets checksums: [String], in zone: Int64) throws -> [String: Int]

    func answer(toKey key: String) throws -> StoredAnswer?

    /// The last client change token of a user's device for a zone.
    func clientToken(ofUser user: String, device: String, in zone: Int64) throws -> [UInt8]?

    // MARK: Access

    // Grants and roles belong to a container and environment, users to a container.

    /// Grants of a record type; nil without explicit ones.
    func grants(ofType recordType: String) throws -> SecurityGrants?
    /// Custom roles of this container and environment, by name.
    func roles() throws -> [String]
    /// Custom roles of a user.
    func roles(ofUser userRecordName: String) throws -> Set<String>
    /// Creation time of the account with this user record name in this container, in milliseconds since 1970; nil if
    /// the user does not exist.
    func userSince(_ userRecordName: String) throws -> Int64?
    /// Bytes that a user's private database may take by the operator's word, 0 for any number; nil if the operator set
    /// nothing for this user.
    func quota(ofUser userRecordName: String) throws -> Int64?

    // MARK: Sharing

    // Zones are named by their key. A zone has one share of the whole zone or any number of shares of hierarchies. Of a hierarchy the
    // records are listed one by one, each with the number of the change that it last had in the share, so that participants have a
    // change feed of the records that they see and of no others.

    func hasShares(inZone zone: Int64) throws -> Bool
    func share(named name: String, in zone: Int64) throws -> StoredShare?
    /// The share of a root record; of the zone if the root is nil.
    func share(ofRoot root: String?, in zone: Int64) throws -> StoredShare?
    func members(ofShare name: String, in zone: Int64) throws -> [ShareMember]
    /// The shares that a user has accepted.
    func memberships(ofUser user: String, in zone: Int64) throws -> [Membership]
    /// Users that have accepted a share of the zone.
    func members(inZone zone: Int64) throws -> Set<String>
    /// Raised when the records visible to a user change otherwise than by changes of records, so that tokens expire.
    func generation(ofUser user: String, in zone: Int64) throws -> Int64

    func parent(of name: String, in zone: Int64) throws -> String?
    func children(of name: String, in zone: Int64) throws -> [String]
    /// The shares of hierarchies that records are in.
    func shareNames(ofRecords names: [String], in zone: Int64) throws -> [String: String]
    /// Records of shares by the numbers of their last changes, in order of change; those that left a share come as deleted
    /// ones.
    func sharedRecords(
        _ slice: ChangeSlice, in zone: Int64, shares: [String], includingDeleted: Bool, limit: Int, bytesMax: Int
    ) throws -> [StoredRecord]

    // MARK: References

    // Only references with an action are remembered.

    /// Records of a zone with references of an action to one record, by name, at most `limit`.
    ///
    /// - Parameter name: The last name of the records before; empty for the first ones.
    func sources(
        ofReferencesTo recordName: String, _ action: RecordReference.Action, in zone: Int64, after name: String, limit: Int
    ) throws -> [String]

    // MARK: Query subscriptions

    /// Query subscriptions of all users on records of a type in the public database, by user and identifier.
    func publicQuerySubscriptions(ofType recordType: String) throws -> [OwnedSubscription]
    /// Visits the same ones until `visit` returns false.
    ///
    /// - Parameter visit: Receives the owner and the stored bytes of a subscription, and its decoder.
    func visitPublicSubscriptions(
        ofType recordType: String, _ visit: (_ owner: String, _ bytes: Int, _ subscription: () throws -> Subscription) throws -> Bool)
        throws
}

extension PartitionReader {
    /// Storage with one copy has the latest data.
    package func checkIsLatest() throws {}

    package func subscriptionIDs() throws -> Set<String> { Set(try subscriptions().map(\.subscriptionID)) }

    package func changeSubscriptions() throws -> [Subscription] { try subscriptions().filter { $0.queriedType == nil } }

    package func queriedTypes() throws -> Set<String> { Set(try subscriptions().compactMap(\.queriedType)) }

    package func visitSubscriptions(_ visit: (_ bytes: Int, _ subscription: () throws -> Subscription) throws -> Bool) throws {
        for subscription in try subscriptions() where try !visit(subscription.encoded().count, { subscription }) { return }
    }

    package func visitPublicSubscriptions(
        ofType recordType: String, _ visit: (_ owner: String, _ bytes: Int, _ subscription: () throws -> Subscription) throws -> Bool
    ) throws {
        for owned in try publicQuerySubscriptions(ofType: recordType)
        where try !visit(owned.owner, owned.subscription.encoded().count, { owned.subscription }) { return }
    }
}

extension Subscription {
    /// The record type of a query; nil for subscriptions of other kinds.
    package var queriedType: String? { if case .query(let part) = kind { part.query.recordType } else { nil } }
}
