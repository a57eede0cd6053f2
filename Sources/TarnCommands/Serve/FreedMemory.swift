// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CMalloc

/// The C library's policy for freed memory.
enum FreedMemory {
    private static let keptBytes: Int32 = 8 << 20
    private static let takenAtOnceBytes: Int32 = 1 << 20
    /// Allocations from this size on have a mapping of their own (`mmap`); parts of assets are smaller.
    private static let ownMappingBytes: Int32 = 4 << 20

    /// Retains up to 8 MiB of each thread's freed memory for its next request.
    ///
    /// By default a thread returns free memory above 128 KiB to the system, which interrupts all other threads, and maps it
    /// again for the next request: a tenth of a server's time for small writes.
    ///
    /// Source: the GNU C Library manual, "Malloc Tunable Parameters".
    static func keepForNextRequest() {
        _ = mallopt(M_TRIM_THRESHOLD, keptBytes)
        _ = mallopt(M_TOP_PAD, takenAtOnceBytes)
        // Setting any of these options turns off the library's own adjustment of this threshold.
        _ = mallopt(M_MMAP_THRESHOLD, ownMappingBytes)
    }
}
