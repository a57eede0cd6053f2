// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Runs seeds on one thread.
package struct ValueRunner {
    /// nil for those that each seed decides.
    private let features: Set<ValueFeature>?
    private let canary: ValueCanary?
    /// nil unless it was asked for: texts of all states take longer than some runs.
    package private(set) var digest: StateDigest?

    /// - Parameters:
    ///   - features: nil for those that each seed decides.
    ///   - canary: A planted defect.
    ///   - digests: Whether to compute ``digest``.
    package init(features: Set<ValueFeature>? = nil, canary: ValueCanary? = nil, digests: Bool = false) {
        self.features = features
        self.canary = canary
        digest = digests ? StateDigest() : nil
    }

    /// Runs a seed: in all worlds, or in that of features if there are features or a canary.
    ///
    /// - Parameter output: Prints the events of the runs.
    package mutating func violations(seed: UInt64, output: (@Sendable (String) -> Void)? = nil) -> [String] {
        output?("FeatureWorld")
        var violations = FeatureWorld.violations(
            seed: seed, features: features ?? canary?.features, canary: canary, output: output, atEnd: { digest?.add($0) })
        if features != nil || canary != nil { return violations }
        output?("DeviceWorld")
        violations += DeviceWorld.violations(seed: seed, output: output) { digest?.add($0) }
        output?("UniqueWorld")
        violations += UniqueWorld.violations(seed: seed, output: output) { digest?.add($0) }
        output?("VersionWorld")
        violations += VersionWorld.violations(seed: seed, output: output) { digest?.add($0) }
        return violations
    }
}
