// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// Which entity a class stands for, among the models that are in use.
enum ManagedClassEntities {
    private struct Reference: Sendable {
        private let link: Backlink<NSEntityDescription>
        var entity: NSEntityDescription? { link.object }
        init(entity: NSEntityDescription) { link = entity.backlink }
    }

    /// Of each class the entities of all models in use, the latest last: when a coordinator goes, others may stay.
    private static let entities = Mutex<[ObjectIdentifier: [Reference]]>([:])

    static func remember(_ layouts: [EntityLayout]) {
        entities.withLock { table in
            for layout in layouts where layout.managedClass != NSManagedObject.self {
                var known = table[ObjectIdentifier(layout.managedClass), default: []]
                known.removeAll { $0.entity == nil || $0.entity === layout.description }
                table[ObjectIdentifier(layout.managedClass)] = known + [Reference(entity: layout.description)]
            }
        }
    }

    static func entity(for type: NSManagedObject.Type) -> NSEntityDescription? {
        let known = entities.withLock { $0[ObjectIdentifier(type)] ?? [] }.compactMap(\.entity)
        return known.last(where: { $0.managedObjectModelReference != nil }) ?? known.last
    }
}
