// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import SQLiteStore
import Synchronization

// Commits of other processes, and of this process's other coordinators, to the same files.

extension NSPersistentStoreCoordinator {
    /// Watches a store's file if its description asks for remote-change notifications.
    func watchIfWanted(_ store: NSPersistentStore) throws {
        guard store.postsRemoteChanges, store.sqlite != nil else { return }
        try watchOthers(of: store)
    }

    /// Calls a function after each commit of another process or coordinator to a store. The function must return
    /// promptly.
    ///
    /// - Throws: `CocoaError` when the store's file cannot be watched.
    package func observeOthers(of store: NSPersistentStore, _ observer: @escaping @Sendable () -> Void) throws {
        store.othersObservers.withLock { $0.append(observer) }
        try watchOthers(of: store)
    }

    private func watchOthers(of store: NSPersistentStore) throws {
        try store.translated {
            let latest = try store.storage.read { try $0.latestTransaction() }
            store.announced.withLock { $0 = max($0, latest) }
            try store.storage.watchOthers { [weak self, weak store] in
                guard let self, let store, store.hasNews() else { return }
                self.postRemoteChange(of: store)
                for observer in store.othersObservers.withLock({ $0 }) { observer() }
            }
        }
    }

    func postRemoteChange(of store: NSPersistentStore) {
        guard store.postsRemoteChanges else { return }
        _ = store.hasNews()
        var userInfo: [AnyHashable: Any] = [NSStoreUUIDKey: store.identifier ?? ""]
        userInfo[NSPersistentStoreURLKey] = store.url
        userInfo[NSPersistentHistoryTokenKey] = currentPersistentHistoryToken(fromStores: [store])
        NotificationCenter.default.post(name: .NSPersistentStoreRemoteChange, object: self, userInfo: userInfo)
    }
}

extension NSPersistentStore {
    /// Whether history has new transactions since listeners were notified; without history any commit may be one. Commits
    /// that only reserve keys for a save do not count.
    fileprivate func hasNews() -> Bool {
        guard isHistoryTracked else { return true }
        guard let latest = try? storage.read({ try $0.latestTransaction() }) else { return false }
        return announced.withLock { announced in
            defer { announced = max(announced, latest) }
            return latest > announced
        }
    }
}
