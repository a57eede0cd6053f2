// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import MirroringCore
import Testing

@Suite struct AccountRulesTests {
    private let rules = AccountRules(anotherAccount: .archive, serverReplaced: .archive)

    private func signIn(_ user: String?, _ server: String? = "s1", credential: String? = "c1", stranger: String? = nil) -> SignIn {
        SignIn(owner: StoreOwner(user: user, server: server), credential: credential, stranger: stranger)
    }

    @Test func aKnownAccountProceeds() {
        #expect(rules.decision(known: signIn("mia"), present: signIn("mia", credential: "c2")) == .proceed)
        #expect(rules.decision(known: signIn(nil, nil), present: signIn("mia")) == .proceed)
        // A server that starts or stops sending its identity is the same server.
        #expect(rules.decision(known: signIn("mia", nil), present: signIn("mia")) == .proceed)
        #expect(rules.decision(known: signIn("mia"), present: signIn("mia", nil)) == .proceed)
        // A user that could not be requested counts as the same user.
        #expect(rules.decision(known: signIn("mia"), present: signIn(nil)) == .proceed)
    }

    @Test func anotherServerIsDistinguishedFromAnotherAccount() {
        #expect(rules.decision(known: signIn("mia"), present: signIn("bo")) == .archive(.anotherAccount))
        #expect(rules.decision(known: signIn("mia"), present: signIn("bo", "s2")) == .archive(.serverReplaced))
        #expect(rules.decision(known: signIn("mia"), present: signIn("mia", "s2")) == .archive(.serverReplaced))
        #expect(rules.decision(known: signIn("mia", nil), present: signIn("bo", "s2")) == .archive(.anotherAccount))
    }

    @Test func eachAccountChangeFollowsItsPolicy() {
        let rules = AccountRules(anotherAccount: .keep, serverReplaced: .upload)
        #expect(rules.decision(known: signIn("mia"), present: signIn("bo")) == .halt(.anotherAccount))
        #expect(rules.decision(known: signIn("mia"), present: signIn("bo", "s2")) == .upload(.serverReplaced))
        let shared = AccountRules(anotherAccount: .keep, serverReplaced: .upload, mayUpload: false)
        #expect(shared.decision(known: signIn("mia"), present: signIn("bo", "s2")) == .archive(.serverReplaced))
    }

    @Test func publicDatabasesHaveNoOwner() {
        let rules = AccountRules(anotherAccount: .archive, serverReplaced: .keep, isPublic: true, mayUpload: false)
        #expect(rules.decision(known: signIn("mia", stranger: "c2"), present: signIn("bo")) == .proceed)
        #expect(rules.decision(known: signIn(nil), present: signIn(nil, "s2")) == .halt(.serverReplaced))
    }

    @Test func savesMadeUnderAnotherCredentialAreArchived() {
        let known = signIn("mia", stranger: "c2")
        #expect(rules.decision(known: known, present: signIn("mia")) == .archive(.anotherAccount))
        #expect(rules.decision(known: known, present: signIn("mia", credential: "c2")) == .proceed)
        let keeping = AccountRules(anotherAccount: .keep, serverReplaced: .keep)
        #expect(keeping.decision(known: known, present: signIn("mia")) == .proceed)
    }

    @Test func aDecisionOfTheAppIsValidForItsAccountOnly() {
        let rules = AccountRules(anotherAccount: .keep, serverReplaced: .keep)
        let answer = AccountRules.Answer(.upload, for: StoreOwner(user: "bo", server: "s1"))
        #expect(rules.decision(known: signIn("mia"), present: signIn("bo"), answer: answer) == .upload(.anotherAccount))
        #expect(rules.decision(known: signIn("mia"), present: signIn("eve"), answer: answer) == .halt(.anotherAccount))
        #expect(rules.decision(known: signIn("mia"), present: signIn("bo", "s2"), answer: answer) == .halt(.serverReplaced))
        #expect(rules.decision(known: signIn("mia"), present: signIn("mia"), answer: answer) == .proceed)
    }

    @Test func anArchiveIsRestoredForItsOwnerOnly() {
        let mias = StoreOwner(user: "mia", server: "s1")
        #expect(rules.mayRestore(archiveOf: mias, for: mias))
        #expect(rules.mayRestore(archiveOf: mias, for: StoreOwner()))
        #expect(rules.mayRestore(archiveOf: StoreOwner(user: "mia"), for: mias))
        #expect(!rules.mayRestore(archiveOf: mias, for: StoreOwner(user: "bo", server: "s1")))
        #expect(!rules.mayRestore(archiveOf: mias, for: StoreOwner(user: "mia", server: "s2")))
    }

    @Test func anUnresolvedChangeIsListedOnceUntilItEnds() {
        var log = AccountChangeLog()
        func change(_ outcome: AccountChange.Outcome, _ date: Double, user: String = "bo") -> AccountChange {
            AccountChange(
                kind: .anotherAccount, outcome: outcome, date: date, previous: StoreOwner(user: "mia"), present: StoreOwner(user: user))
        }
        log.append(change(.emptied, 1))
        log.append(change(.unresolved, 2))
        log.append(change(.unresolved, 3))
        #expect(log.changes.map(\.date) == [1, 2])
        log.append(change(.unresolved, 4, user: "eve"))
        #expect(log.changes.map(\.date) == [1, 4])
        log.append(change(.uploaded, 5, user: "eve"))
        #expect(log.changes.map(\.date) == [1, 5])
        log.append(change(.unresolved, 6))
        log.removeUnresolved()
        #expect(log.changes.map(\.date) == [1, 5])
    }
}
