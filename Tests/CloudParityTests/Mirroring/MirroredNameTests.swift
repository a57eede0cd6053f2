// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CoreData
import Foundation
import Testing

/// The names that a mirrored store has on the server, as another client of the database finds them.
///
/// Source: *Reading CloudKit Records for Core Data*.
@Suite(.timeLimit(.minutes(5))) struct MirroredNameTests {
    private static func model() -> NSManagedObjectModel {
        func attribute(_ name: String, _ type: NSAttributeType) -> NSAttributeDescription {
            let attribute = NSAttributeDescription()
            (attribute.name, attribute.attributeType) = (name, type)
            return attribute
        }
        let (item, note, tag) = (NSEntityDescription(), NSEntityDescription(), NSEntityDescription())
        (item.name, note.name, tag.name) = ("Item", "Note", "Tag")
        item.properties = [attribute("text", .stringAttributeType), attribute("count", .integer32AttributeType)]
        tag.properties = [attribute("label", .stringAttributeType)]
        item.subentities = [note]
        let (tags, items) = (NSRelationshipDescription(), NSRelationshipDescription())
        (tags.name, tags.destinationEntity, tags.maxCount) = ("tags", tag, 0)
        (items.name, items.destinationEntity, items.maxCount) = ("items", item, 0)
        (tags.inverseRelationship, items.inverseRelationship) = (items, tags)
        item.properties.append(tags)
        tag.properties.append(items)
        let model = NSManagedObjectModel()
        model.entities = [item, note, tag]
        return model
    }

    @Test func recordsHaveTheDocumentedNames() async throws {
        let (container, database) = try await mirroredContainer(Self.model())
        try await container.performBackgroundTask { context in
            let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
            note.setValue("Milk", forKey: "text")
            let tag = NSEntityDescription.insertNewObject(forEntityName: "Tag", into: context)
            note.setValue(NSSet(object: tag), forKey: "tags")
            try context.save()
        }
        try await settle(container)
        let zoneID = CKRecordZone.ID(zoneName: "com.apple.coredata.cloudkit.zone")
        let changes = try await database.recordZoneChanges(inZoneWith: zoneID, since: nil)
        let records = try changes.modificationResultsByID.values.map { try $0.get().record }
        #expect(records.map(\.recordType).sorted() == ["CDMR", "CD_Item", "CD_Tag"], "a subentity has the type of its root")
        let note = try #require(records.first { $0.recordType == "CD_Item" })
        #expect(note["CD_entityName"] == "Note")
        #expect(note["CD_text"] == "Milk")
        #expect(note["CD_text_ckAsset"] == nil)
        #expect(note["CD_tags"] == nil)
        #expect(UUID(uuidString: note.recordID.recordName) != nil)
        let tag = try #require(records.first { $0.recordType == "CD_Tag" })
        let pair = try #require(records.first { $0.recordType == "CDMR" })
        #expect(pair["CD_entityNames"] == "Item:Tag" || pair["CD_entityNames"] == "Note:Tag")
        #expect(pair["CD_recordNames"] == "\(note.recordID.recordName):\(tag.recordID.recordName)")
        #expect(pair["CD_relationships"] == "tags:items")
        #expect(try await database.allSubscriptions().map(\.subscriptionID) == ["com.apple.coredata.cloudkit.private.subscription"])
    }
}
