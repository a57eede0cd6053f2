// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import SystemSupport

/// A position in a snapshot, which stands in the place of a change token until the snapshot is read.
///
/// It is behind a frame, or behind some records of a frame with large assets.
struct SnapshotPosition: Hashable {
    private static let prefix = "snapshot"
    private static let none = "-"
    /// Bytes of the largest snapshot that is read.
    private static let bytesMax: Int64 = 1 << 40

    var identifier: String
    /// Bytes of all frames.
    var byteCount: Int64
    /// The digest of the last frame.
    var lastDigest: [UInt8]
    /// The offset of the next frame.
    var offset: Int64
    /// The digest of the frame before.
    var digest: [UInt8]
    /// Records of the next frame that were read.
    var recordsRead = 0
    /// The change token behind the frame before; nil at the beginning.
    var syncToken: String?

    /// The beginning of a snapshot; nil for an offer that cannot be read.
    init?(_ offer: SnapshotOffer) {
        guard SnapshotOffer.isIdentifier(offer.identifier), (1...Self.bytesMax).contains(offer.byteCount),
            offer.digest.count == SnapshotFrame.digestBytes
        else { return nil }
        identifier = offer.identifier
        byteCount = offer.byteCount
        lastDigest = offer.digest
        offset = 0
        digest = SnapshotFrame.firstDigest
    }

    /// Reads the text of a position; nil for a change token.
    init?(_ text: String?) {
        guard let parts = text?.split(separator: " ", omittingEmptySubsequences: false), parts.count == 8, parts[0] == Self.prefix,
            SnapshotOffer.isIdentifier(parts[1]), let byteCount = Int64(parts[2]), let lastDigest = Hex.bytes(parts[3]),
            let offset = Int64(parts[4]), let digest = Hex.bytes(parts[5]), let recordsRead = Int(parts[6]),
            (1...Self.bytesMax).contains(byteCount), (0..<byteCount).contains(offset), recordsRead >= 0
        else { return nil }
        identifier = String(parts[1])
        self.byteCount = byteCount
        self.lastDigest = lastDigest
        self.offset = offset
        self.digest = digest
        self.recordsRead = recordsRead
        syncToken = parts[7] == Self.none ? nil : String(parts[7])
    }

    /// Change tokens have no spaces: those of Tarn are hexadecimal digits.
    var text: String {
        [
            Self.prefix, identifier, "\(byteCount)", Hex.text(lastDigest), "\(offset)", Hex.text(digest), "\(recordsRead)",
            syncToken ?? Self.none,
        ].joined(separator: " ")
    }
}
