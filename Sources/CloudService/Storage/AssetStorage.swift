// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine

/// The files of assets.
package protocol AssetStorage: Sendable {
    /// Takes the bytes of an upload to durable storage, piece by piece.
    ///
    /// - Parameters:
    ///   - bytesExpected: The announced length; nil without one.
    ///   - digest: The announced SHA-256 of the file.
    ///   - isOverQuota: Asked in the unit of work that stores the file, once the file counts.
    /// - Returns: What arrived, or nil if no such upload was asked for.
    /// - Throws: `WireError` with `.conflict` if the upload has another file already, `.quotaExceeded` once there are more than `bytesMax`, `.badRequest` if there were not
    ///   of the announced length or digest; errors of the sequence.
    func receive(
        _ pieces: any AsyncSequence<[UInt8], any Error> & Sendable, forUpload id: String, in partition: Partition,
        bytesMax: Int64, bytesExpected: Int64?, digest: [UInt8]?, at now: Int64,
        isOverQuota: @escaping @Sendable (any PartitionReader) throws -> Bool
    ) async throws -> StoredAsset?

    /// Appends a part of an upload, and stores a complete file durably. Bytes that arrive before a failure are kept, also if the
    /// server ends. A newer request replaces one in flight.
    ///
    /// - Returns: Nil if no such upload was asked for.
    /// - Throws: `WireError` with `.quotaExceeded` once there are more than `bytesMax`, `.badRequest` for a complete file that
    ///   has another digest, which is removed; errors of the sequence.
    func receive(
        _ pieces: any AsyncSequence<[UInt8], any Error> & Sendable, as part: UploadPart, forUpload id: String,
        in partition: Partition, bytesMax: Int64, at now: Int64, isOverQuota: @escaping @Sendable (any PartitionReader) throws -> Bool
    ) async throws -> UploadProgress?

    /// The progress of an upload in parts. It ends a request in flight.
    func progress(ofUpload id: String, in partition: Partition) async throws -> UploadProgress?

    /// Opens a file for reading, or returns nil if it is not there.
    func open(checksum: String, in partition: Partition) async throws -> (any AssetReader)?
}

extension AssetStorage {
    /// Stores an upload without a quota.
    package func receive(
        _ pieces: any AsyncSequence<[UInt8], any Error> & Sendable, forUpload id: String, in partition: Partition,
        bytesMax: Int64, bytesExpected: Int64?, digest: [UInt8]? = nil, at now: Int64
    ) async throws -> StoredAsset? {
        try await receive(
            pieces, forUpload: id, in: partition, bytesMax: bytesMax, bytesExpected: bytesExpected, digest: digest, at: now,
            isOverQuota: { _ in false })
    }

    /// Appends a part of an upload without a quota.
    package func receive(
        _ pieces: any AsyncSequence<[UInt8], any Error> & Sendable, as part: UploadPart, forUpload id: String,
        in partition: Partition, bytesMax: Int64, at now: Int64
    ) async throws -> UploadProgress? {
        try await receive(pieces, as: part, forUpload: id, in: partition, bytesMax: bytesMax, at: now, isOverQuota: { _ in false })
    }
}

/// A part of a file on its way.
package struct UploadPart: Hashable, Sendable {
    /// Where it begins.
    package var offset: Int64
    /// Whether the file ends with it.
    package var isLast: Bool
    /// The announced SHA-256 of the whole file.
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
