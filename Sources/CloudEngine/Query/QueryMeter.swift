// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Counts the work of one page of a query: records, and bytes looked at.
///
/// | work | what happens |
/// |---|---|
/// | `recordsMax` records or `bytesMax` bytes | the page ends, with a marker where the next one goes on |
/// | ``hardFactor`` × `bytesMax` bytes | the query is refused: its order is known only once all matches are, and they are too many |
///
/// Not thread-safe: it belongs to one page.
final class QueryMeter {
    /// Ways that cannot end a page early may do that many times the work of one that can.
    static let hardFactor = 4
    private static let bytesPerRecord = 256

    private let recordsMax: Int
    private let bytesMax: Int
    private var records = 0
    private var bytes = 0

    init(recordsMax: Int, bytesMax: Int) {
        self.recordsMax = recordsMax
        self.bytesMax = bytesMax
    }

    /// Whether a page that may end here has to.
    var isSpent: Bool { records >= recordsMax || hasSpentBytes }

    /// The same for ways that give each zone a ``Part`` of the records.
    var hasSpentBytes: Bool { bytes >= bytesMax }

    /// - Throws: `WireError` with the native code `limitExceeded`.
    func add(record recordBytes: Int) throws(WireError) {
        records += 1
        try add(bytes: Self.bytesPerRecord + recordBytes)
    }

    /// The share of one of several zones that one page looks at.
    func part(of zoneCount: Int) -> Part {
        Part(records: max(100, recordsMax / max(1, zoneCount)), bytes: max(100 * Self.bytesPerRecord, bytesMax / max(1, zoneCount)))
    }

    struct Part {
        private var records: Int
        private var bytes: Int

        fileprivate init(records: Int, bytes: Int) {
            self.records = records
            self.bytes = bytes
        }

        mutating func take(_ row: IndexRow) {
            records -= 1
            bytes -= row.bytes
        }

        var isSpent: Bool { records <= 0 || bytes <= 0 }
    }

    func add(bytes count: Int) throws(WireError) {
        bytes += count
        guard bytes < bytesMax * Self.hardFactor else {
            throw WireError(
                .badRequest, "the query has to look at too many records to find the first ones: narrow it down with another filter",
                nativeCode: .limitExceeded)
        }
    }
}
