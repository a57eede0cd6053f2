// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import SystemSupport

/// A position in a snapshot, used as a change token until the snapshot is read.
///
/// It is behind a frame, or behind some records of a frame with large assets.
struct SnapshotPosition: Hashable {
    /// The end of a snapshot that was complete when it was offered.
    struct End: Hashable {
        /// Bytes of all frames.
        var byteCount: Int64
        /// The digest of the last frame.
        var digest: [UInt8]
    }

    private static let prefix = "snapshot"
    private static let none = "-"
    /// Bytes of the largest snapshot that is read.
    static let bytesMax: Int64 = 1 << 40

    var identifier: String
    /// Nil for a snapshot that was being built.
    var end: End?
    /// The offset of the next frame.
    var offset: Int64 = 0
    /// The digest of the frame before.
    var digest = SnapshotFrame.firstDigest
    /// Records of the next frame that were read.
    var recordsRead = 0
    /// The change token behind the frame before; nil at the beginning.
    var syncToken: String?

    /// The beginning of a snapshot; nil for an offer that cannot be read.
    init?(_ offer: SnapshotOffer) {
        guard SnapshotOffer.isIdentifier(offer.identifier) else { return nil }
        identifier = offer.identifier
        guard let whole = offer.whole else { return }
        guard (1...Self.bytesMax).contains(whole.byteCount), whole.digest.count == SnapshotFrame.digestBytes else { return nil }
        end = End(byteCount: whole.byteCount, digest: whole.digest)
    }

    /// Reads the text of a position; nil for a change token.
    init?(_ text: String?) {
        guard let parts = text?.split(separator: " ", omittingEmptySubsequences: false), parts.count == 8, parts[0] == Self.prefix,
            SnapshotOffer.isIdentifier(parts[1]), let offset = Int64(parts[4]), let digest = Hex.bytes(parts[5]),
            let recordsRead = Int(parts[6]), (0..<Self.bytesMax).contains(offset), recordsRead >= 0
        else { return nil }
        identifier = String(parts[1])
        self.offset = offset
        self.digest = digest
        self.recordsRead = recordsRead
        syncToken = parts[7] == Self.none ? nil : String(parts[7])
        guard parts[2] != Self.none else { return }
        guard let byteCount = Int64(parts[2]), let lastDigest = Hex.bytes(parts[3]), (offset + 1...Self.bytesMax).contains(byteCount) else {
            return nil
        }
        end = End(byteCount: byteCount, digest: lastDigest)
    }

    /// Change tokens have no spaces: those of Tarn are hexadecimal digits.
    var text: String {
        [
            Self.prefix, identifier, end.map { "\($0.byteCount)" } ?? Self.none, end.map { Hex.text($0.digest) } ?? Self.none, "\(offset)",
            Hex.text(digest), "\(recordsRead)", syncToken ?? Self.none,
        ].joined(separator: " ")
    }
}
