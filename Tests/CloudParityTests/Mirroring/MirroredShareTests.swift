// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CoreData
import Foundation
import Testing

/// Compares a mirrored store's records and shares with the server's, member by member.
@Suite(.timeLimit(.minutes(5))) struct MirroredShareTests {
    private struct Shared: @unchecked Sendable {
        // Unchecked: models are constant once they are in use.
        let model: NSManagedObjectModel
    }

    private static let shared: Shared = {
        let note = NSEntityDescription()
        note.name = "Note"
        let text = NSAttributeDescription()
        text.name = "text"
        text.attributeType = .stringAttributeType
        note.properties = [text]
        let model = NSManagedObjectModel()
        model.entities = [note]
        return Shared(model: model)
    }()

    private func note(_ container: NSPersistentCloudKitContainer) async throws -> NSManagedObjectID {
        try await container.performBackgroundTask { context in
            let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
            note.setValue("Milk", forKey: "text")
            try context.save()
            return note.objectID
        }
    }

    /// The documented members in which two objects differ.
    private func differences<Object>(
        _ one: Object, _ other: Object, _ properties: [(name: String, path: PartialKeyPath<Object>)]
    ) -> [String] {
        properties.filter { property in
            let values = (one[keyPath: property.path] as? AnyHashable, other[keyPath: property.path] as? AnyHashable)
            return values.0 != values.1
        }.map(\.name)
    }

    @Test func aShareHasEveryMemberThatTheServerHas() async throws {
        let (container, database) = try await mirroredContainer(Self.shared.model)
        let id = try await note(container)
        try await settle(container)
        let object = container.viewContext.object(with: id)
        let (_, made, _) = try await container.share([object], to: nil)
        try await settle(container)
        let known = try #require(try container.fetchShares(matching: [id])[id])
        let stored = try #require(try await database.record(for: made.recordID) as? CKShare)
        #expect(stored.url != nil)
        #expect(stored.participants.count == 1)
        #expect(stored.creatorUserRecordID != nil)
        #expect(differences(known, stored, SharingSurfaceTests.propertiesOfCKShare) == [])
        #expect(
            differences(known as CKRecord, stored, RecordsSurfaceTests.propertiesOfCKRecord.filter { $0.name != "encryptedValues" }) == [])
        #expect(differences(known.owner, stored.owner, SharingSurfaceTests.propertiesOfCKShareParticipant) == [])
        #expect(known.allKeys() == stored.allKeys())
    }

    @Test func aDifferenceIsNoticed() {
        let (one, other) = (CKRecord(recordType: "A"), CKRecord(recordType: "B"))
        #expect(
            differences(one, other, RecordsSurfaceTests.propertiesOfCKRecord.filter { $0.name != "encryptedValues" }) == [
                "recordType", "recordID",
            ])
    }
}
