// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudMirroring
import ObjectGraph
import TestBasics

extension TestScope {
    /// Stops the sync of a container, and closes its stores, at the end of the running test.
    static func close(_ container: NSPersistentCloudKitContainer) {
        close(container) {
            await container.stopSyncing()
            let coordinator = container.persistentStoreCoordinator
            for store in coordinator.persistentStores { try coordinator.remove(store) }
            return []
        }
    }
}
