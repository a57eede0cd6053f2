// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Makes and checks message authentication codes with a key that only the storage knows.
package struct Sealer: Sendable {
    /// Bytes of a code as it is handed out.
    package static let codeBytes = 16

    private let authenticate: @Sendable ([UInt8]) -> [UInt8]

    /// - Parameter authenticate: A keyed function such as HMAC-SHA-256; it returns at least 16 bytes.
    package init(authenticate: @escaping @Sendable ([UInt8]) -> [UInt8]) {
        self.authenticate = authenticate
    }

    package func code(of message: [UInt8], purpose: Purpose) -> [UInt8] {
        let code = authenticate([purpose.rawValue] + message)
        precondition(code.count >= Self.codeBytes, "the authentication function returns too few bytes")
        return Array(code.prefix(Self.codeBytes))
    }

    /// Compares in a time that does not depend on where the codes differ.
    package func isCode(_ code: some Collection<UInt8>, of message: [UInt8], purpose: Purpose) -> Bool {
        let expected = self.code(of: message, purpose: purpose)
        guard code.count == expected.count else { return false }
        return zip(code, expected).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }

    /// Keeps a code made for one thing from being taken for another. Never renumbered.
    package enum Purpose: UInt8 {
        case changeToken = 1
        case assetAddress = 2
        case continuation = 3
        case webToken = 4
        case signIn = 5
        case shortGUID = 6
        case courier = 7
        case oneTimeLink = 8
        case serverIdentity = 9
        case signInChallenge = 10
        case identityProvider = 11
    }
}
