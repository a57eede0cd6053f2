// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import SystemSupport

/// The events of a run, line by line, and their digest: runs with equal digests were identical.
package struct Trace: Sendable {
    package private(set) var lines: [String] = []
    package private(set) var count = 0
    private var fingerprint = Fingerprint()
    private let keepsLines: Bool

    init(keepsLines: Bool) { self.keepsLines = keepsLines }

    package var digest: String { Hex.text(fingerprint.value, .upper) }

    mutating func add(_ line: String) {
        count += 1
        fingerprint.combine(line.utf8)
        if keepsLines { lines.append(line) }
    }
}

extension Simulation {
    /// The digest of the digests of many runs.
    package static func digest(of digests: [String]) -> String { Hex.text(Fingerprint(digests.joined(separator: " ").utf8).value, .upper) }
}
