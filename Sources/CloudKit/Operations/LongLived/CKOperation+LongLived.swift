// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

// What an operation does to be long-lived, in its own process and in later ones.

extension CKOperation {
    /// Keeps a long-lived operation before anything is asked for it, and waits for the turn of one that was fetched.
    ///
    /// - Returns: What to carry it out with.
    /// - Throws: ``CKError``: `.internalError` if the disk does not take it, `.notAuthenticated` if it was kept for an account
    ///   that is not signed in now.
    final func prepared() async throws -> OperationSettings {
        var settings = settings
        let database = (self as? CKDatabaseOperation)?.target ?? container_.publicCloudDatabase
        let home = try? database.container.connection().longLived
        if let kept {
            guard kept.home === home else {
                throw CKError(.notAuthenticated, "the long-lived operation was kept for an account that is not signed in now")
            }
            await kept.takeTurn(self)
            hasTurn = true
            kept.run(&settings, isSilent: false)
            return settings
        }
        var whole = settings
        whole.fill(from: database.defaults)
        guard whole.isLongLived, let home, let kind = keptKind else { return settings }
        do {
            let kept = try home.keep(self, kind, whole)
            self.kept = kept
            hasTurn = true
            // It may have been cancelled before there was anything to remove.
            if isCancelled { kept.cancel() }
            if let block = longLivedOperationWasPersistedBlock, !isCancelled { await tell(block) }
            kept.run(&settings, isSilent: false)
        } catch let error as CKError where error.code == .invalidArguments {
            // It fails when it is carried out, and says for which item.
        } catch {
            throw CKError.notKept(error)
        }
        return settings
    }

    /// Once the app was told of the end.
    final func endKept() {
        guard hasTurn, let kept else { return }
        kept.forget()
        kept.endTurn()
    }
}
