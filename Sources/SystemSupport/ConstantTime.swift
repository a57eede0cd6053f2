// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Comparison of secrets.
package enum ConstantTime {
    /// Compares in a time that depends on the number of bytes only, not on the position of a difference.
    package static func areEqual(_ first: some Collection<UInt8>, _ second: some Collection<UInt8>) -> Bool {
        guard first.count == second.count else { return false }
        return zip(first, second).reduce(0 as UInt8) { $0 | ($1.0 ^ $1.1) } == 0
    }

    package static func areEqual(_ first: String, _ second: String) -> Bool { areEqual(first.utf8, second.utf8) }
}
