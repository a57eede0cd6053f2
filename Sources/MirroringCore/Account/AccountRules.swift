// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

/// Decides what becomes of a store once the server has said who is signed in.
///
///     server's identity differs ──▶ serverReplaced
///     user's name differs       ──▶ anotherAccount      (not in the public database, which belongs to nobody)
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

    /// What the app decided about one unresolved change. It holds for that account on that server only.
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
    /// Whether the database is everybody's.
    package var isPublic: Bool
    /// Whether everything in the store is the user's to send.
    package var mayUpload: Bool

    package init(anotherAccount: Choice, serverReplaced: Choice, isPublic: Bool = false, mayUpload: Bool = true) {
        self.anotherAccount = anotherAccount
        self.serverReplaced = serverReplaced
        self.isPublic = isPublic
        self.mayUpload = mayUpload
    }

    /// - Parameters:
    ///   - known: What the store was synced with.
    ///   - present: What it is to be synced with.
    ///   - answer: What the app decided since, if it did.
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
        // A store that is to be kept is kept; there is no telling what in it is whose.
        guard anotherAccount != .keep, let stranger = known.stranger else { return nil }
        return stranger == present.credential ? nil : .anotherAccount
    }
}
