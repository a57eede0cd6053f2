// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import Foundation

/// A key in a form for paper: `TARN1-` and groups of five characters, which a person can read aloud and type.
///
///     4 bytes      1 byte               n bytes       32 bytes   4 bytes
///     generation   length of the zone   zone's name   key        checksum
///
/// The checksum is the beginning of a SHA-256 hash over a purpose and all bytes before it: a typing error passes with a probability of
/// 2⁻³². Characters are those of Crockford's Base32, which has no I, L, O and U; case, hyphens and spaces do not matter.
///
/// Source: crockford.com/base32
enum RecoveryLine {
    static let prefix = "TARN1"
    private static let alphabet = Array("0123456789ABCDEFGHJKMNPQRSTVWXYZ".utf8)
    private static let checksumBytes = 4
    private static let groupCharacters = 5
    /// More than any key has.
    private static let charactersMax = 1_000

    static func text(of key: EncryptionKey) -> String {
        let zone = Array((key.zone ?? "").utf8.prefix(Int(UInt8.max)))
        var bytes = (0..<4).map { UInt8(truncatingIfNeeded: key.generation >> (24 - 8 * UInt32($0))) }
        bytes += [UInt8(zone.count)] + zone + key.bytes
        bytes += checksum(bytes)
        let characters = encoded(bytes)
        let groups = stride(from: 0, to: characters.count, by: groupCharacters).map { start in
            String(decoding: characters[start..<min(start + groupCharacters, characters.count)], as: UTF8.self)
        }
        return ([prefix] + groups).joined(separator: "-")
    }

    /// - Returns: nil for a text of another form, or with a typing error.
    static func key(_ line: String) -> EncryptionKey? {
        guard line.utf8.count <= charactersMax else { return nil }
        let characters = line.uppercased().utf8.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: " ") }
        guard characters.starts(with: Array(prefix.utf8)), let all = decoded(characters.dropFirst(prefix.utf8.count)),
            all.count > checksumBytes
        else { return nil }
        let bytes = Array(all.dropLast(checksumBytes))
        guard checksum(bytes) == Array(all.suffix(checksumBytes)), bytes.count > 4,
            bytes.count == 5 + Int(bytes[4]) + EncryptionKey.byteCount
        else {
            return nil
        }
        let generation = bytes[..<4].reduce(0) { $0 << 8 | UInt32($1) }
        let key = Array(bytes.suffix(EncryptionKey.byteCount))
        if bytes[4] == 0 { return EncryptionKey(bytes: key, generation: generation) }
        guard let zone = String(validating: bytes[5..<5 + Int(bytes[4])], as: UTF8.self), EncryptionKey.isShareZone(zone) else {
            return nil
        }
        return EncryptionKey(bytes: key, generation: generation, zone: zone)
    }

    private static func checksum(_ bytes: [UInt8]) -> [UInt8] {
        var hash = SHA256()
        hash.update(data: Array("tarn recovery 1".utf8))
        hash.update(data: bytes)
        return Array(hash.finalize().prefix(checksumBytes))
    }

    // MARK: Base32

    private static func encoded(_ bytes: [UInt8]) -> [UInt8] {
        var characters: [UInt8] = []
        var buffer: UInt32 = 0, count = 0
        for byte in bytes {
            buffer = buffer << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                characters.append(alphabet[Int(buffer >> UInt32(count) & 31)])
            }
            buffer &= 0xff
        }
        if count > 0 { characters.append(alphabet[Int(buffer << UInt32(5 - count) & 31)]) }
        return characters
    }

    /// - Returns: nil for an unknown character, and for characters behind the last byte.
    private static func decoded(_ characters: some Sequence<UInt8>) -> [UInt8]? {
        var bytes: [UInt8] = []
        var buffer: UInt32 = 0, count = 0
        for character in characters {
            let value: Int
            switch character {
            case UInt8(ascii: "O"): value = 0
            case UInt8(ascii: "I"), UInt8(ascii: "L"): value = 1
            default:
                guard let index = alphabet.firstIndex(of: character) else { return nil }
                value = index
            }
            buffer = buffer << 5 | UInt32(value)
            count += 5
            if count >= 8 {
                count -= 8
                bytes.append(UInt8(truncatingIfNeeded: buffer >> UInt32(count)))
            }
            buffer &= 0xff
        }
        return count < 5 && buffer & ((1 << UInt32(count)) - 1) == 0 ? bytes : nil
    }
}
