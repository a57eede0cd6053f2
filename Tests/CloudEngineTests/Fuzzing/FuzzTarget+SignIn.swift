// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

@testable import CloudEngine
@testable import CloudService
import CloudWire
import SystemSupport

/// The fields of a sign-in page: authenticated texts behind their authentication, and typed text.
extension FuzzTarget {
    private static let openSealer = Sealer { _ in [UInt8](repeating: 0, count: Sealer.codeBytes) }

    /// The first byte chooses the kind; from 128 on the rest is the text itself, else its contents, to which the code is added.
    static func signIn(_ bytes: [UInt8]) -> String? {
        guard let first = bytes.first else { return nil }
        let contents = Array(bytes.dropFirst())
        let typed = String(decoding: contents, as: UTF8.self)
        let text = first >= 128 ? typed : Hex.text(contents + [UInt8](repeating: 0, count: Sealer.codeBytes))
        switch first % 4 {
        case 0:
            guard let challenge = SignInChallenge(opening: text, now: 0, by: openSealer) else { return nil }
            let again = SignInChallenge(opening: challenge.sealed(by: openSealer), now: 0, by: openSealer)
            return again == challenge ? nil : "a sign-in challenge is another after it was written"
        case 1:
            guard let state = ProviderState(opening: text, now: 0, by: openSealer) else { return nil }
            let again = ProviderState(opening: state.sealed(by: openSealer), now: 0, by: openSealer)
            guard again == state else { return "a provider's state is another after it was written" }
            let request = state.request(redirectAddress: "http://tarn.example", by: openSealer) { $0 }
            return (43...128).contains(request.codeVerifier.utf8.count)
                ? nil : "a code verifier has \(request.codeVerifier.utf8.count) bytes"
        case 2:
            let member = PasswordRule.problem(typed, accountName: "mia", isOperator: false)
            let isOperators = PasswordRule.problem(typed, accountName: "mia", isOperator: true) == nil
            return isOperators && member != nil ? "an operator may have a password that others may not" : nil
        default:
            _ = (ContactAddress.isEmail(typed), ContactAddress.isPhone(typed))
            return AccountName.isValidProposal(typed) && !AccountName.isValid(typed) ? "a proposed name is not a name" : nil
        }
    }
}
