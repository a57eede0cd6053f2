// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A set of names that does not change. To compare a few names takes less time than to hash one.
struct KnownNames: Sendable {
    private static let comparedMax = 12

    private let names: [String]
    /// nil for a few names.
    private let set: Set<String>?

    init(_ names: [String]) {
        self.names = names
        set = names.count > Self.comparedMax ? Set(names) : nil
    }

    func contains(_ name: String) -> Bool { set?.contains(name) ?? names.contains(name) }
}
