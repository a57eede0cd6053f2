// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
import Synchronization

/// Memory-mapped files, which the system reads on demand. A sequential read returns each piece to the system, so that a
/// gigabyte needs no more memory than a megabyte.
package enum MappedFile {
    /// Bytes read before memory is returned to the system.
    package static let pieceBytes = 1 << 20

    private struct Mapping {
        var length: Int
        /// The path of a file that is never changed; nil for other files.
        var path: String?
        var device: dev_t
        var inode: ino_t
    }

    /// The mappings by their start addresses.
    private static let mappings = Mutex<[UInt: Mapping]>([:])

    /// Maps a file, which must not be truncated. Stays readable when the file is removed.
    ///
    /// - Parameter isImmutable: Whether the file is never changed, so that ``link(_:to:)`` may give it another name.
    /// - Returns: nil for an unreadable file.
    package static func contents(of url: URL, isImmutable: Bool = false) -> Data? {
        let file = open(url.path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        return contents(of: file, path: isImmutable ? url.path : nil)
    }

    /// Maps an open file, which must not be truncated. Stays readable when the file is closed.
    package static func contents(ofOpenFile file: Int32) -> Data? { contents(of: file, path: nil) }

    private static func contents(of file: Int32, path: String?) -> Data? {
        var status = stat()
        guard fstat(file, &status) == 0, let count = Int(exactly: status.st_size) else { return nil }
        if count == 0 { return Data() }
        // The number of mappings per process is limited.
        guard let start = mmap(nil, count, PROT_READ, MAP_PRIVATE, file, 0), start != MAP_FAILED else { return bytes(of: file, count) }
        let mapping = Mapping(length: count, path: path, device: status.st_dev, inode: status.st_ino)
        mappings.withLock { $0[UInt(bitPattern: start)] = mapping }
        return Data(
            bytesNoCopy: start, count: count,
            deallocator: .custom { start, count in
                // Removed before the kernel can reuse the addresses.
                _ = mappings.withLock { $0.removeValue(forKey: UInt(bitPattern: start)) }
                munmap(start, count)
            })
    }

    private static func bytes(of file: Int32, _ count: Int) -> Data? {
        var data = Data(count: count)
        let isComplete = data.withUnsafeMutableBytes { (bytes: UnsafeMutableRawBufferPointer) -> Bool in
            var offset = 0
            while offset < count {
                let length = pread(file, bytes.baseAddress.map { $0 + offset }, count - offset, off_t(offset))
                if length < 0, errno == EINTR { continue }
                if length <= 0 { return false }
                offset += length
            }
            return true
        }
        return isComplete ? data : nil
    }

    /// Gives the immutable file that a value is the whole content of another name, which costs no copy.
    ///
    /// - Returns: `false` if the value has no such file, or if the file system has no room for the name or is another one. There is no file at
    ///   `path` then.
    package static func link(_ data: Data, to path: String) -> Bool {
        let start = data.withUnsafeBytes { UInt(bitPattern: $0.baseAddress) }
        guard let mapping = mappings.withLock({ $0[start] }), mapping.length == data.count, let source = mapping.path,
            Foundation.link(source, path) == 0
        else { return false }
        // The path may be that of another file by now.
        var status = stat()
        if lstat(path, &status) == 0, status.st_dev == mapping.device, status.st_ino == mapping.inode { return true }
        unlink(path)
        return false
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
            mappings.contains { $0.key <= start && start + UInt(bytes.count) <= $0.key + UInt($0.value.length) }
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
