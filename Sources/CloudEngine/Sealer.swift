// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport

/// Makes and checks message authentication codes with keys that only the storage knows.
///
/// Codes are made with the current key. Codes of earlier keys are valid until their key is retired.
package struct Sealer: Sendable {
    /// Bytes of a code as it is handed out.
    package static let codeBytes = 16

    /// A keyed function such as HMAC-SHA-256; it returns at least 16 bytes.
    package typealias Authentication = @Sendable ([UInt8]) -> [UInt8]

    /// The current function, and the earlier ones in any order. They may change between calls.
    private let functions: @Sendable () -> (current: Authentication, earlier: [Authentication])
    private let identity: [UInt8]?

    /// - Parameter authenticate: A keyed function such as HMAC-SHA-256; it returns at least 16 bytes.
    package init(authenticate: @escaping Authentication) {
        functions = { (authenticate, []) }
        identity = nil
    }

    /// - Parameters:
    ///   - functions: The current function and the earlier ones.
    ///   - identity: The identity of the server's data, which no key changes; nil derives it from the only key.
    package init(
        functions: @escaping @Sendable () -> (current: Authentication, earlier: [Authentication]), identity: [UInt8]?
    ) {
        self.functions = functions
        self.identity = identity
    }

    /// The identity of the server's data: the same for its life, also when keys are replaced.
    package var serverIdentity: [UInt8] { identity ?? code(of: [], purpose: .serverIdentity) }

    /// Returns the record name of an account in a container that it uses for the first time.
    ///
    /// It follows from the key: a server that was restored from a backup without the name makes the same one again. Devices would take
    /// another name for another user, and archive their stores.
    package func userRecordName(ofAccount account: Int64, in containerIdentifier: String) -> String {
        let number = withUnsafeBytes(of: account.bigEndian) { Array($0) }
        return "_" + Hex.text(code(of: number + Array(containerIdentifier.utf8), purpose: .userRecordName))
    }

    package func code(of message: [UInt8], purpose: Purpose) -> [UInt8] { Self.code(of: message, purpose, functions().current) }

    private static func code(of message: [UInt8], _ purpose: Purpose, _ authenticate: Authentication) -> [UInt8] {
        let code = authenticate([purpose.rawValue] + message)
        precondition(code.count >= codeBytes, "the authentication function returns too few bytes")
        return Array(code.prefix(codeBytes))
    }

    /// Compares in a time that does not depend on where the codes differ.
    ///
    /// - Parameter bytes: The length of the code, for one that is handed out shorter.
    package func isCode(_ code: some Collection<UInt8>, of message: [UInt8], purpose: Purpose, bytes: Int = codeBytes) -> Bool {
        guard code.count == bytes, bytes <= Self.codeBytes else { return false }
        let (current, earlier) = functions()
        return ([current] + earlier).reduce(false) { isCode, authenticate in
            let expected = Self.code(of: message, purpose, authenticate).prefix(bytes)
            return ConstantTime.areEqual(code, expected) || isCode
        }
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
        case userRecordName = 12
    }
}
