// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// What changes when a file is written or replaced.
package struct FileStamp: Hashable, Sendable {
    /// Modification time: seconds since 1970 UTC, and nanoseconds of that second.
    package let seconds: Int
    package let nanoseconds: Int
    package let byteCount: Int64
    package let inode: UInt64
    /// The mode's bits for owner, group and others.
    package let permissions: UInt16
    /// Whether users other than the owner may read, write or execute the file.
    package var isOpenToOthers: Bool { permissions & 0o077 != 0 }

    /// - Returns: nil for a file that is missing or cannot be asked for.
    package init?(path: String) {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        #if os(Linux)
            let modified = status.st_mtim
        #else
            let modified = status.st_mtimespec
        #endif
        (seconds, nanoseconds) = (Int(modified.tv_sec), Int(modified.tv_nsec))
        byteCount = Int64(status.st_size)
        inode = UInt64(status.st_ino)
        permissions = UInt16(status.st_mode & 0o777)
    }
}
