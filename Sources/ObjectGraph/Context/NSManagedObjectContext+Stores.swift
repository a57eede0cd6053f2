// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel

extension NSManagedObjectContext {
    /// Invalidates the objects of a removed store and drops their pending changes.
    func dropObjects(ofStore number: UInt16) {
        forgetRowStore()
        let invalidated = registry.objects.filter { $0.key.store == number }
        guard !invalidated.isEmpty else { return }
        let objects = invalidated.sorted { $0.sequence < $1.sequence }
        unannounced.removeAll { $0.key.store == number }
        for object in objects {
            pending.remove(object)
            registry.remove(object)
            retained[ObjectIdentifier(object)] = nil
            object.flags = .detached
            object.contextReference = nil
        }
        let userInfo: [AnyHashable: Any] =
            registry.isEmpty
            ? [NSInvalidatedAllObjectsKey: objects.map(\.objectID)] : [NSInvalidatedObjectsKey: Set(objects)]
        NotificationCenter.default.post(name: .NSManagedObjectContextObjectsDidChange, object: self, userInfo: userInfo)
    }
}
