// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudWire

/// A complete snapshot of a zone in a file.
package struct StoredSnapshot: Hashable, Sendable {
    package var subject: SnapshotSubject
    package var identifier: String
    package var whole: SnapshotOffer.Whole
    /// Milliseconds since 1970 UTC.
    package var created: Int64
    /// The identity of the server's data that it was made from.
    package var serverIdentity: String

    package init(subject: SnapshotSubject, identifier: String, whole: SnapshotOffer.Whole, created: Int64, serverIdentity: String) {
        self.subject = subject
        self.identifier = identifier
        self.whole = whole
        self.created = created
        self.serverIdentity = serverIdentity
    }

    package var offer: SnapshotOffer { SnapshotOffer(identifier: identifier, whole: whole) }
}

/// The files of snapshots. They are a cache of one server process: any of them may be removed at any time.
package protocol SnapshotStorage: Sendable {
    /// The complete snapshots. Those that an earlier process left incomplete are removed when the storage is opened.
    func snapshots() async throws -> [StoredSnapshot]
    /// Begins a snapshot, which exists once it is finished.
    func draft(identifier: String) async throws -> any SnapshotDraft
    /// Opens a snapshot, complete or not; nil if it was removed. It can be read to its end even if it is removed concurrently.
    func open(identifier: String) async throws -> (any AssetReader)?
    func remove(identifier: String) async
}

/// A snapshot that is being written. Without ``finish(_:created:recordCount:syncToken:serverIdentity:)`` nothing of it remains.
package protocol SnapshotDraft: Sendable {
    /// Appends a frame with a body.
    ///
    /// - Returns: Bytes of all frames.
    /// - Throws: `StorageFailure`.
    func append(_ body: [UInt8]) async throws -> Int64
    /// Makes the snapshot complete, durably.
    ///
    /// - Throws: `StorageFailure`.
    func finish(
        _ subject: SnapshotSubject, created: Int64, recordCount: Int, syncToken: String, serverIdentity: String
    ) async throws -> StoredSnapshot
    func discard() async
}
