// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import Crypto
import Foundation

/// The messages by which a new device gets the user's encryption keys from another one. The server relays them, and may change, drop and
/// replay them.
///
/// ```
/// new device                              server            device with the keys
///     │ 1 request: name, commitment ───────────────────────────▶│
///     │◀───────────────────────────── 2 offer: public key, nonce │
///     │ 3 reveal: public key, nonce ───────────────────────────▶│  opens the commitment
///     │   code 4711 0815        the user compares      code 4711 0815
///     │◀───────────────────────────────────── 4 keys, encrypted │  after "approve"
/// ```
///
/// Both codes are made from all messages. Whoever replaces a public key has to choose it before the other side's nonce is known: the
/// commitment binds the new device, and the offer is sent before the reveal. Codes that agree by chance have a probability of 10⁻⁸ for each
/// request that a device with the keys answers: the server knows the code after the offer, and can withhold the reveal of another one.
///
/// Source: S. Vaudenay, *Secure Communications over Insecure Channels Based on Short Authenticated Strings*, CRYPTO 2005.
enum ApprovalMessage {
    static let nonceBytes = 32
    static let publicKeyBytes = 32
    static let commitmentBytes = 32
    static let nameBytesMax = 200
    /// Devices of earlier versions send all keys as one part. A record has no more bytes.
    static let keysBytesMax = 1_000_000

    struct Request: Hashable, Sendable {
        /// Shown to the user; not trusted.
        var deviceName: String
        var commitment: [UInt8]
        /// Milliseconds since 1970 UTC.
        var time: Int64
    }

    struct Offer: Hashable, Sendable {
        /// X25519.
        var publicKey: [UInt8]
        var nonce: [UInt8]
    }

    struct Reveal: Hashable, Sendable {
        /// X25519.
        var publicKey: [UInt8]
        var nonce: [UInt8]
    }
}

/// All that both devices have to agree on. Its hash authenticates the exchange.
struct ApprovalTranscript: Hashable, Sendable {
    /// The container, and the user's record name: an exchange of another user has other codes.
    var container: String
    var user: String
    var request: ApprovalMessage.Request
    var offer: ApprovalMessage.Offer
    var reveal: ApprovalMessage.Reveal

    private static let codeDigits: UInt64 = 100_000_000

    private static func hash(_ purpose: String, _ parts: [[UInt8]]) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array(purpose.utf8) + [0])
        // Each part follows its length, so that no part can be read as the end of another.
        for part in parts { hash.update(data: withUnsafeBytes(of: UInt64(part.count).bigEndian) { Array($0) } + part) }
        return Array(hash.finalize())
    }

    static func commitment(to reveal: ApprovalMessage.Reveal) -> [UInt8] {
        hash("tarn approval commitment 1", [reveal.publicKey, reveal.nonce])
    }

    var digest: [UInt8] {
        Self.hash(
            "tarn approval 1",
            [
                Array(container.utf8), Array(user.utf8), Array(request.deviceName.utf8), request.commitment, offer.publicKey, offer.nonce,
                reveal.publicKey, reveal.nonce,
            ])
    }

    /// Eight digits in two groups.
    var code: String {
        let number = Self.hash("tarn approval code 1", [digest]).prefix(8).reduce(0 as UInt64) { $0 << 8 | UInt64($1) } % Self.codeDigits
        let digits = String(repeating: "0", count: 8 - String(number).count) + String(number)
        return "\(digits.prefix(4)) \(digits.suffix(4))"
    }
}

/// Encryption of the keys between the two devices.
enum ApprovalSeal {
    private static func key(_ own: Curve25519.KeyAgreement.PrivateKey, _ other: [UInt8], _ transcript: ApprovalTranscript) throws
        -> SymmetricKey
    {
        let secret = try own.sharedSecretFromKeyAgreement(with: Curve25519.KeyAgreement.PublicKey(rawRepresentation: other))
        return secret.hkdfDerivedSymmetricKey(
            using: SHA256.self, salt: transcript.digest, sharedInfo: Array("tarn approval keys 1".utf8), outputByteCount: 32)
    }

    /// The associated data. With its number, a part cannot take the place of another one.
    private static func context(_ transcript: ApprovalTranscript, part: Int) -> [UInt8] {
        part == 1 ? transcript.digest : transcript.digest + withUnsafeBytes(of: UInt64(part).bigEndian) { Array($0) }
    }

    /// - Parameter part: From 1.
    static func seal(
        _ keys: String, _ own: Curve25519.KeyAgreement.PrivateKey, to other: [UInt8], _ transcript: ApprovalTranscript, part: Int = 1
    ) throws -> [UInt8] {
        let box = try AES.GCM.seal(
            Array(keys.utf8), using: key(own, other, transcript), authenticating: context(transcript, part: part))
        return [UInt8](box.nonce) + box.ciphertext + box.tag
    }

    static func open(
        _ bytes: [UInt8], _ own: Curve25519.KeyAgreement.PrivateKey, from other: [UInt8], _ transcript: ApprovalTranscript, part: Int = 1
    ) throws -> String {
        let box = try AES.GCM.SealedBox(combined: bytes)
        let opened = try AES.GCM.open(box, using: key(own, other, transcript), authenticating: context(transcript, part: part))
        return String(decoding: opened, as: UTF8.self)
    }
}
