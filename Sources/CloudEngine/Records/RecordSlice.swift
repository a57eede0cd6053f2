// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Divides stored records into the slices that one statement reads: the record that reaches the limit of bytes is the last of its slice.
package struct RecordSlice: Hashable, Sendable {
    /// Stored bytes of the records so far.
    package private(set) var bytes = 0
    private let bytesMax: Int

    package init(bytesMax: Int = RecordSize.storedBytesAtOnce) { self.bytesMax = bytesMax }

    package var isFull: Bool { bytes >= bytesMax }

    package mutating func add(_ bytes: Int) { self.bytes += bytes }
}
