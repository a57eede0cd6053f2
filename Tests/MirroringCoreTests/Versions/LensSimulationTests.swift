// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import TestBasics
import Testing
import ValueSimulation

/// Devices with an earlier version of a model and with a later one, which has lenses. Some are updated.
@Suite struct LensSimulationTests {
    @Test(arguments: SeedPart.of(1...300 as ClosedRange<UInt64>)) func versionsConverge(seed: UInt64) {
        #expect(VersionWorld.violations(seed: seed) == [], "seed \(seed)")
    }

    /// The checks find a later version that does not fill its rows.
    @Test func aLensThatIsMissingIsFound() {
        #expect((1...40 as ClosedRange<UInt64>).contains { !VersionWorld.violations(seed: $0, hasLenses: false).isEmpty })
    }
}
