// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import CryptoExtras
import Dispatch
import Foundation
import SystemSupport

/// A password as it is stored: scrypt over it with its own salt and parameters.
///
/// Source: RFC 7914.
struct PasswordHash: Sendable {
    /// The cost of one guess. A stored hash names its parameters, so that new ones apply from the next sign-in on.
    struct Parameters: Hashable, Sendable {
        /// The cost factor N: a power of two.
        var rounds: Int
        /// The block size r: one guess takes 128 × N × r bytes.
        var blockSize: Int
        /// The parallelization p: how often that memory is filled.
        var parallelism: Int

        /// Rounds of new hashes.
        ///
        /// Source: OWASP, *Password Storage Cheat Sheet*. Of its equivalent minimums this is the one with the least memory (32 MB), so
        /// that sign-ins fit into a server with 512 MB.
        static let rounds = 1 << 15

        init(rounds: Int, blockSize: Int = 8, parallelism: Int = 3) {
            self.rounds = rounds
            self.blockSize = blockSize
            self.parallelism = parallelism
        }

        private var cost: Int { rounds * blockSize * parallelism }

        /// The difference in work between `other` and `self`; nil if `self` costs as much.
        func remainder(to other: Parameters) -> Parameters? {
            guard cost < other.cost else { return nil }
            guard rounds == other.rounds, blockSize == other.blockSize else { return other }
            return Parameters(rounds: rounds, blockSize: blockSize, parallelism: other.parallelism - parallelism)
        }
    }

    private static let bytes = 32

    var salt: Data
    var hash: Data
    var parameters: Parameters

    /// One guess at a time, so that concurrent ones do not use up the memory.
    private static let queue = DispatchQueue(label: "tarn.passwords", target: .global(qos: .userInitiated))

    static func make(_ password: String, _ parameters: Parameters) async throws -> PasswordHash {
        let salt = SymmetricKey(size: .bits128).withUnsafeBytes { Data($0) }
        return PasswordHash(salt: salt, hash: try await derive(password, salt, parameters), parameters: parameters)
    }

    func isHash(of password: String) async throws -> Bool {
        ConstantTime.areEqual(try await Self.derive(password, salt, parameters), hash)
    }

    private static func derive(_ password: String, _ salt: Data, _ parameters: Parameters) async throws -> Data {
        try await withCheckedThrowingContinuation { continuation in
            queue.async {
                continuation.resume(
                    with: Result {
                        try KDF.Scrypt.deriveKey(
                            from: Data(password.utf8), salt: salt, outputByteCount: bytes, rounds: parameters.rounds,
                            blockSize: parameters.blockSize, parallelism: parameters.parallelism
                        ).withUnsafeBytes { Data($0) }
                    })
            }
        }
    }
}
