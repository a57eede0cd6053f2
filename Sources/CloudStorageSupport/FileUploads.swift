// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
package import CloudService
package import CloudWire
import Foundation
import SystemSupport

/// Uploads into an ``AssetFolder``, and from there to ``AssetObjects``, if the server has them. A storage brings its rows, and this the files.
package protocol FileUploads: EngineStorage, AssetStorage {
    /// Where files arrive. Complete files stay there on a server without ``assetObjects``, and were left there by one that had none.
    var assetFolder: AssetFolder { get }
    /// Where complete files go; nil for ``assetFolder``.
    var assetObjects: (any AssetObjects)? { get }
    var uploads: UploadTurns { get }

    /// The random identifier of the database at its ``AssetObjects``, once it has one.
    ///
    /// - Parameter makesOne: Whether to make one.
    func assetOwner(makesOne: Bool) async throws -> String?

    /// The number of a partition; nil before its first row.
    func part(of partition: Partition) async throws -> Int64?

    /// Whether there is a row for a file.
    func hasAsset(checksum: String, part: Int64) async throws -> Bool

    /// Where the bytes of a file with a row are; ``AssetPlace/folder`` without one.
    func place(ofAsset checksum: String, part: Int64) async throws -> AssetPlace

    /// The number in the names of a partition's objects: its own, or that of the database in which the partition began.
    func objectPart(of part: Int64) async throws -> Int64

    /// Where the row of an object says that its bytes are; nil without a row.
    func place(ofObject checksum: String, objectPart: Int64) async throws -> AssetPlace?

    /// Stores that the bytes of a file are in ``assetObjects``, in the row of its object.
    func storePlace(ofObject checksum: String, objectPart: Int64) async throws

    /// Stores how far an upload in parts is, for the quota. Does nothing for an upload that is complete or removed.
    func note(_ size: Int64, ofUpload id: String, in partition: Partition) async throws

    /// Moves a complete file to its path, with its row, in one unit of work.
    ///
    /// An upload has one file: else one address, which is checked against the quota once, could store any number of them.
    ///
    /// - Parameters:
    ///   - place: Where its bytes are.
    ///   - move: Moves the file; called inside the unit, so that a removal cannot come between the file and its row.
    /// - Returns: Nil for an upload that does not exist.
    func store(
        _ arrived: StoredAsset, _ place: AssetPlace, ofUpload id: String, in partition: Partition, at now: Int64,
        _ isOverQuota: @escaping @Sendable (any PartitionReader) throws -> Bool,
        _ move: @escaping @Sendable (_ path: String, _ folder: String) throws -> Void
    ) async throws -> StoredAsset?
}

/// Where the bytes of a file are.
package enum AssetPlace: Int64, Sendable {
    /// Also of a file in the store whose row is from a format without places, until the clean-up has seen its object.
    case folder = 0
    case store = 1

    package init(stored number: Int64) { self = number == 0 ? .folder : .store }
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
        return try await finish(arrived, at: incoming.path, ofUpload: id, in: partition, at: now, isOverQuota) {
            try incoming.move(to: $0, in: $1)
        }
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
            // One that another request goes on with is that one's matter. Of one that became too large, nothing is left.
            let code = (error as? WireError)?.code
            if code != .conflict, let size = code == .quotaExceeded ? 0 : try? await file.size() {
                try? await note(size, ofUpload: id, in: partition)
            }
            throw error
        }
        try await note(appended.end, ofUpload: id, in: partition)
        if try await read(partition, .maintenance, isOverQuota) {
            unlink(file.path)
            try await note(0, ofUpload: id, in: partition)
            throw Quotas.exceeded
        }
        guard part.isLast else { return .partial(appended.end) }
        let arrived = try await file.asset(appended)
        do {
            try Self.check(arrived, part.digest)
        } catch {
            unlink(file.path)
            throw error
        }
        let stored = try await finish(arrived, at: file.path, ofUpload: id, in: partition, at: now, isOverQuota) {
            try IncomingFile.move(file.path, to: $0, in: $1)
        }
        if assetObjects != nil { unlink(file.path) }
        return stored.map { .complete($0) }
    }

    /// Brings a complete file to its place, and stores its row.
    private func finish(
        _ arrived: StoredAsset, at path: String, ofUpload id: String, in partition: Partition, at now: Int64,
        _ isOverQuota: @escaping @Sendable (any PartitionReader) throws -> Bool,
        _ move: @escaping @Sendable (_ path: String, _ folder: String) throws -> Void
    ) async throws -> StoredAsset? {
        guard assetObjects != nil else { return try await store(arrived, .folder, ofUpload: id, in: partition, at: now, isOverQuota, move) }
        guard let objects = try await claimedObjects(makesOwner: true), let part = try await part(of: partition) else { return nil }
        if let place = try await place(ofStored: arrived, in: partition, part: part, objects, at: now) {
            return try await store(arrived, place, ofUpload: id, in: partition, at: now, isOverQuota) { _, _ in }
        }
        let object = try await objects.add(arrived, at: path, part: try await objectPart(of: part))
        do {
            let stored = try await store(arrived, .store, ofUpload: id, in: partition, at: now, isOverQuota) { _, _ in }
            if stored == nil { await objects.discard(object) }
            return stored
        } catch let error as WireError {
            // Thrown inside the unit, which stored nothing. After another error the row may be there, and the object stays.
            await objects.discard(object)
            throw error
        }
    }

    /// Where the bytes of a file are stored already, so that repeated uploads of one file have one object; nil if they are not. If so, its row
    /// is kept for a day from now: the caller may rely on the object that it has.
    private func place(
        ofStored asset: StoredAsset, in partition: Partition, part: Int64, _ objects: any AssetObjects, at now: Int64
    ) async throws -> AssetPlace? {
        guard try await hasAsset(checksum: asset.checksum, part: part) else { return nil }
        let isKept = try await write(partition, .maintenance) { writer in
            guard try writer.asset(checksum: asset.checksum) != nil else { return false }
            try writer.touch(assets: [asset.checksum], at: now)
            return true
        }
        guard isKept else { return nil }
        if access(assetFolder.file(part: part, checksum: asset.checksum), R_OK) == 0 { return .folder }
        // The upload replaces a lost object.
        return try await objects.contains(asset, part: try await objectPart(of: part)) ? .store : nil
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

// MARK: Objects

extension FileUploads {
    /// The objects, if the server has them and they are known to be this database's.
    ///
    /// - Parameter makesOwner: Whether a database without an identifier gets one. Without it, all its files are in the folder.
    /// - Throws: `StorageFailure` with `.objectStore`.
    private func claimedObjects(makesOwner: Bool = false) async throws -> (any AssetObjects)? {
        guard let assetObjects else { return nil }
        do {
            return try await claimObjects(makesOwner: makesOwner) ? assetObjects : nil
        } catch let failure as S3Failure {
            throw failure.storageFailure
        }
    }

    /// Checks the store of objects, once.
    ///
    /// - Returns: `false` for a database that has no objects.
    /// - Throws: ``S3Failure``.
    @discardableResult
    package func claimObjects(makesOwner: Bool) async throws -> Bool {
        guard let assetObjects else { return false }
        if assetObjects.isClaimed { return true }
        if let owner = try await assetOwner(makesOne: false) {
            try await assetObjects.claim(owner, makesOwner: makesOwner)
            return true
        }
        guard makesOwner else { return false }
        // The database has the identifier before the store has it. So a store with an owner is this database's only if another process
        // has just made one, and a store that can't be used leaves the database as it is.
        let hasOwner = try await assetObjects.hasOwner()
        guard let owner = try await assetOwner(makesOne: !hasOwner) else { throw S3Failure.foreignOwner }
        try await assetObjects.claim(owner, makesOwner: true)
        return true
    }

    /// Opens the file of an asset that has a row.
    ///
    /// - Throws: `StorageFailure`; ``StorageFailure/missingFile`` if neither the data folder nor the store of objects has the file,
    ///   ``StorageFailure/missingFolder`` if the file should be in the folder, and the folder has no file at all.
    package func open(_ asset: StoredAsset, part: Int64) async throws -> any AssetReader {
        let path = assetFolder.file(part: part, checksum: asset.checksum)
        if assetObjects == nil || access(path, R_OK) == 0 {
            do {
                return try OpenFile(path: path)
            } catch  where assetObjects == nil && access(path, F_OK) != 0 && errno == ENOENT {
                try await requireObjects()
                throw assetFolder.isEmpty ? StorageFailure.missingFolder : .missingFile
            }
        }
        do {
            guard let objects = try await claimedObjects() else { throw StorageFailure.missingFile }
            return try await objects.open(asset, part: try await objectPart(of: part))
        } catch let failure as StorageFailure where failure == .missingFile && assetFolder.isEmpty {
            // A file from before the server had the store.
            throw try await place(ofAsset: asset.checksum, part: part) == .folder ? StorageFailure.missingFolder : .missingFile
        }
    }

    /// Removes objects that no row has, and stores the place of those whose row is from a format without places: if the store loses one of
    /// them later, ``open(_:part:)`` does not wait for the folder.
    package func removeUnreferencedObjects(now: Int64) async throws {
        try await claimedObjects()?.removeUnreferenced(now: now) { part, checksum in
            guard let place = try await self.place(ofObject: checksum, objectPart: part) else { return false }
            if place == .folder { try await self.storePlace(ofObject: checksum, objectPart: part) }
            return true
        }
    }

    /// Removes the objects of a partition after its rows, but before ``objectPart(of:)`` forgets their number.
    ///
    /// - Throws: `StorageFailure` with `.objectStore`, also if the store is not named here.
    package func removeObjects(part: Int64) async throws {
        try await requireObjects()
        try await claimedObjects()?.removeAll(part: try await objectPart(of: part))
    }

    /// - Throws: `StorageFailure` with `.objectStore` for a database with objects in a store that is not named here.
    package func requireObjects() async throws {
        guard assetObjects == nil, try await assetOwner(makesOne: false) != nil else { return }
        throw StorageFailure(.objectStore, "the files are in an S3 store, which is not named here")
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
