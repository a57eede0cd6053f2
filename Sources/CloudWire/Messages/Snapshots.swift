// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// A snapshot of a zone that a device without a token may read instead of change pages.
///
/// It is read by `GET {database}/changes/snapshot?id={identifier}`, with a `Range`: a sequence of frames. See ``SnapshotFrame``. It may be
/// read while it is being built.
package struct SnapshotOffer: Hashable, Sendable {
    /// What is known of a snapshot that is complete.
    package struct Whole: Hashable, Sendable {
        /// Bytes of all frames.
        package var byteCount: Int64
        package var recordCount: Int
        /// The digest in the last frame, which covers all frames.
        package var digest: [UInt8]
        /// The change token behind the snapshot.
        package var syncToken: String

        package init(byteCount: Int64, recordCount: Int, digest: [UInt8], syncToken: String) {
            self.byteCount = byteCount
            self.recordCount = recordCount
            self.digest = digest
            self.syncToken = syncToken
        }
    }

    /// 32 hexadecimal digits.
    package var identifier: String
    /// Nil while the snapshot is being built.
    package var whole: Whole?

    package init(identifier: String, whole: Whole? = nil) {
        self.identifier = identifier
        self.whole = whole
    }

    /// Whether a text may be an identifier, so that it needs no encoding in an address or a file name.
    package static func isIdentifier(_ text: some StringProtocol) -> Bool {
        text.utf8.count == 32 && text.utf8.allSatisfy { (48...57).contains($0) || (97...102).contains($0) }
    }
}

/// The form of a snapshot's frames.
///
///     4 bytes   length of the body, big endian
///     32 bytes  SHA-256 of the digest of the frame before and the body; the first frame follows 32 zero bytes
///     body      one ``ZoneChangesResult`` as JSON: a change page, with a token; `moreComing` is false in the last frame
///
/// The token of a frame is a change token of the zone, so that a client may go on with change pages behind any frame. A sequence that ends
/// with another frame than the last is incomplete.
package enum SnapshotFrame {
    package static let digestBytes = 32
    package static let headBytes = 4 + digestBytes
    package static let firstDigest = [UInt8](repeating: 0, count: digestBytes)

    package struct Head: Hashable, Sendable {
        /// Bytes of the body.
        package var length: Int
        package var digest: [UInt8]
    }

    package static func head(length: Int, digest: [UInt8]) -> [UInt8] {
        withUnsafeBytes(of: UInt32(length).bigEndian) { Array($0) } + digest
    }

    /// Decodes the head at the beginning of bytes; nil if it is incomplete.
    package static func head(_ bytes: ArraySlice<UInt8>) -> Head? {
        guard bytes.count >= headBytes else { return nil }
        let length = bytes.prefix(4).reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
        return Head(length: Int(length), digest: Array(bytes.dropFirst(4).prefix(digestBytes)))
    }
}
