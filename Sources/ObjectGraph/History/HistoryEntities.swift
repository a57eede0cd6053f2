// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
package import PredicateKit
import Synchronization

// Entities of history transactions and changes. They belong to no model: fetch requests refer to them.

enum HistoryEntities {
    static let transaction = "TRANSACTION"
    static let change = "CHANGE"

    private struct Made: @unchecked Sendable {
        // Unchecked: the descriptions are immutable after creation.
        let transaction: NSEntityDescription
        let change: NSEntityDescription
    }

    private static let made: Made = {
        let transaction = entity(
            HistoryEntities.transaction,
            [
                ("author", .stringAttributeType), ("bundleID", .stringAttributeType), ("contextName", .stringAttributeType),
                ("processID", .stringAttributeType), ("timestamp", .dateAttributeType), ("token", .integer64AttributeType),
            ])
        let change = entity(
            HistoryEntities.change,
            [
                ("changeID", .integer64AttributeType), ("changeType", .integer16AttributeType),
                ("changedObjectID", .objectIDAttributeType), ("updatedProperties", .transformableAttributeType),
            ])
        let changes = NSRelationshipDescription()
        let owner = NSRelationshipDescription()
        (changes.name, owner.name) = ("changes", "transaction")
        (changes.maxCount, owner.maxCount) = (0, 1)
        (changes.destinationEntity, owner.destinationEntity) = (change, transaction)
        (changes.inverseRelationship, owner.inverseRelationship) = (owner, changes)
        transaction.properties.append(changes)
        change.properties.append(owner)
        return Made(transaction: transaction, change: change)
    }()

    static var transactionDescription: NSEntityDescription { made.transaction }
    static var changeDescription: NSEntityDescription { made.change }

    static func request(_ entity: NSEntityDescription) -> NSFetchRequest<any NSFetchRequestResult> {
        let request = NSFetchRequest<any NSFetchRequestResult>()
        request.entity = entity
        return request
    }

    private static func entity(_ name: String, _ attributes: [(String, NSAttributeType)]) -> NSEntityDescription {
        let entity = NSEntityDescription()
        entity.name = name
        entity.properties = attributes.map { name, type in
            let attribute = NSAttributeDescription()
            attribute.name = name
            attribute.attributeType = type
            return attribute
        }
        return entity
    }
}

extension NSPersistentHistoryTransaction: PredicateSubject {
    package func predicateValue(forKey key: String) -> PredicateValue {
        switch key {
        case "author": PredicateValue(author)
        case "contextName": PredicateValue(contextName)
        case "bundleID": .string(bundleID)
        case "processID": .string(processID)
        case "storeID": .string(storeID)
        case "timestamp": .date(timestamp.timeIntervalSinceReferenceDate)
        case "transactionNumber": .int(transactionNumber)
        case "token": .object(PredicateObject(token))
        case "changes": .list((changes ?? []).map { .object(PredicateObject($0)) })
        default: .null
        }
    }
}

extension NSPersistentHistoryChange: PredicateSubject {
    package func predicateValue(forKey key: String) -> PredicateValue {
        switch key {
        case "changeID": .int(changeID)
        case "changeType": .int(Int64(changeType.rawValue))
        case "changedObjectID": .object(PredicateObject(changedObjectID))
        case "updatedProperties": .list((updatedProperties ?? []).map { .string($0.name) })
        case "transaction": transaction.map { .object(PredicateObject($0)) } ?? .null
        default: .null
        }
    }
}

extension NSPersistentHistoryToken: PredicateIdentified {
    package var predicateIdentity: AnyHashable { AnyHashable(positions) }
}
