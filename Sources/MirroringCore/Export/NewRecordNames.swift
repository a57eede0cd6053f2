// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Record names that the caller generates, so that decisions are repeatable.
package struct NewRecordNames: Sendable {
    private var used = 0
    /// The largest number of names.
    package let count: Int
    private let makeName: @Sendable (Int) -> String

    package init(_ names: [String]) { self.init(count: names.count) { names[$0] } }

    /// - Parameters:
    ///   - count: The largest number of names.
    ///   - makeName: Returns a name by its number, from 0 on. It is called for the names that are used.
    package init(count: Int, _ makeName: @escaping @Sendable (Int) -> String) {
        self.count = count
        self.makeName = makeName
    }

    mutating func next() -> String {
        precondition(used < count, "fewer record names were supplied than the decision said it may need")
        defer { used += 1 }
        return makeName(used)
    }
}
