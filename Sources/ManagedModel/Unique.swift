// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

extension Dictionary {
    /// Creates a dictionary from pairs. Of pairs with equal keys the first counts.
    package init(keepingFirst pairs: some Sequence<(Key, Value)>) { self.init(pairs, uniquingKeysWith: { first, _ in first }) }
}

extension Sequence {
    /// Returns the elements without those that have an earlier element's key, in order.
    package func uniqued<Key: Hashable>(by key: (Element) throws -> Key) rethrows -> [Element] {
        var keys: Set<Key> = []
        return try filter { keys.insert(try key($0)).inserted }
    }
}

extension Sequence where Element: Hashable {
    /// Returns the elements without duplicates, in order.
    package func uniqued() -> [Element] { uniqued(by: \.self) }
}
