// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import CryptoExtras
import Dispatch
import Foundation

/// A password as it is stored: scrypt over it with a salt of its own, and how often was hashed.
///
/// Source: RFC 7914. With 32,768 rounds and blocks of 8 one guess takes 32 MB.
struct PasswordHash: Sendable {
    private static let blockSize = 8
    private static let bytes = 32

    var salt: Data
    var hash: Data
    var rounds: Int

    /// One guess at a time, so that concurrent ones do not use up the memory.
    private static let queue = DispatchQueue(label: "tarn.passwords", target: .global(qos: .userInitiated))

    static func make(_ password: String, rounds: Int) async throws -> PasswordHash {
        let salt = SymmetricKey(size: .bits128).withUnsafeBytes { Data($0) }
        return PasswordHash(salt: salt, hash: try await derive(password, salt, rounds), rounds: rounds)
    }

    func isHash(of password: String) async throws -> Bool {
        let other = try await Self.derive(password, salt, rounds)
        guard other.count == hash.count else { return false }
        return zip(other, hash).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }

    private static func derive(_ password: String, _ salt: Data, _ rounds: Int) async throws -> Data {
        try await withCheckedThrowingContinuation { continuation in
            queue.async {
                continuation.resume(
                    with: Result {
                        try KDF.Scrypt.deriveKey(
                            from: Data(password.utf8), salt: salt, outputByteCount: bytes, rounds: rounds,
                            blockSize: blockSize, parallelism: 1
                        ).withUnsafeBytes { Data($0) }
                    })
            }
        }
    }
}
