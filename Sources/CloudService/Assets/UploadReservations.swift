// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import Synchronization

/// Bytes of uploads in flight, so that concurrent uploads do not count on the same room. The quota itself is checked again in
/// the unit of work that stores a file.
final class UploadReservations: Sendable {
    private let bytesByPartition = Mutex<[Partition: Int64]>([:])

    /// Runs an upload with a part of the room reserved for it.
    ///
    /// - Parameters:
    ///   - bytes: Bytes that the upload may have.
    ///   - room: Bytes left of the quota; nil for any number.
    /// - Throws: `WireError` with `.quotaExceeded` if uploads in flight have reserved too much of it; what `upload` throws.
    func reserving<Value>(_ bytes: Int64, of room: Int64?, in partition: Partition, _ upload: () async throws -> Value) async throws
        -> Value
    {
        guard let room else { return try await upload() }
        let isReserved = bytesByPartition.withLock { reserved in
            let before = reserved[partition, default: 0]
            guard before == 0 || before + bytes <= room else { return false }
            reserved[partition] = before + bytes
            return true
        }
        guard isReserved else { throw Quotas.exceeded }
        defer {
            bytesByPartition.withLock { reserved in
                let after = reserved[partition, default: 0] - bytes
                reserved[partition] = after > 0 ? after : nil
            }
        }
        return try await upload()
    }

    /// A file that exceeds only the rest of the quota may be sent again once there is room.
    func withRoom<T>(_ room: Int64, of assetBytes: Int64, receive: () async throws -> T) async throws -> T {
        do {
            return try await receive()
        } catch let error as WireError where error.nativeCode == .limitExceeded && room < assetBytes {
            throw Quotas.exceeded
        }
    }
}
