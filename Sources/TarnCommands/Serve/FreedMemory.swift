// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CMalloc

/// What the C library does with memory that was freed.
enum FreedMemory {
    private static let keptBytes: Int32 = 8 << 20
    private static let takenAtOnceBytes: Int32 = 1 << 20
    /// From here on memory is the system's: pieces of assets are below it.
    private static let ownMappingBytes: Int32 = 4 << 20

    /// Keeps some megabytes of each thread's freed memory for its next request.
    ///
    /// By default a thread gives back what is over 128 KiB as soon as it is free, interrupting all other threads for it,
    /// and takes it again with the next request: a tenth of what a server spends on small writes.
    ///
    /// Source: the GNU C Library manual, "Malloc Tunable Parameters".
    static func keepForNextRequest() {
        _ = mallopt(M_TRIM_THRESHOLD, keptBytes)
        _ = mallopt(M_TOP_PAD, takenAtOnceBytes)
        // The library would have found it by itself, but does not once it is told anything.
        _ = mallopt(M_MMAP_THRESHOLD, ownMappingBytes)
    }
}
