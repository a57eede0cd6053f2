// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
import CloudWire
import SystemSupport

/// The `state` of a sign-in at a provider: authenticated by this server, and bound to one browser by a cookie.
///
/// The nonce and the code verifier are derived from it with the server's key, so that the server keeps nothing per sign-in.
struct ProviderState: Hashable, Sendable {
    static let seconds: Int64 = 600
    static let browserSecretBytes = 16
    private static let bytesMax = 8192

    /// Authenticated text of the web app's sign-in page; empty for the console, and ``ProviderSignIns/consentFlow`` for the page of consents.
    var flow: String
    /// SHA-256 of the cookie's value, in hexadecimal digits.
    var browserHash: String
    /// Seconds since 1970 UTC.
    var expires: Int64

    private var plain: [UInt8] { Array("\(expires) \(browserHash) \(flow)".utf8) }

    init(flow: String, browserHash: String, expires: Int64) {
        self.flow = flow
        self.browserHash = browserHash
        self.expires = expires
    }

    func sealed(by sealer: Sealer) -> String {
        Hex.text(plain + sealer.code(of: plain, purpose: .identityProvider))
    }

    /// - Returns: Nil for a text that this server did not make, or that has expired.
    init?(opening text: String, now: Int64, by sealer: Sealer) {
        guard text.utf8.count < Self.bytesMax, let bytes = Hex.bytes(text), bytes.count > Sealer.codeBytes else { return nil }
        let plain = Array(bytes.dropLast(Sealer.codeBytes))
        guard sealer.isCode(bytes.suffix(Sealer.codeBytes), of: plain, purpose: .identityProvider) else { return nil }
        let parts = String(decoding: plain, as: UTF8.self).split(separator: " ", maxSplits: 2, omittingEmptySubsequences: false)
        guard parts.count == 3, let expires = Int64(parts[0]), now / 1000 < expires else { return nil }
        self.init(flow: String(parts[2]), browserHash: String(parts[1]), expires: expires)
    }

    /// The request that the state is of, with any number of calls.
    func request(redirectAddress: String, by sealer: Sealer, sha256: ([UInt8]) -> [UInt8]) -> AuthorizationRequest {
        func derived(_ label: String) -> String { Hex.text(sealer.code(of: Array("\(label) ".utf8) + plain, purpose: .identityProvider)) }
        let verifier = derived("verifier 1") + derived("verifier 2")
        let challenge = Base64.encode(sha256(Array(verifier.utf8))).replacing("+", with: "-").replacing("/", with: "_").replacing(
            "=", with: "")
        return AuthorizationRequest(
            state: sealed(by: sealer), nonce: derived("nonce"), codeVerifier: verifier, codeChallenge: challenge,
            redirectAddress: redirectAddress)
    }
}
