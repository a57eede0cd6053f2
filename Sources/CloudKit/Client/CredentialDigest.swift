// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import Foundation
import SystemSupport

/// What may be written down of a credential, to know it again: tokens are long and random, so that nobody finds one by its hash.
package enum CredentialDigest {
    package static func text(of credential: String) -> String {
        Hex.text(SHA256.hash(data: Data("tarn credential \(credential)".utf8)).prefix(16))
    }
}
