// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The last version of any record that a restored server has in common with the history that a device knows.
///
/// Change tags of a server with ``Capability/lostHistory`` are numbers in base 36, which increase with each change of a database: a version
/// with a greater tag is lost, and a restored server may use its tag again.
package struct RestoredVersion: Hashable, Sendable {
    /// Digits of the greatest number: 64 bits in base 36.
    private static let digitsMax = 13

    package let changeTag: String

    /// - Returns: nil for a tag of another form, with which no other tag can be compared.
    package init?(changeTag: String) {
        let isNumber = changeTag.utf8.allSatisfy {
            UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 || UInt8(ascii: "a")...UInt8(ascii: "z") ~= $0
        }
        guard isNumber, 1...Self.digitsMax ~= changeTag.utf8.count else { return nil }
        self.changeTag = changeTag
    }
}
