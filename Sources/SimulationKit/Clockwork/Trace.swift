// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The events of a run, line by line, and their digest: runs with equal digests were identical.
package struct Trace: Sendable {
    package private(set) var lines: [String] = []
    package private(set) var count = 0
    private var hash: UInt64 = 0xcbf2_9ce4_8422_2325
    private let keepsLines: Bool

    init(keepsLines: Bool) { self.keepsLines = keepsLines }

    package var digest: String { SeededNumbers.hex(hash) }

    mutating func add(_ line: String) {
        count += 1
        hash = Self.fnv(line.utf8, hash)
        if keepsLines { lines.append(line) }
    }

    /// FNV-1a.
    static func fnv(_ bytes: some Sequence<UInt8>, _ start: UInt64 = 0xcbf2_9ce4_8422_2325) -> UInt64 {
        bytes.reduce(start) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }
}

extension Simulation {
    /// The digest of the digests of many runs.
    package static func digest(of digests: [String]) -> String { SeededNumbers.hex(Trace.fnv(digests.joined(separator: " ").utf8)) }
}
