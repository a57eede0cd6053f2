// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The rule for names of accounts.
package enum AccountName {
    package static let rule = "A user name has 1 to 64 letters, digits and the signs . _ - @"

    /// Returns `true` for 1 to 64 ASCII letters, digits and `. _ - @`.
    package static func isValid(_ name: String) -> Bool {
        (1...64).contains(name.utf8.count)
            && name.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"),
                    UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "@"):
                    true
                default: false
                }
            }
    }

    /// Returns `true` for a valid name that does not look like an address: an identity provider proposed it.
    static func isValidProposal(_ name: String) -> Bool { isValid(name) && !name.utf8.contains(UInt8(ascii: "@")) }
}
