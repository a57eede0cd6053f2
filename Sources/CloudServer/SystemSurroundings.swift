// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudService
import Foundation
import Glibc
import Synchronization

extension CloudService.Surroundings {
    /// The system's clock and source of randomness.
    package static var system: CloudService.Surroundings {
        CloudService.Surroundings(
            now: { Int64((Date.now.timeIntervalSince1970 * 1000).rounded(.down)) },
            randomBytes: { RandomBytes.shared.take($0) })
    }
}

/// A buffer of random bytes from the system, refilled in batches: each refill is a system call, and every request needs random
/// bytes. Each byte is used once and then removed.
private final class RandomBytes: Sendable {
    static let shared = RandomBytes()
    /// The most that one call of `getentropy` returns.
    private static let bytesAtOnce = 256

    private let drawn = Mutex<[UInt8]>([])

    func take(_ count: Int) -> [UInt8] {
        drawn.withLock { drawn in
            while drawn.count < count { drawn += Self.draw() }
            defer { drawn.removeLast(count) }
            return Array(drawn.suffix(count))
        }
    }

    private static func draw() -> [UInt8] {
        [UInt8](unsafeUninitializedCapacity: bytesAtOnce) { bytes, count in
            let failed = getentropy(bytes.baseAddress, bytesAtOnce) != 0
            precondition(!failed, "the system has no source of randomness")
            count = bytesAtOnce
        }
    }
}
