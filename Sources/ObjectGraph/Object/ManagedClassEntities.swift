// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Synchronization

/// The entities of managed object classes, among the frozen models.
enum ManagedClassEntities {
    private struct Reference: Sendable {
        private let link: Backlink<NSEntityDescription>
        var entity: NSEntityDescription? { link.object }
        init(entity: NSEntityDescription) { link = entity.backlink }
    }

    /// For each class its entities in all frozen models, latest last: another model may outlive the latest one.
    private static let entities = Mutex<[ObjectIdentifier: [Reference]]>([:])

    static func remember(_ layouts: [EntityLayout]) {
        entities.withLock { table in
            for layout in layouts where layout.managedClass != NSManagedObject.self {
                var references = table[ObjectIdentifier(layout.managedClass), default: []]
                references.removeAll { $0.entity == nil || $0.entity === layout.description }
                table[ObjectIdentifier(layout.managedClass)] = references + [Reference(entity: layout.description)]
            }
        }
    }

    static func entity(for type: NSManagedObject.Type) -> NSEntityDescription? {
        let references = entities.withLock { $0[ObjectIdentifier(type)] ?? [] }.compactMap(\.entity)
        return references.last(where: { $0.managedObjectModelReference != nil }) ?? references.last
    }
}
