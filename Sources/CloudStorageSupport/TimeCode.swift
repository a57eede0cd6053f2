// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
package import Foundation
import SystemSupport

/// Codes of the time that an authenticator app shows.
///
/// Source: RFC 6238 with the parameters that all apps have: HMAC-SHA-1, 30 seconds, 6 digits.
package enum TimeCode {
    package static let secretBytes = 20
    package static let digits = 6
    private static let stepMilliseconds: Int64 = 30_000
    /// Steps before and after the present one with a code that is accepted: clocks differ, and typing takes time.
    private static let tolerance: Int64 = 1

    /// - Parameters:
    ///   - step: Number of 30-second steps since 1970 UTC.
    ///   - digits: At most 9.
    /// - Returns: The code with leading zeros.
    package static func code(of secret: [UInt8], step: Int64, digits: Int = digits) -> String {
        let counter = withUnsafeBytes(of: step.bigEndian) { Data($0) }
        let mac = Array(HMAC<Insecure.SHA1>.authenticationCode(for: counter, using: SymmetricKey(data: secret)))
        // Source: RFC 4226, section 5.3: the last four bits choose the bytes.
        let offset = Int(mac[mac.count - 1] & 0xF)
        let number = mac[offset..<(offset + 4)].reduce(0 as UInt32) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let modulus = (0..<digits).reduce(1 as UInt32) { product, _ in product * 10 }
        let text = String(number % modulus)
        return String(repeating: "0", count: digits - text.utf8.count) + text
    }

    package static func step(at milliseconds: Int64) -> Int64 { milliseconds / stepMilliseconds }

    /// - Parameter last: Codes of this step and earlier ones are refused as replayed.
    /// - Returns: The step of a right code.
    package static func step(of code: String, secret: [UInt8], now: Int64, after last: Int64) -> Int64? {
        let present = step(at: now)
        var found: Int64?
        // All are compared, so that the time is the same for each.
        for step in (present - tolerance)...(present + tolerance) where step > last {
            if ConstantTime.areEqual(self.code(of: secret, step: step), code) { found = step }
        }
        return found
    }
}

/// Codes that replace a lost authenticator app: 80 random bits, so that an unsalted hash is sufficient.
package enum RecoveryCode {
    package static let count = 10
    private static let bytes = 10
    private static let groupLength = 4

    package static func make() -> String {
        let text = SymmetricKey(size: SymmetricKeySize(bitCount: bytes * 8)).withUnsafeBytes { Base32.text($0) }.lowercased()
        return stride(from: 0, to: text.count, by: groupLength).map { String(text.dropFirst($0).prefix(groupLength)) }.joined(
            separator: "-")
    }

    /// - Returns: Nil for a text that isn't a recovery code. Case, spaces and hyphens do not matter.
    package static func hash(_ text: String) -> Data? {
        let code = SecondFactorText.normalized(text)
        guard code.utf8.count == bytes * 8 / 5 else { return nil }
        return Data(SHA256.hash(data: Data(code.utf8)))
    }
}

/// A code as a person typed it.
package enum SecondFactorText {
    private static let bytesMax = 64

    /// Without spaces and hyphens, in upper case; empty for an overlong text.
    package static func normalized(_ text: String) -> String {
        guard text.utf8.count <= bytesMax else { return "" }
        return text.filter { !$0.isWhitespace && $0 != "-" }.uppercased()
    }
}
