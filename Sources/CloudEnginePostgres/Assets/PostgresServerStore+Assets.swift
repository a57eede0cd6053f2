// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
import CloudStorageSupport
import CloudWire
import Foundation
import SystemSupport

/// The files of assets: `assets/PART/CH/CHECKSUM`, and `incoming/` for files that are still arriving.
struct AssetFolder: Sendable {
    let path: String

    /// - Throws: `StorageFailure` with `.notWritable`.
    init(path: String) throws {
        self.path = path
        do {
            try FileManager.default.createDirectory(
                atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            for folder in ["assets", "incoming"] {
                try FileManager.default.createDirectory(atPath: "\(path)/\(folder)", withIntermediateDirectories: true)
            }
        } catch {
            throw StorageFailure(.notWritable, "the folder of assets cannot be made or written to")
        }
    }

    var incoming: String { "\(path)/incoming" }

    func parent(part: Int64, checksum: String) -> String { "\(path)/assets/\(part)/\(checksum.prefix(2))" }
    func file(part: Int64, checksum: String) -> String { "\(parent(part: part, checksum: checksum))/\(checksum)" }
    func partial(upload id: String) -> String { "\(incoming)/partial-\(Hex.text(Array(id.utf8)))" }

    /// A file that stays takes room and nothing else, so a failure is not reported.
    func remove(part: Int64, checksum: String) { unlink(file(part: part, checksum: checksum)) }
}

extension PostgresServerStore: AssetStorage {
    package func receive(
        _ pieces: any AsyncSequence<[UInt8], any Error> & Sendable, forUpload id: String, in partition: Partition,
        bytesMax: Int64, bytesExpected: Int64?, digest: [UInt8]?, at now: Int64,
        isOverQuota: @escaping @Sendable (any PartitionReader) throws -> Bool
    ) async throws -> StoredAsset? {
        guard try await read(partition, .maintenance, { try $0.upload(id: id) }) != nil else { return nil }
        let incoming = try IncomingFile(in: folder.incoming)
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
        guard let file = try PartialFile(path: folder.partial(upload: id), id: id, turns: uploads, makesFile: true) else { return nil }
        let size = try await file.size()
        guard size == part.offset else { return .misplaced(size) }
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
        guard let file = try PartialFile(path: folder.partial(upload: id), id: id, turns: uploads, makesFile: false) else {
            return .partial(0)
        }
        return .partial(try await file.size())
    }

    /// Remembers how far an upload in parts is, for the quota.
    private func note(_ size: Int64, ofUpload id: String, in partition: Partition) async throws {
        try await write(partition) { writer in
            guard let unit = writer as? PostgresUnit else { return }
            try unit.run(
                "UPDATE uploads SET size = $3 WHERE part = $1 AND id = $2 AND checksum IS NULL", [unit.part, id, size], changing: .uploads)
        }
    }

    private static func check(_ asset: StoredAsset, _ digest: [UInt8]?) throws(WireError) {
        guard let digest, Hex.text(digest) != asset.checksum else { return }
        throw WireError(.badRequest, "the file is not the one that its digest names: send it again")
    }

    /// Moves a complete file to its final path, with its row. An upload has one file.
    ///
    /// The unit may run again after a conflict, when the file has been moved already.
    private func store(
        _ arrived: StoredAsset, ofUpload id: String, in partition: Partition, at now: Int64,
        _ isOverQuota: @escaping @Sendable (any PartitionReader) throws -> Bool,
        _ move: @escaping @Sendable (_ path: String, _ folder: String) throws -> Void
    ) async throws -> StoredAsset? {
        let folder = folder
        return try await write(partition) { writer in
            guard let unit = writer as? PostgresUnit, let upload = try unit.upload(id: id) else { return nil }
            if let asset = upload.asset {
                // Another request with the same file was faster.
                guard asset == arrived else {
                    throw WireError(.conflict, "the address was used for another file: ask for one for each file")
                }
                return asset
            }
            try unit.run(
                """
                INSERT INTO assets (part, checksum, size, since) VALUES ($1, $2, $3, $4)
                ON CONFLICT (part, checksum) DO UPDATE SET since = excluded.since
                """, [unit.part, arrived.checksum, arrived.size, now], changing: .assets)
            try unit.run(
                "UPDATE uploads SET checksum = $3, size = $4 WHERE part = $1 AND id = $2", [unit.part, id, arrived.checksum, arrived.size],
                changing: .uploads)
            guard try !isOverQuota(unit) else { throw Engine.quotaExceeded }
            // The file moves inside the unit, so that a removal cannot come between the file and its row.
            let path = folder.file(part: unit.part, checksum: arrived.checksum)
            do {
                try move(path, folder.parent(part: unit.part, checksum: arrived.checksum))
            } catch {
                guard FileManager.default.fileExists(atPath: path) else { throw error }
            }
            return arrived
        }
    }

    package func open(checksum: String, in partition: Partition) async throws -> (any AssetReader)? {
        let part = try await read(partition, .maintenance) { reader -> Int64? in
            guard let unit = reader as? PostgresUnit, try unit.asset(checksum: checksum) != nil else { return nil }
            return unit.part
        }
        guard let part else { return nil }
        return try OpenFile(path: folder.file(part: part, checksum: checksum))
    }
}
