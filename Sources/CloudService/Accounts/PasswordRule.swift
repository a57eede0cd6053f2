// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// The rule for new passwords, wherever they are set: in the console, by commands, at the first start.
///
/// Source: NIST SP 800-63B, section 5.1.1.2: a minimal length and a list of common passwords, and no rules about kinds of letters.
package enum PasswordRule {
    package static let charactersMin = 8
    /// Operators read and change the whole server.
    package static let operatorCharactersMin = 12
    /// Longer ones are never hashed.
    package static let bytesMax = 1024

    /// Returns the problem of a new password as a sentence; nil if it is accepted.
    ///
    /// - Parameter accountName: A password that is the account's name is refused.
    package static func problem(_ password: String, accountName: String, isOperator: Bool) -> String? {
        let minimum = isOperator ? operatorCharactersMin : charactersMin
        guard password.count >= minimum else {
            return "\(isOperator ? "An operator's" : "A") password has at least \(minimum) characters."
        }
        guard password.utf8.count <= bytesMax else { return "A password has at most \(bytesMax) bytes." }
        guard !isCommon(password), password.lowercased() != accountName.lowercased() else {
            return
                "This password is one of the first that an attacker tries. Choose another: three or four words that do not belong together are good."
        }
        return nil
    }

    /// Returns `true` for a password of ``CommonPasswords``, also with digits and signs behind it, for a unit of up to 4 characters or a common
    /// password that is repeated, and for a run of neighbouring letters or digits.
    static func isCommon(_ password: String) -> Bool {
        let letters = Array(password.lowercased())
        if isRun(letters) { return true }
        for length in 1...max(1, letters.count / 2) where letters.count > length && isRepetition(letters, of: length) {
            if length <= repeatedCharactersMax || isListed(letters.prefix(length)) { return true }
        }
        return isListed(letters[...])
    }

    private static let repeatedCharactersMax = 4
    /// Digits and signs that people append to a common password, at most.
    private static let appendedCharactersMax = 4

    private static func isListed(_ letters: ArraySlice<Character>) -> Bool {
        if CommonPasswords.all.contains(String(letters)) { return true }
        var base = letters
        for _ in 0..<appendedCharactersMax {
            guard let last = base.last, !last.isLetter else { return false }
            base.removeLast()
            if CommonPasswords.all.contains(String(base)) { return true }
        }
        return false
    }

    private static func isRepetition(_ letters: [Character], of length: Int) -> Bool {
        letters.indices.allSatisfy { letters[$0] == letters[$0 % length] }
    }

    /// Returns `true` for `12345678`, `hgfedcba` and the like; 0 follows 9.
    private static func isRun(_ letters: [Character]) -> Bool {
        let values = letters.compactMap(\.asciiValue).map(Int.init)
        guard values.count == letters.count, values.count > 1 else { return false }
        let steps = Set(zip(values, values.dropFirst()).map { $1 == 48 && $0 == 57 ? 1 : $0 == 48 && $1 == 57 ? -1 : $1 - $0 })
        return steps.count == 1 && steps.allSatisfy { abs($0) == 1 }
    }
}
