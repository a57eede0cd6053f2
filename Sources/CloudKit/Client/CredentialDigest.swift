// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import Foundation

/// A digest that identifies a credential without revealing it. Tokens are long and random, so that a hash cannot be
/// inverted by trial.
package enum CredentialDigest {
    package static func text(of credential: String) -> String {
        SHA256.hash(data: Data("tarn credential \(credential)".utf8)).prefix(16).map { String(UInt16($0) + 256, radix: 16).dropFirst() }.joined()
    }
}
