// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Validates the form of email addresses and phone numbers, by which users are found and invited to shares.
///
/// The server sends no mail, so it does not verify that an address exists.
package enum ContactAddress {
    package static let emailRule = "An email address is NAME@HOST with at most 254 characters and without spaces."
    package static let phoneRule = "A phone number has 3 to 15 digits; +, spaces, hyphens and parentheses may stand between them."

    /// Source: RFC 5321, 4.5.3.1: at most 64 octets before the `@`, and 254 in all (RFC 3696, erratum 1690).
    package static func isEmail(_ text: String) -> Bool {
        let parts = text.split(separator: "@", omittingEmptySubsequences: false)
        guard parts.count == 2, let name = parts.first, let host = parts.last, text.utf8.count <= 254 else { return false }
        guard (1...64).contains(name.utf8.count), isPrintable(text) else { return false }
        return host.split(separator: ".", omittingEmptySubsequences: false).allSatisfy { label in
            !label.isEmpty && !label.hasPrefix("-") && !label.hasSuffix("-") && label.allSatisfy { $0.isLetter || $0.isNumber || $0 == "-" }
        }
    }

    /// Source: ITU-T E.164: at most 15 digits.
    package static func isPhone(_ text: String) -> Bool {
        let digits = text.utf8.count { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        return (3...15).contains(digits) && text.utf8.count <= 32
            && text.utf8.allSatisfy { byte in
                UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte || "+ -()".utf8.contains(byte)
            }
    }

    private static func isPrintable(_ text: String) -> Bool {
        text.unicodeScalars.allSatisfy { scalar in
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .lineSeparator, .paragraphSeparator, .spaceSeparator: false
            default: true
            }
        }
    }
}
