// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import Foundation
import ManagedModel
import SystemSupport

/// Compares the content of an asset with a local value, without storing the content twice.
///
/// The length and a 128-bit FNV-1a hash. Safe against accidents, not against deliberate collisions: it decides only which of its own values
/// a device sends again.
package struct ContentDigest: Hashable, Sendable {
    package let text: String

    package init(_ bytes: [UInt8]) { self = bytes.withUnsafeBytes { Self($0) } }

    /// The content may be a file that is mapped: it is read once, from its beginning to its end.
    package init(_ content: Data) {
        var fingerprint = WideFingerprint()
        MappedFile.forEachPiece(of: content) { fingerprint.combine($0) }
        self.init(fingerprint, content.count)
    }

    init(_ bytes: UnsafeRawBufferPointer) {
        var fingerprint = WideFingerprint()
        fingerprint.combine(bytes)
        self.init(fingerprint, bytes.count)
    }

    private init(_ fingerprint: WideFingerprint, _ count: Int) { text = "\(count)-\(String(fingerprint.value, radix: 16))" }

    /// Whether content of so many bytes may have this digest.
    func fits(_ byteCount: Int) -> Bool { text.hasPrefix("\(byteCount)-") }

    /// A digest that was stored as text.
    package init(text: String) { self.text = text }
}
