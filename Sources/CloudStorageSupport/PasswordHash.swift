// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Crypto
import CryptoExtras
package import Foundation
import SystemSupport

/// A password as it is stored: scrypt over it with its own salt and parameters.
///
/// Source: RFC 7914.
package struct PasswordHash: Sendable {
    /// The cost of one guess. A stored hash names its parameters, so that new ones apply from the next sign-in on.
    package struct Parameters: Hashable, Sendable {
        /// The cost factor N: a power of two.
        package var rounds: Int
        /// The block size r: one guess takes 128 × N × r bytes.
        package var blockSize: Int
        /// The parallelization p: how often that memory is filled.
        package var parallelism: Int

        /// Rounds of new hashes.
        ///
        /// Source: OWASP, *Password Storage Cheat Sheet*. Of its equivalent minimums this is the one with the least memory (32 MB), so
        /// that sign-ins fit into a server with 512 MB.
        package static let rounds = 1 << 15

        package init(rounds: Int, blockSize: Int = 8, parallelism: Int = 3) {
            self.rounds = rounds
            self.blockSize = blockSize
            self.parallelism = parallelism
        }

        private var cost: Int { rounds * blockSize * parallelism }

        /// The difference in work between `other` and `self`; nil if `self` costs as much.
        package func remainder(to other: Parameters) -> Parameters? {
            guard cost < other.cost else { return nil }
            guard rounds == other.rounds, blockSize == other.blockSize else { return other }
            return Parameters(rounds: rounds, blockSize: blockSize, parallelism: other.parallelism - parallelism)
        }
    }

    private static let bytes = 32

    package var salt: Data
    package var hash: Data
    package var parameters: Parameters

    package init(salt: Data, hash: Data, parameters: Parameters) {
        self.salt = salt
        self.hash = hash
        self.parameters = parameters
    }

    /// One guess at a time, so that concurrent ones do not use up the memory.
    private static let threads = BlockingThreads(label: "tarn.passwords", count: 1)

    package static func make(_ password: String, _ parameters: Parameters) async throws -> PasswordHash {
        let salt = SymmetricKey(size: .bits128).withUnsafeBytes { Data($0) }
        return PasswordHash(salt: salt, hash: try await derive(password, salt, parameters), parameters: parameters)
    }

    private static let versionBytes = 16

    /// Compares a password with that of a name, in the same time for each of a name without one, a wrong one, and one that was hashed
    /// with older parameters: the time does not reveal names.
    ///
    /// - Parameters:
    ///   - known: Nil for a name without a password.
    ///   - parameters: Of new hashes.
    package static func isRight(_ password: String, for known: PasswordHash?, _ parameters: Parameters) async throws -> Bool {
        guard let known else {
            _ = try await make(password, parameters)
            return false
        }
        if try await known.isHash(of: password) { return true }
        if let rest = known.parameters.remainder(to: parameters) { _ = try await make(password, rest) }
        return false
    }

    /// Bytes that change whenever the password is set, and say nothing about it.
    package static func version(salt: Data, hash: Data) -> [UInt8] {
        Array(SHA256.hash(data: Data("tarn password version".utf8) + salt + hash).prefix(versionBytes))
    }

    func isHash(of password: String) async throws -> Bool {
        ConstantTime.areEqual(try await Self.derive(password, salt, parameters), hash)
    }

    private static func derive(_ password: String, _ salt: Data, _ parameters: Parameters) async throws -> Data {
        try await threads.run {
            try KDF.Scrypt.deriveKey(
                from: Data(password.utf8), salt: salt, outputByteCount: bytes, rounds: parameters.rounds,
                blockSize: parameters.blockSize, parallelism: parameters.parallelism
            ).withUnsafeBytes { Data($0) }
        }
    }
}
