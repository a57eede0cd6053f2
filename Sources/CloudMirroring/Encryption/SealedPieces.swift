// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import Foundation

/// Long content, encrypted without having all of it in memory: a key of its own, derived from the key ring's and a
/// random salt (HKDF with SHA-256), and AES-GCM for each piece.
///
///     1 byte      8 bytes   16 bytes   then for each piece
///     version 4   key id    salt       n bytes, 16 bytes of tag
///
/// Pieces have ``pieceBytes`` bytes, the last one the rest. A piece's nonce is its number and whether it is the last, so
/// that none can be left out, doubled, put elsewhere or taken for the end. Container, environment, zone, record and field go into the
/// derived key: elsewhere the content cannot be decrypted. Version 2, without environment and zone, is decrypted and not written any more.
struct SealedPieces {
    static let version: UInt8 = 4
    static let firstVersion: UInt8 = 2
    static let versions = [firstVersion, version]
    static let pieceBytes = 1 << 20
    private static let saltBytes = 16
    private static let tagBytes = 16
    static let sealedPieceBytes = pieceBytes + tagBytes
    static let headerBytes = 1 + EncryptionKeyRing.KeyID.byteCount + saltBytes

    struct Header {
        let version: UInt8
        let keyID: EncryptionKeyRing.KeyID
        let salt: [UInt8]

        init(keyID: EncryptionKeyRing.KeyID, salt: [UInt8]) {
            version = SealedPieces.version
            self.keyID = keyID
            self.salt = salt
        }

        /// nil for another format.
        init?(_ sealed: Data) {
            guard sealed.count >= SealedPieces.headerBytes + SealedPieces.tagBytes, let first = sealed.first,
                SealedPieces.versions.contains(first)
            else { return nil }
            version = first
            let rest = sealed.dropFirst()
            keyID = EncryptionKeyRing.KeyID(bytes: [UInt8](rest.prefix(EncryptionKeyRing.KeyID.byteCount)))
            salt = [UInt8](rest.dropFirst(EncryptionKeyRing.KeyID.byteCount).prefix(SealedPieces.saltBytes))
        }
    }

    private let key: SymmetricKey
    let header: [UInt8]
    /// Pieces in all; at least one.
    let count: UInt64

    /// For sealing.
    init(_ id: EncryptionKeyRing.KeyID, _ key: SymmetricKey, context: [UInt8], byteCount: Int) throws {
        let salt = SymmetricKey(size: SymmetricKeySize(bitCount: Self.saltBytes * 8)).withUnsafeBytes { Array($0) }
        self.init(Header(keyID: id, salt: salt), key, context: context, count: (byteCount + Self.pieceBytes - 1) / Self.pieceBytes)
    }

    /// For opening.
    init(_ header: Header, _ key: SymmetricKey, context: [UInt8], sealedBytes: Int) {
        let bytes = sealedBytes - Self.headerBytes
        self.init(header, key, context: context, count: (bytes + Self.sealedPieceBytes - 1) / Self.sealedPieceBytes)
    }

    private init(_ header: Header, _ key: SymmetricKey, context: [UInt8], count: Int) {
        self.key = HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key, salt: header.salt, info: context, outputByteCount: 32)
        self.header = [header.version] + header.keyID.bytes + header.salt
        self.count = UInt64(max(count, 1))
    }

    func sealed(_ piece: UnsafeRawBufferPointer, _ number: UInt64) throws -> [UInt8] {
        let box = try AES.GCM.seal(piece, using: key, nonce: nonce(number))
        return Array(box.ciphertext) + Array(box.tag)
    }

    /// - Returns: nil for a piece that was damaged, or written without the key.
    func opened(_ piece: UnsafeRawBufferPointer, _ number: UInt64) -> Data? {
        guard piece.count >= Self.tagBytes, let nonce = try? nonce(number) else { return nil }
        let end = piece.count - Self.tagBytes
        let (ciphertext, tag) = (UnsafeRawBufferPointer(rebasing: piece[..<end]), UnsafeRawBufferPointer(rebasing: piece[end...]))
        guard let box = try? AES.GCM.SealedBox(nonce: nonce, ciphertext: ciphertext, tag: tag) else { return nil }
        return try? AES.GCM.open(box, using: key)
    }

    private func nonce(_ number: UInt64) throws -> AES.GCM.Nonce {
        let bytes = (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
        return try AES.GCM.Nonce(data: bytes + [0, 0, 0, number == count - 1 ? 1 : 0])
    }
}
