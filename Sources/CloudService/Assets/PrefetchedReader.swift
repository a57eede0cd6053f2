// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// A file with prefetched bytes. The first call of ``read(at:count:)`` returns and releases them, so that a response takes no more memory than
/// without them.
final class PrefetchedReader: AssetReader {
    private let reader: any AssetReader
    private let start: Int64
    private let prefetched: Mutex<[UInt8]>

    let size: Int64

    /// - Parameters:
    ///   - bytes: Of the file, from an offset.
    ///   - start: The offset.
    init(_ reader: any AssetReader, _ bytes: [UInt8], at start: Int64) {
        self.reader = reader
        self.start = start
        prefetched = Mutex(bytes)
        size = reader.size
    }

    func read(at offset: Int64, count: Int) async throws -> [UInt8] {
        let bytes = prefetched.withLock { prefetched in
            let bytes = prefetched
            prefetched = []
            return bytes
        }
        guard offset == start, !bytes.isEmpty else { return try await reader.read(at: offset, count: count) }
        guard count > bytes.count else { return Array(bytes.prefix(count)) }
        return bytes + (try await reader.read(at: start + Int64(bytes.count), count: count - bytes.count))
    }
}
