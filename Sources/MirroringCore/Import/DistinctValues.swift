// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Values in the order in which they were first added. To compare a few values takes less time than to hash one.
struct DistinctValues<Value: Hashable> {
    private static var comparedMax: Int { 8 }

    private(set) var values: [Value] = []
    /// Empty for a few values.
    private var set: Set<Value> = []

    mutating func reserveCapacity(_ count: Int) { values.reserveCapacity(count) }

    /// - Returns: Whether the value was not there.
    @discardableResult
    mutating func insert(_ value: Value) -> Bool {
        if values.count < Self.comparedMax {
            if values.contains(value) { return false }
        } else {
            if set.isEmpty { set = Set(values) }
            guard set.insert(value).inserted else { return false }
        }
        values.append(value)
        return true
    }
}
