// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
import CloudWire
import Crypto
import Foundation
import Synchronization
import SystemSupport

/// The turns of requests to write to an upload in parts: the newest request writes. An older one, whose connection may
/// be broken without notice, writes nothing more.
package final class UploadTurns: Sendable {
    /// Held while its file is written to.
    package final class Holder: Sendable { fileprivate let last = Mutex(0) }

    package struct Turn: Sendable {
        package let id: String
        fileprivate let holder: Holder
        fileprivate let number: Int

        /// - Throws: `WireError` with `.conflict` if it is another's turn.
        package func run(_ body: () throws -> Void) throws {
            try holder.last.withLock { last in
                guard last == number else { throw WireError(.conflict, "another request goes on with the upload") }
                try body()
            }
        }
    }

    private struct State {
        var last = 0
        var uploads: [String: (holder: Holder, turns: Int)] = [:]
    }

    private let state = Mutex(State())

    package init() {}

    package func take(_ id: String) -> Turn {
        let turn = state.withLock { state in
            state.last += 1
            let holder = state.uploads[id]?.holder ?? Holder()
            state.uploads[id, default: (holder, 0)].turns += 1
            return Turn(id: id, holder: holder, number: state.last)
        }
        turn.holder.last.withLock { $0 = max($0, turn.number) }
        return turn
    }

    package func end(_ turn: Turn) {
        state.withLock { state in
            state.uploads[turn.id]?.turns -= 1
            if state.uploads[turn.id]?.turns == 0 { state.uploads[turn.id] = nil }
        }
    }
}

/// An upload that arrives in parts, as a file that grows.
package final class PartialFile: Sendable {
    package let path: String
    private let file: GrowingFile
    private let turns: UploadTurns
    private let turn: UploadTurns.Turn

    /// - Parameter makesFile: Whether to create a missing file.
    /// - Returns: Nil without a file.
    package init?(path: String, id: String, turns: UploadTurns, makesFile: Bool) throws {
        guard let file = try GrowingFile(path: path, makesFile ? .oldOrNew : .old) else { return nil }
        self.path = path
        self.file = file
        self.turns = turns
        turn = turns.take(id)
    }

    deinit { turns.end(turn) }

    /// Bytes that are there, durably.
    package func size() async throws -> Int64 { try await file.size() }

    /// Appends what arrives, as long as no other request goes on with the upload. What became too large is removed.
    package func append(
        _ pieces: any AsyncSequence<[UInt8], any Error> & Sendable, at offset: Int64, bytesMax: Int64
    ) async throws -> Appended {
        do {
            return try await file.append(pieces, at: offset, bytesMax: bytesMax) { [turn] in try turn.run($0) }
        } catch let error as WireError where error.code == .quotaExceeded {
            unlink(path)
            throw error
        }
    }

    /// The asset of a complete and durable file.
    ///
    /// - Parameter appended: The last write; if it is the whole file, the file is not read again.
    package func asset(_ appended: Appended) async throws -> StoredAsset {
        let size = try await size()
        if let checksum = appended.checksum, appended.end == size { return StoredAsset(checksum: checksum, size: size) }
        var hash = SHA256()
        var place: Int64 = 0
        while place < size {
            let start = place
            let piece = try await DiskQueue.run { [descriptor = file.descriptor] in
                try [UInt8](unsafeUninitializedCapacity: GrowingFile.pieceBytes) { buffer, count in
                    var got = pread(descriptor, buffer.baseAddress, GrowingFile.pieceBytes, off_t(start))
                    while got < 0, errno == EINTR { got = pread(descriptor, buffer.baseAddress, GrowingFile.pieceBytes, off_t(start)) }
                    guard got > 0 else { throw StorageFailure.ofDisk(got < 0 ? errno : EIO) }
                    count = got
                }
            }
            hash.update(data: piece)
            place += Int64(piece.count)
        }
        return StoredAsset(checksum: Hex.text(hash.finalize()), size: size)
    }
}
