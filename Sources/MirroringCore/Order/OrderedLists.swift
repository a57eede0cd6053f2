// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

package import ManagedModel

/// An ordered to-many relationship of one object.
package struct OrderedList: Hashable, Sendable {
    package var owner: RowKey
    /// Index into the owner entity's `toMany`.
    package var relationship: Int

    package init(owner: RowKey, relationship: Int) {
        self.owner = owner
        self.relationship = relationship
    }
}

extension RecordMapping {
    /// Whether any relationship is mirrored with its order.
    package var hasOrder: Bool { extensions.contains(.orderedRelationships) }

    /// Whether pairs of a many-to-many relationship have ranks.
    package var hasOrderedLinks: Bool { hasOrder && links.values.contains { $0.first.isOrdered || $0.second.isOrdered } }

    /// Whether records of an entity say where their objects stand in others' lists.
    package func isRanked(_ entity: Int) -> Bool { hasOrder && entities[entity]?.ranks.isEmpty == false }

    /// The lists of an object.
    ///
    /// - Parameter changed: Those with these names; nil for all.
    package func lists(of owner: RowKey, changed: Set<String>? = nil) -> [OrderedList] {
        guard hasOrder, entities[owner.entityIndex] != nil else { return [] }
        let toMany = model.entities[owner.entityIndex].toMany
        return toMany.indices.filter {
            let relationship = toMany[$0]
            return relationship.declaration.isOrdered && !relationship.declaration.isTransient
                && changed?.contains(relationship.name) ?? true
        }.map { OrderedList(owner: owner, relationship: $0) }
    }

    /// The lists of an object whose members are linked to it by pairs of a kind.
    package func lists(of owner: RowKey, linkedBy kind: LinkKind) -> [OrderedList] {
        lists(of: owner).filter { link(entity: owner.entityIndex, toMany: $0.relationship)?.kind == kind }
    }

    /// The lists in which a row stands by its to-one relationships.
    ///
    /// - Parameter changed: By those with these names; nil for all.
    package func lists(with row: Row, changed: Set<String>? = nil) -> [OrderedList] {
        (entities[row.key.entityIndex]?.ranks ?? []).compactMap { property in
            guard case .rank(let relationship) = property.kind, changed?.contains(relationship.name) ?? true,
                case .toMany(let index)? = relationship.inverse, let owner = row.values[property.slot].reference
            else { return nil }
            return OrderedList(owner: owner, relationship: index)
        }
    }

    /// The name under which members of a list keep their ranks: that of the to-one relationship in sync metadata. nil for a list of pairs.
    package func rankedName(_ list: OrderedList) -> String? {
        let relationship = model.entities[list.owner.entityIndex].toMany[list.relationship]
        guard relationship.shape == .oneToMany, let inverse = relationship.inverse else { return nil }
        return model.entities[relationship.destination].syncName(at: inverse)
    }
}

extension ExportScan {
    /// Lists with an order that may have changed, as history shows it without reading rows.
    package var lists: [OrderedList] {
        orderChanges.flatMap { key, names in mapping.lists(of: key, changed: names) }
    }

    /// Rows that may have come into a list by their own change, with the relationships that changed; nil for all of them.
    package var joining: [(key: RowKey, changed: Set<String>?)] {
        orderChanges.filter { mapping.isRanked($0.key.entityIndex) }.map { ($0.key, $0.names) }
    }
}
