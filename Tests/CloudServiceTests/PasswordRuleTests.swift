// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudEngineSQLite
@testable import CloudService
import Testing

/// One rule for new passwords, wherever they are set.
@Suite struct PasswordRuleTests {
    @Test(arguments: [
        ("correct ho", false, true), ("correct", false, false), ("correct ho", true, false), ("correct horse", true, true),
        (String(repeating: "xq", count: 600), false, false), ("", false, false), ("eight8xq", false, true),
    ])
    func lengthDependsOnTheRole(_ password: String, _ isOperator: Bool, _ isAccepted: Bool) {
        #expect((PasswordRule.problem(password, accountName: "mia", isOperator: isOperator) == nil) == isAccepted)
    }

    @Test(arguments: [
        "password", "Password", "PASSWORD1234", "Passw0rd!", "letmein!!!", "administrator", "Administrator1!", "qwertyuiop12",
        "iloveyou2024",
        "passwordpassword", "adminadminadmin", "123456789012", "0987654321", "abcdefghijkl", "zyxwvutsrqponm", "aaaaaaaaaaaa",
        "abababababab",
        "12341234123412", "1q2w3e4r5t6y", "tarnpassword", "welcome1234", "changeme1234",
    ])
    func commonPasswordsAreRefused(_ password: String) throws {
        let problem = try #require(PasswordRule.problem(password, accountName: "mia", isOperator: false))
        #expect(problem.contains("first that an attacker tries"))
        // The sentence itself has the word.
        #expect(password == "password" || !problem.contains(password))
    }

    @Test(arguments: [
        "correct horse battery", "battery staple", "kT7-xxvPq2w", "passwordless in seattle", "monkeys eat plums", "välkommen hit då",
    ])
    func othersAreAccepted(_ password: String) {
        #expect(PasswordRule.problem(password, accountName: "mia", isOperator: false) == nil)
    }

    @Test func theAccountsNameIsRefused() {
        #expect(PasswordRule.problem("Mia.Peterson", accountName: "mia.peterson", isOperator: false) != nil)
        #expect(PasswordRule.problem("Mia.Peterson", accountName: "bo", isOperator: false) == nil)
    }

    @Test func theListIsOfSomeHundredPasswordsInLowerCase() {
        #expect((400...1000).contains(CommonPasswords.all.count))
        #expect(CommonPasswords.all.allSatisfy { $0 == $0.lowercased() })
    }

    @Test(arguments: [
        ("mia", true), ("m.ia_2-x@example.org", true), ("", false), ("mí", false), ("a b", false), ("a/b", false), ("a\u{0}", false),
    ])
    func accountNamesHaveOneRule(_ name: String, _ isValid: Bool) {
        #expect(AccountName.isValid(name) == isValid)
        #expect(AccountName.isValidProposal(name) == (isValid && !name.contains("@")))
        #expect(!AccountName.isValid(String(repeating: "a", count: 65)))
    }
}
