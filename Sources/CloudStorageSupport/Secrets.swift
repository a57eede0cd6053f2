// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import Foundation
import SystemSupport

/// Random values that a server gives out, and the hashes that it stores of them.
package enum Secrets {
    package static func bytes(_ count: Int) -> [UInt8] {
        SymmetricKey(size: SymmetricKeySize(bitCount: count * 8)).withUnsafeBytes { Array($0) }
    }

    /// Hexadecimal digits of so many random bytes.
    package static func text(bytes count: Int) -> String { Hex.text(bytes(count)) }

    /// 192 random bits. The prefix lets scanners of source code recognise a leaked token.
    package static func deviceToken() -> String { "tarn_" + text(bytes: 24) }

    package static func deviceID() -> String { text(bytes: 8) }

    /// A token as it is stored: its SHA-256.
    package static func hash(_ token: String) -> [UInt8] {
        var token = token
        let digest = token.withUTF8 { SHA256.hash(data: $0) }
        return digest.withUnsafeBytes { Array($0) }
    }
}
