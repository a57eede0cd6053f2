// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
import Synchronization

/// Memory-mapped files, which the system reads on demand. A sequential read returns each piece to the system, so that a
/// gigabyte needs no more memory than a megabyte.
package enum MappedFile {
    /// Bytes read before memory is returned to the system.
    package static let pieceBytes = 1 << 20

    /// Start addresses of the mappings, with their lengths.
    private static let mappings = Mutex<[UInt: Int]>([:])

    /// Maps a file, which must not be truncated. Stays readable when the file is removed.
    ///
    /// - Returns: nil for an unreadable file.
    package static func contents(of url: URL) -> Data? {
        let file = open(url.path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var status = stat()
        guard fstat(file, &status) == 0, let count = Int(exactly: status.st_size) else { return nil }
        if count == 0 { return Data() }
        // The number of mappings per process is limited.
        guard let start = mmap(nil, count, PROT_READ, MAP_PRIVATE, file, 0), start != MAP_FAILED else { return try? Data(contentsOf: url) }
        mappings.withLock { $0[UInt(bitPattern: start)] = count }
        return Data(
            bytesNoCopy: start, count: count,
            deallocator: .custom { start, count in
                // Removed before the kernel can reuse the addresses.
                _ = mappings.withLock { $0.removeValue(forKey: UInt(bitPattern: start)) }
                munmap(start, count)
            })
    }

    /// Passes bytes in order, in pieces of equal length except for the last. Pieces of a mapped file are returned to the
    /// system after use.
    package static func forEachPiece(
        of data: Data, length: Int = pieceBytes, _ body: (UnsafeRawBufferPointer) throws -> Void
    ) rethrows {
        try data.withUnsafeBytes { bytes in
            let isMapped = bytes.count > pieceBytes && isMapping(bytes)
            var start = 0
            while start < bytes.count {
                let piece = UnsafeRawBufferPointer(rebasing: bytes[start..<min(start + length, bytes.count)])
                try body(piece)
                start += piece.count
                if isMapped { giveBack(piece) }
            }
        }
    }

    private static func isMapping(_ bytes: UnsafeRawBufferPointer) -> Bool {
        let start = UInt(bitPattern: bytes.baseAddress)
        return mappings.withLock { mappings in
            mappings.contains { $0.key <= start && start + UInt(bytes.count) <= $0.key + UInt($0.value) }
        }
    }

    /// Whole pages only; a later access reads them from the file again.
    private static func giveBack(_ piece: UnsafeRawBufferPointer) {
        let page = UInt(sysconf(Int32(_SC_PAGESIZE)))
        let start = (UInt(bitPattern: piece.baseAddress) + page - 1) / page * page
        let end = (UInt(bitPattern: piece.baseAddress) + UInt(piece.count)) / page * page
        guard start < end, let address = UnsafeMutableRawPointer(bitPattern: start) else { return }
        madvise(address, Int(end - start), MADV_DONTNEED)
    }
}
