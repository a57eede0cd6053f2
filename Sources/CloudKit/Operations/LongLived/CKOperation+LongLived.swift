// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation

// Long-lived operations: persisting, and resuming in later processes.

extension CKOperation {
    /// Persists a long-lived operation before its first request. A fetched operation waits for its turn.
    ///
    /// - Returns: The settings to run with.
    /// - Throws: ``CKError``: `.internalError` if the disk cannot store it, `.notAuthenticated` if it belongs to an
    ///   account that isn't signed in.
    final func prepared() async throws -> OperationSettings {
        var settings = settings
        let database = (self as? CKDatabaseOperation)?.target ?? container_.publicCloudDatabase
        let store = try? database.container.connection().longLived
        if let persisted {
            guard persisted.store === store else {
                throw CKError(.notAuthenticated, "the long-lived operation belongs to an account that isn't signed in")
            }
            await persisted.takeTurn(self)
            hasTurn = true
            persisted.addJournal(to: &settings, isSilent: false)
            return settings
        }
        var whole = settings
        whole.fill(from: database.defaults)
        guard whole.isLongLived, let store, let kind = persistedKind else { return settings }
        do {
            let persisted = try store.persist(self, kind, whole)
            self.persisted = persisted
            hasTurn = true
            // `cancel()` may have been called before there was a persisted operation.
            if isCancelled { persisted.cancel() }
            if let block = longLivedOperationWasPersistedBlock, !isCancelled { await callBlock(block) }
            persisted.addJournal(to: &settings, isSilent: false)
        } catch let error as CKError where error.code == .invalidArguments {
            // The operation reports the invalid item when it runs.
        } catch {
            throw CKError.notPersisted(error)
        }
        return settings
    }

    /// Called after the final block returned.
    final func endPersistedOperation() {
        guard hasTurn, let persisted else { return }
        persisted.forget()
        persisted.endTurn()
    }
}
