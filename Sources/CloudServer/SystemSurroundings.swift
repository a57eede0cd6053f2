// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import CloudEngine
import Foundation

extension CloudService.Surroundings {
    /// The system's clock and source of randomness.
    package static var system: CloudService.Surroundings {
        CloudService.Surroundings(
            now: { Int64((Date.now.timeIntervalSince1970 * 1000).rounded(.down)) },
            randomBytes: { count in
                // Each draw is a call of the system, so a draw gives eight bytes.
                var random = SystemRandomNumberGenerator()
                var bytes: [UInt8] = []
                bytes.reserveCapacity(count + 7)
                while bytes.count < count { withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) } }
                return Array(bytes.prefix(count))
            })
    }
}
