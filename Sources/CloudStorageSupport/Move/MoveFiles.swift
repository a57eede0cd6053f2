// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import Crypto
import Foundation
import SystemSupport

/// The files of assets on their way to the folder of the destination. Partitions have other numbers there, so the same folder may hold
/// both: a file is linked, or copied to another disk.
final class MoveFiles {
    let source: AssetFolder
    let destination: AssetFolder
    private let hasOneFolder: Bool
    /// Folders with names that a loss of power may take back.
    private var unsynchronized: Set<String> = []
    private static let pieceBytes = 1 << 20

    init(source: AssetFolder, destination: AssetFolder) {
        self.source = source
        self.destination = destination
        hasOneFolder = Self.realPath(source.path) == Self.realPath(destination.path)
    }

    private func isSame(_ part: Int64, _ newPart: Int64) -> Bool { part == newPart && hasOneFolder }

    private static func realPath(_ path: String) -> String { URL(fileURLWithPath: path).resolvingSymlinksInPath().standardized.path }

    /// Links or copies a file that the destination lacks.
    ///
    /// - Returns: `false` without a file at the source: it may have been removed concurrently.
    func bring(_ checksum: String, from part: Int64, to newPart: Int64) throws -> Bool {
        let old = source.file(part: part, checksum: checksum)
        let new = destination.file(part: newPart, checksum: checksum)
        let isThere = access(new, F_OK) == 0
        if isSame(part, newPart) { return isThere }
        let folder = destination.parent(part: newPart, checksum: checksum)
        if !isThere {
            guard access(old, F_OK) == 0 else { return false }
            try place(old, at: new, in: folder)
        }
        // Also of a file that is there: an earlier run may have ended before its name was durable.
        unsynchronized.insert(folder)
        return true
    }

    /// Makes the names of all files durable. The former names are removed after the move.
    func synchronize() throws {
        do {
            for folder in unsynchronized { try DurableFile.synchronize(folder: URL(fileURLWithPath: folder)) }
        } catch {
            throw StorageFailure(.notWritable, "a folder for assets could not be made durable")
        }
        unsynchronized = []
    }

    /// Compares the bytes of a file with its checksum. One that was removed concurrently is not compared.
    ///
    /// - Throws: `StorageFailure` with `.corrupt`.
    func check(_ checksum: String, part: Int64) throws {
        guard let digest = try Self.checksum(of: destination.file(part: part, checksum: checksum)) else { return }
        guard digest == checksum else { throw StorageFailure(.corrupt, "the file of an asset does not have its checksum") }
    }

    private func place(_ old: String, at new: String, in folder: String) throws {
        do {
            try DurableFile.createFolder(URL(fileURLWithPath: folder))
        } catch {
            throw StorageFailure(.notWritable, "a folder for assets could not be made")
        }
        if link(old, new) == 0 || errno == EEXIST { return }
        // Another disk. The file gets its name once it is complete and durable.
        let arriving = "\(destination.incoming)/\(UUID().uuidString)"
        do {
            try FileManager.default.copyItem(atPath: old, toPath: arriving)
            try DurableFile.synchronize(content: URL(fileURLWithPath: arriving))
            try DurableFile.move(arriving, to: new)
        } catch {
            try? FileManager.default.removeItem(atPath: arriving)
            throw StorageFailure(.full, "the file of an asset could not be copied")
        }
    }

    private static func checksum(of path: String) throws -> String? {
        guard let file = FileHandle(forReadingAtPath: path) else { return nil }
        defer { try? file.close() }
        var hash = SHA256()
        do {
            while let piece = try file.read(upToCount: pieceBytes), !piece.isEmpty { hash.update(data: piece) }
        } catch {
            throw StorageFailure(.unavailable, "the file of an asset could not be read")
        }
        return Hex.text(hash.finalize())
    }

    /// Removes the file of a row that was deleted at the source.
    func remove(_ checksum: String, from part: Int64, to newPart: Int64) {
        if !isSame(part, newPart) { destination.remove(part: newPart, checksum: checksum) }
    }

    /// Removes the files of the source's partitions, which the destination has under other names.
    func removeSource(_ part: Int64, newPart: Int64) {
        if part != newPart { try? FileManager.default.removeItem(atPath: source.files(part: part)) }
    }
}
