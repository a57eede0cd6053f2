// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire

/// Up to which change the records of a partition were looked at, before types are removed.
package struct CheckedChanges: Hashable, Sendable {
    private var start: Int64 = 0
    /// By zone, where that is later.
    private var zones: [Int64: Int64] = [:]

    /// No record was looked at.
    package init() {}

    /// All records of a state were looked at, or will be.
    package init(allOf view: any PartitionReader) throws { start = try view.state().counter }

    func last(in zone: Int64) -> Int64 { max(start, zones[zone] ?? 0) }

    mutating func advance(to change: Int64, in zone: Int64) { zones[zone] = change }
}
