// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ManagedModel

// Storage of to-many relationships outside of their rows, and which of it stays.

extension MigrationPlan {
    /// The old relationships that a new one adopts the members of. There may be several: subentities' relationships that moved
    /// into one of their parent.
    func sources(of entity: Int, _ location: PropertyLocation) -> [EntityRelationship] {
        var result: [EntityRelationship] = []
        for heir in model.entities[entity].hierarchy {
            guard let origin = origins[heir], let originLocation = properties[heir]?[location],
                let relationship = old.model.entities[origin].relationship(at: originLocation), !relationship.declaration.isTransient
            else { continue }
            let source = EntityRelationship(entity: relationship.declaringEntity, location: originLocation)
            if !result.contains(source) { result.append(source) }
        }
        return result
    }

    mutating func placeRelationships() {
        for entity in included {
            let inherited = model.entities[entity].superentity.map { model.entities[$0].toMany.count } ?? 0
            for index in model.entities[entity].toMany.indices where index >= inherited {
                let relationship = model.entities[entity].toMany[index]
                let sources = sources(of: entity, .toMany(index))
                guard !relationship.declaration.isTransient, let source = sources.first, case .toMany(let formerIndex) = source.location
                else { continue }
                let place = EntityRelationship(entity: entity, location: .toMany(index))
                switch (relationship.shape, oldEntity(source.entity).toMany[formerIndex]) {
                case (.manyToMany, .join(let side)): keepJoinTable(side, of: source, as: relationship, place, isOnly: sources.count == 1)
                case (.oneToMany, .foreignKey(let key)) where key.isHidden && relationship.inverse == nil:
                    keepForeignKey(key, of: source, as: relationship, place, isOnly: sources.count == 1)
                default: continue
                }
            }
        }
    }

    private func staysInPlace(_ source: EntityRelationship, _ oldDestination: Int, _ new: ResolvedRelationship) -> Bool {
        !disturbed.contains(oldRoot(source.entity)) && !disturbed.contains(oldRoot(oldDestination))
            && primaries[newRoot(new.destination)] == oldRoot(oldDestination)
    }

    private mutating func keepForeignKey(
        _ key: ForeignKey, of source: EntityRelationship, as relationship: ResolvedRelationship, _ place: EntityRelationship, isOnly: Bool
    ) {
        guard primaries[newRoot(relationship.destination)] == oldRoot(key.destination) else { return }
        var record = RecordedProperty(.toManyByKey)
        record.column = key.column
        if relationship.declaration.isOrdered { record.orderColumn = key.orderColumn }
        self.record(relationship.name, of: place.entity, record)
        if isOnly, staysInPlace(source, key.destination, relationship) { unchangedRelationships.insert(place) }
    }

    private mutating func keepJoinTable(
        _ side: JoinSide, of source: EntityRelationship, as relationship: ResolvedRelationship, _ place: EntityRelationship, isOnly: Bool
    ) {
        guard case .toMany(let inverse)? = relationship.inverse, let inverseOwner = relationship.inverseDeclaringEntity,
            existing.recorded?.entities[model.entities[place.entity].name]?.properties[relationship.name] == nil
        else { return }
        // The join records of both sides, or of one side if the other is new.
        let inverseSources = sources(of: inverseOwner, .toMany(inverse))
        let oldInverse = old.model.entities[side.destination].toMany[side.inverse]
        let expected = EntityRelationship(entity: oldInverse.declaringEntity, location: .toMany(side.inverse))
        guard inverseSources.allSatisfy({ $0 == expected }) else { return }
        var record = RecordedProperty(.toManyByTable)
        (record.table, record.column, record.otherColumn) = (side.table, side.ownColumn, side.otherColumn)
        if relationship.declaration.isOrdered { record.orderColumn = side.orderColumn }
        self.record(relationship.name, of: place.entity, record)
        let inverseRelationship = model.entities[inverseOwner].toMany[inverse]
        if inverseRelationship.name != relationship.name || inverseOwner != place.entity {
            var record = RecordedProperty(.toManyByTable)
            (record.table, record.column, record.otherColumn) = (side.table, side.otherColumn, side.ownColumn)
            if inverseRelationship.declaration.isOrdered, case .join(let opposite) = oldEntity(side.destination).toMany[side.inverse] {
                record.orderColumn = opposite.orderColumn
            }
            self.record(inverseRelationship.name, of: inverseOwner, record)
        }
        guard isOnly, staysInPlace(source, side.destination, relationship) else { return }
        unchangedRelationships.insert(place)
        unchangedRelationships.insert(EntityRelationship(entity: inverseOwner, location: .toMany(inverse)))
    }
}
