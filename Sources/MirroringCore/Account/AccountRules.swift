// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Decides what happens to a store after the server has identified the account.
///
///     server's identity differs ──▶ serverReplaced
///     user's name differs       ──▶ anotherAccount      (not in the public database, which has no owner)
///     a stranger's saves        ──▶ anotherAccount      (unless stores are kept)
///     neither                   ──▶ proceed
package struct AccountRules: Hashable, Sendable {
    package enum Choice: String, Codable, Hashable, Sendable {
        /// Archives the store and empties it.
        case archive
        /// Keeps the objects and sends all of them to the present account.
        case upload
        /// Touches nothing and syncs nothing.
        case keep
    }

    /// The app's decision on an unresolved change, for that account on that server only.
    package struct Answer: Codable, Hashable, Sendable {
        package var choice: Choice
        package var present: StoreOwner

        package init(_ choice: Choice, for present: StoreOwner) {
            self.choice = choice
            self.present = present
        }
    }

    package enum Decision: Hashable, Sendable {
        case proceed
        case archive(AccountChange.Kind)
        case upload(AccountChange.Kind)
        case halt(AccountChange.Kind)
    }

    package var anotherAccount: Choice
    package var serverReplaced: Choice
    /// Whether the database is the public one.
    package var isPublic: Bool
    /// Whether all objects of the store belong to the user.
    package var mayUpload: Bool

    package init(anotherAccount: Choice, serverReplaced: Choice, isPublic: Bool = false, mayUpload: Bool = true) {
        self.anotherAccount = anotherAccount
        self.serverReplaced = serverReplaced
        self.isPublic = isPublic
        self.mayUpload = mayUpload
    }

    /// - Parameters:
    ///   - known: The account and server of the last sync.
    ///   - present: The present account and server.
    ///   - answer: The app's decision since; nil without one.
    package func decision(known: SignIn, present: SignIn, answer: Answer? = nil) -> Decision {
        guard let kind = kind(known, present) else { return .proceed }
        let policy = kind == .serverReplaced ? serverReplaced : anotherAccount
        switch answer.flatMap({ $0.present == present.owner ? $0.choice : nil }) ?? policy {
        case .keep: return .halt(kind)
        case .upload where mayUpload: return .upload(kind)
        case .archive, .upload: return .archive(kind)
        }
    }

    /// Whether an archive is of the present account, as far as both are known.
    package func mayRestore(archiveOf owner: StoreOwner, for present: StoreOwner) -> Bool {
        if owner.isOnAnotherServer(than: present) { return false }
        guard !isPublic, let user = owner.user, let now = present.user else { return true }
        return user == now
    }

    private func kind(_ known: SignIn, _ present: SignIn) -> AccountChange.Kind? {
        if known.owner.isOnAnotherServer(than: present.owner) { return .serverReplaced }
        guard !isPublic, let user = known.owner.user, let now = present.owner.user else { return nil }
        if user != now { return .anotherAccount }
        // A kept store stays: the owners of its objects cannot be distinguished.
        guard anotherAccount != .keep, let stranger = known.stranger else { return nil }
        return stranger == present.credential ? nil : .anotherAccount
    }
}
