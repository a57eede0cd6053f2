// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

/// The part of the seeds, or of other generated cases, that a run of all tests has: a debug build is slow. With `TARN_ALL_SEEDS=1`,
/// which `.ci/nightly` sets, a run has all.
package enum SeedPart {
    package static let isWhole = ProcessInfo.processInfo.environment["TARN_ALL_SEEDS"] == "1"

    /// Returns each `step`-th element, the first included.
    package static func of<Seed>(_ seeds: some Sequence<Seed>, step: Int = 4) -> [Seed] {
        seeds.enumerated().filter { isWhole || $0.offset.isMultiple(of: step) }.map(\.element)
    }
}
