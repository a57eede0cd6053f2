// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
package import CloudWire
import Foundation
import SystemSupport

/// Uploads into an ``AssetFolder``. A storage brings its rows, and this the files.
package protocol FileUploads: EngineStorage, AssetStorage {
    var assetFolder: AssetFolder { get }
    var uploads: UploadTurns { get }

    /// Stores how far an upload in parts is, for the quota. Does nothing for an upload that is complete or removed.
    func note(_ size: Int64, ofUpload id: String, in partition: Partition) async throws

    /// Moves a complete file to its path, with its row, in one unit of work.
    ///
    /// An upload has one file: else one address, which is checked against the quota once, could store any number of them.
    ///
    /// - Parameter move: Moves the file; called inside the unit, so that a removal cannot come between the file and its row.
    /// - Returns: Nil for an upload that does not exist.
    func store(
        _ arrived: StoredAsset, ofUpload id: String, in partition: Partition, at now: Int64,
        _ isOverQuota: @escaping @Sendable (any PartitionReader) throws -> Bool,
        _ move: @escaping @Sendable (_ path: String, _ folder: String) throws -> Void
    ) async throws -> StoredAsset?
}

extension FileUploads {
    package func receive(
        _ pieces: any AsyncSequence<[UInt8], any Error> & Sendable, forUpload id: String, in partition: Partition,
        bytesMax: Int64, bytesExpected: Int64?, digest: [UInt8]?, at now: Int64,
        isOverQuota: @escaping @Sendable (any PartitionReader) throws -> Bool
    ) async throws -> StoredAsset? {
        guard try await read(partition, .maintenance, { try $0.upload(id: id) }) != nil else { return nil }
        let incoming = try IncomingFile(in: assetFolder.incoming)
        let arrived = try await incoming.receive(pieces, bytesMax: bytesMax)
        guard bytesExpected == nil || bytesExpected == arrived.size else {
            throw WireError(.badRequest, "the file ended before its announced length")
        }
        try Self.check(arrived, digest)
        return try await store(arrived, ofUpload: id, in: partition, at: now, isOverQuota) { try incoming.move(to: $0, in: $1) }
    }

    package func receive(
        _ pieces: any AsyncSequence<[UInt8], any Error> & Sendable, as part: UploadPart, forUpload id: String,
        in partition: Partition, bytesMax: Int64, at now: Int64, isOverQuota: @escaping @Sendable (any PartitionReader) throws -> Bool
    ) async throws -> UploadProgress? {
        guard let upload = try await read(partition, { try $0.upload(id: id) }) else { return nil }
        if let asset = upload.asset { return .complete(asset) }
        guard let file = try PartialFile(path: assetFolder.partial(upload: id), id: id, turns: uploads, makesFile: true) else { return nil }
        let size = try await file.size()
        guard size == part.offset else { return .misplaced(size) }
        // What arrived counts for the quota, also where the rest does not come.
        let appended: Appended
        do {
            appended = try await file.append(pieces, at: size, bytesMax: bytesMax)
        } catch {
            // One that became too large is removed; one that another request goes on with is that one's matter.
            let isRemoved = (error as? WireError)?.code == .quotaExceeded
            if isRemoved || !(error is WireError), let size = isRemoved ? 0 : try? await file.size() {
                try? await note(size, ofUpload: id, in: partition)
            }
            throw error
        }
        try await note(appended.end, ofUpload: id, in: partition)
        if try await read(partition, .maintenance, isOverQuota) {
            unlink(file.path)
            try await note(0, ofUpload: id, in: partition)
            throw Engine.quotaExceeded
        }
        guard part.isLast else { return .partial(appended.end) }
        let arrived = try await file.asset(appended)
        do {
            try Self.check(arrived, part.digest)
        } catch {
            unlink(file.path)
            throw error
        }
        let stored = try await store(arrived, ofUpload: id, in: partition, at: now, isOverQuota) {
            try IncomingFile.move(file.path, to: $0, in: $1)
        }
        return stored.map { .complete($0) }
    }

    package func progress(ofUpload id: String, in partition: Partition) async throws -> UploadProgress? {
        guard let upload = try await read(partition, { try $0.upload(id: id) }) else { return nil }
        if let asset = upload.asset { return .complete(asset) }
        guard let file = try PartialFile(path: assetFolder.partial(upload: id), id: id, turns: uploads, makesFile: false) else {
            return .partial(0)
        }
        return .partial(try await file.size())
    }

    private static func check(_ asset: StoredAsset, _ digest: [UInt8]?) throws(WireError) {
        guard let digest, Hex.text(digest) != asset.checksum else { return }
        throw WireError(.badRequest, "the file is not the one that its digest names: send it again")
    }
}

extension StoredUpload {
    /// The file that the upload has already, if another request with the same file was faster.
    ///
    /// - Throws: `WireError` with `.conflict` if it has another file.
    package func existingAsset(_ arrived: StoredAsset) throws(WireError) -> StoredAsset? {
        guard let asset, asset != arrived else { return asset }
        throw WireError(.conflict, "the address was used for another file: ask for one for each file")
    }
}
