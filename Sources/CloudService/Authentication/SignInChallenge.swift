// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngine
package import CloudWire
import SystemSupport

/// The target of a sign-in: the console, the page of consents, or a container and its environment.
package struct SignInPlace: Hashable, Sendable {
    /// The text of a ``SessionUse``.
    package var containerIdentifier: String
    package var environment: CloudEnvironment
    /// Whether the person asked to stay signed in.
    package var isKept: Bool

    package init(containerIdentifier: String, environment: CloudEnvironment, isKept: Bool) {
        self.containerIdentifier = containerIdentifier
        self.environment = environment
        self.isKept = isKept
    }

    package static func console(isKept: Bool) -> SignInPlace {
        SignInPlace(containerIdentifier: "", environment: .production, isKept: isKept)
    }

    /// The page on which a person gives and ends consents.
    package static let consentPage = SignInPlace(
        containerIdentifier: SessionUse.consentPage.text, environment: .production, isKept: false)

    package var use: SessionUse { SessionUse(containerIdentifier) }

    /// In the audit log.
    var action: String {
        switch use {
        case .console: "console.sign-in"
        case .consentPage: "consent.sign-in"
        case .container, .operatorKey, .consent: "web.sign-in"
        }
    }
}

package enum SignInResult: Hashable, Sendable {
    /// - Parameter token: A web auth token.
    case signedIn(token: String)
    /// - Parameter challenge: An authenticated text for the page that asks for a code.
    case needsCode(challenge: String)
}

/// The first half of a sign-in: who proved which account, and until when the second factor may follow. It gives access to nothing, and ends
/// with the password that proved the account.
struct SignInChallenge: Hashable, Sendable {
    static let seconds: Int64 = 300
    private static let bytesMax = 1024

    var account: Int64
    var place: SignInPlace
    /// Of the password when it was checked; see ``SecondFactorStorage/passwordVersion(ofAccount:)``.
    var passwordVersion: [UInt8]
    /// Seconds since 1970 UTC.
    var expires: Int64

    init(account: Int64, passwordVersion: [UInt8], place: SignInPlace, expires: Int64) {
        self.account = account
        self.passwordVersion = passwordVersion
        self.place = place
        self.expires = expires
    }

    func sealed(by sealer: Sealer) -> String {
        let target = "\(place.isKept ? 1 : 0) \(place.environment.rawValue) \(place.containerIdentifier)"
        let plain = Array("\(account) \(expires) \(Hex.text(passwordVersion)) \(target)".utf8)
        return Hex.text(plain + sealer.code(of: plain, purpose: .signInChallenge))
    }

    /// - Returns: Nil for a text that this server did not make, or that has expired.
    init?(opening text: String, now: Int64, by sealer: Sealer) {
        guard text.utf8.count < Self.bytesMax, let bytes = Hex.bytes(text), bytes.count > Sealer.codeBytes else { return nil }
        let plain = Array(bytes.dropLast(Sealer.codeBytes))
        guard sealer.isCode(bytes.suffix(Sealer.codeBytes), of: plain, purpose: .signInChallenge) else { return nil }
        let parts = String(decoding: plain, as: UTF8.self).split(separator: " ", maxSplits: 5, omittingEmptySubsequences: false)
        guard parts.count == 6, let account = Int64(parts[0]), let expires = Int64(parts[1]), let version = Hex.bytes(String(parts[2])),
            let environment = CloudEnvironment(rawValue: String(parts[4])), now / 1000 < expires
        else { return nil }
        self.init(
            account: account, passwordVersion: version,
            place: SignInPlace(containerIdentifier: String(parts[5]), environment: environment, isKept: parts[3] == "1"), expires: expires)
    }
}
