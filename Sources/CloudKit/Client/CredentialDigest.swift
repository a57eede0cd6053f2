// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import Foundation
import SystemSupport

/// A digest that identifies a credential without revealing it. Tokens are long and random, so that a hash cannot be
/// inverted by trial.
package enum CredentialDigest {
    package static func text(of credential: String) -> String {
        Hex.text(SHA256.hash(data: Data("tarn credential \(credential)".utf8)).prefix(16))
    }
}
