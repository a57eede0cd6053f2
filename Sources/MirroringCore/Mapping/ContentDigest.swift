// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
import ManagedModel

/// Compares the content of an asset with a local value, without storing the content twice.
///
/// The length and a 128-bit FNV-1a hash. Safe against accidents, not against deliberate collisions: it decides only which of its own values
/// a device sends again.
package struct ContentDigest: Hashable, Sendable {
    package let text: String

    package init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes { Self($0) } }

    /// The content may be a file that is mapped: it is read once, from its beginning to its end.
    package init(_ content: Data) {
        var hash = Self.start
        MappedFile.forEachPiece(of: content) { Self.add($0, to: &hash) }
        self.init(hash, content.count)
    }

    init(_ bytes: UnsafeRawBufferPointer) {
        var hash = Self.start
        Self.add(bytes, to: &hash)
        self.init(hash, bytes.count)
    }

    private static let start: UInt128 = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d

    private static func add(_ bytes: UnsafeRawBufferPointer, to hash: inout UInt128) {
        let prime: UInt128 = 0x0000_0000_0100_0000_0000_0000_0000_013b
        for byte in bytes { hash = (hash ^ UInt128(byte)) &* prime }
    }

    private init(_ hash: UInt128, _ count: Int) { text = "\(count)-\(String(hash, radix: 16))" }

    /// Whether content of so many bytes may have this digest.
    func fits(_ byteCount: Int) -> Bool { text.hasPrefix("\(byteCount)-") }

    /// A digest that was stored as text.
    package init(text: String) { self.text = text }
}
