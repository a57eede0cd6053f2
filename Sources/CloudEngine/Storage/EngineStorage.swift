// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// Where the engine's data is. One conformance for each database.
package protocol EngineStorage: SharingStorage {
    /// Reads from one state of the partition.
    func read<Value: Sendable>(
        _ partition: Partition, _ body: @escaping @Sendable (any PartitionView) throws -> Value
    ) async throws -> Value

    /// The same for a body that only reads a few records, or a page of them: where that is over before a switch of threads
    /// would be, it happens on the caller's thread. The body may run twice.
    func readBriefly<Value: Sendable>(
        _ partition: Partition, _ body: @escaping @Sendable (any PartitionView) throws -> Value
    ) async throws -> Value

    /// Carries out one unit of work and returns once it is durable. Units of a partition are serial.
    ///
    /// - Throws: What `body` throws, with nothing changed; or a storage failure, after which nothing of the unit
    ///   is visible unless the failure says that the outcome is unknown.
    func write<Value: Sendable>(
        _ partition: Partition, _ body: @escaping @Sendable (any UnitOfWork) throws -> Value
    ) async throws -> Value

    /// Partitions of a container and environment that were ever written to.
    func partitions(containerIdentifier: String, environment: CloudEnvironment) async throws -> [Partition]

    /// Deletes zones, records and subscriptions of all partitions of a container and environment, and raises their epochs.
    func erase(containerIdentifier: String, environment: CloudEnvironment) async throws
}

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

/// Who may come in. Accounts stand outside partitions.
package protocol AccountStorage: CredentialStorage {
    /// The device that a token was made for, or nil for an unknown token. Tokens are stored as hashes only.
    func device(forToken token: String) async throws -> DeviceIdentity?

    /// The account's record name in a container.
    ///
    /// - Parameter proposal: Kept if the account has no name there yet.
    func userRecordName(account: Int64, containerIdentifier: String, proposal: String) async throws -> String

    /// Whether the processing of a user's data is paused.
    func isRestricted(user userRecordName: String, containerIdentifier: String, environment: CloudEnvironment) async throws -> Bool
    func setRestricted(
        _ isRestricted: Bool, user userRecordName: String, containerIdentifier: String, environment: CloudEnvironment, now: Int64
    ) async throws
}

package struct DeviceIdentity: Hashable, Sendable {
    package var account: Int64
    package var deviceID: String

    package init(account: Int64, deviceID: String) {
        self.account = account
        self.deviceID = deviceID
    }
}

/// The files of assets.
package protocol AssetStorage: Sendable {
    /// Takes the bytes of an upload to durable storage, piece by piece.
    ///
    /// - Parameters:
    ///   - bytesExpected: What the sender said there would be; nil if it said nothing.
    ///   - digest: SHA-256 of the file, if the sender told it.
    /// - Returns: What arrived, or nil if no such upload was asked for.
    /// - Throws: `WireError` with `.quotaExceeded` once there are more than `bytesMax`, `.badRequest` if there were not
    ///   as many as expected, or not those; what the sequence throws.
    func receive(
        _ pieces: any AsyncSequence<[UInt8], any Error> & Sendable, forUpload id: String, in partition: Partition,
        bytesMax: Int64, bytesExpected: Int64?, digest: [UInt8]?, at now: Int64
    ) async throws -> StoredAsset?

    /// Takes a part of an upload, and what is complete to durable storage. What arrives before a break stays, also where the
    /// server ends. A newer request takes the place of one that is under way.
    ///
    /// - Returns: Nil if no such upload was asked for.
    /// - Throws: `WireError` with `.quotaExceeded` once there are more than `bytesMax`, `.badRequest` for a complete file that
    ///   has another digest, which is forgotten; what the sequence throws.
    func receive(
        _ pieces: any AsyncSequence<[UInt8], any Error> & Sendable, as part: UploadPart, forUpload id: String,
        in partition: Partition, bytesMax: Int64, at now: Int64
    ) async throws -> UploadProgress?

    /// How far an upload in parts is. It ends a request that is under way.
    func progress(ofUpload id: String, in partition: Partition) async throws -> UploadProgress?

    /// Opens a file for reading, or returns nil if it is not there.
    func open(checksum: String, in partition: Partition) async throws -> (any AssetReader)?
}

/// A part of a file on its way.
package struct UploadPart: Hashable, Sendable {
    /// Where it begins.
    package var offset: Int64
    /// Whether the file ends with it.
    package var isLast: Bool
    /// SHA-256 of the whole file, if the sender told it.
    package var digest: [UInt8]?

    package init(offset: Int64, isLast: Bool, digest: [UInt8]? = nil) {
        self.offset = offset
        self.isLast = isLast
        self.digest = digest
    }
}

package enum UploadProgress: Hashable, Sendable {
    /// So many bytes are there.
    case partial(Int64)
    /// The part does not begin where the bytes that are there end.
    case misplaced(Int64)
    case complete(StoredAsset)
}

/// An open file; it closes when the last reference goes.
package protocol AssetReader: Sendable {
    /// Bytes.
    var size: Int64 { get }
    /// At most `count` bytes from an offset; fewer, or none, only at the end.
    func read(at offset: Int64, count: Int) async throws -> [UInt8]
}

/// A storage could not do its work. The text is constant and names no value.
package struct StorageFailure: Error, Hashable, Sendable {
    package enum Code: String, Hashable, Sendable, CaseIterable {
        case busy, full, corrupt, unavailable, newerFormat, inUse, notWritable, nameTaken, unknownName
    }

    package var code: Code
    package var what: String

    package init(_ code: Code, _ what: String) {
        self.code = code
        self.what = what
    }
}
