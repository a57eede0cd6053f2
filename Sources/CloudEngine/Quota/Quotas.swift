// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudWire

/// The storage that databases may take.
package struct Quotas: Sendable {
    let limits: Limits

    /// Bytes that a database may take: a private one its owner's quota, the public one its container's; nil for any number.
    ///
    /// Source: *CloudKit Web Services Reference*, "Error Codes": the public database counts for the container, private
    /// ones for their users. Here a user has the quota in each container and environment.
    func quota(of partition: Partition, in view: any PartitionReader) throws -> Int64? {
        let bytes =
            switch partition.scope {
            case .public: Int64(limits.publicBytes)
            case .private: try view.quota(ofUser: partition.owner) ?? Int64(limits.userBytes)
            case .shared: 0 as Int64
            }
        return bytes > 0 ? bytes : nil
    }

    /// Usage and quota of a database.
    package func status(of partition: Partition, in view: any PartitionReader) throws -> QuotaStatus {
        let usage = try view.state().usage
        return QuotaStatus(
            recordBytes: usage.records, assetBytes: usage.assets, bytesMax: try quota(of: partition, in: view))
    }

    /// Bytes that are left of the quota; nil for any number.
    func bytesLeft(of partition: Partition, in view: any PartitionReader) throws -> Int64? {
        guard let quota = try quota(of: partition, in: view) else { return nil }
        return try view.state().usage.left(of: quota)
    }

    /// Bytes left for uploads. Uploads that wait for a record count, so
    /// that files without a record cannot fill the disk.
    package func uploadBytesLeft(of partition: Partition, in view: any PartitionReader) throws -> Int64? {
        guard let left = try bytesLeft(of: partition, in: view) else { return nil }
        return max(0, left - (try view.unusedUploadBytes()))
    }

    /// Whether a database, files without a record included, takes more than it may.
    package func isOverQuota(_ partition: Partition, in view: any PartitionReader) throws -> Bool {
        guard let quota = try quota(of: partition, in: view) else { return false }
        return try view.state().usage.total + view.unusedUploadBytes() > quota
    }

    /// Deletes stored answers, the oldest first, that take more than their limit or than the records and files leave of the quota.
    ///
    /// Answers take room that nothing else needs: they never reject a request. A client that retries a request whose answer was deleted
    /// sends it again as a new one, which a change tag rejects if it was carried out.
    ///
    /// - Parameter key: The key of the request that was just carried out. Its answer stays.
    package func trimAnswers(exceptKey key: String?, of partition: Partition, in unit: any PartitionWriter) throws {
        let quota = try quota(of: partition, in: unit)
        // A request without a key stored no answer. It leaves less room to those there are only under a quota.
        guard key != nil || quota != nil else { return }
        let state = try unit.state()
        guard state.answerBytes > 0 else { return }
        var most = Int64(limits.answerBytes)
        if let quota { most = min(most, state.usage.left(of: quota)) }
        guard state.answerBytes > most else { return }
        // Some more than needed: the oldest are found by a scan of all answers of the database.
        try unit.removeAnswers(freeing: state.answerBytes - most / 4 * 3, exceptKey: key)
    }

    package static let exceeded = WireError(.quotaExceeded, "the storage quota is exceeded")

    /// Whether a database has as many tombstones as one with a quota may. They take no room of the quota: without a limit, records that are
    /// created and deleted fill the disk.
    func hasMostTombstones(_ state: PartitionState) -> Bool {
        limits.tombstonesPerDatabase > 0 && state.tombstones >= Int64(limits.tombstonesPerDatabase)
    }

    static let tooManyTombstones = WireError(
        .quotaExceeded,
        "the database has too many tombstones of deleted records, which expire after 90 days: change existing records, create some with the "
            + "names of deleted ones, or ask the operator to raise the limit tombstonesPerDatabase")
    static let tooManyDeletedZones = WireError(
        .quotaExceeded,
        "the database has too many tombstones of deleted zones, which expire after 90 days: use existing zones, or create some with the names "
            + "of deleted ones",
        nativeCode: .limitExceeded)
}
