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
                var random = SystemRandomNumberGenerator()
                return (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            })
    }
}
