// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CoreData
import Foundation
import Testing

/// The configuration of an app before it loads mirrored stores.
///
/// Source: developer.apple.com/documentation/coredata/nspersistentcloudkitcontaineroptions
@Suite struct ContainerOptionTests {
    private func model() -> NSManagedObjectModel {
        let note = NSEntityDescription()
        note.name = "Note"
        let text = NSAttributeDescription()
        text.name = "text"
        text.attributeType = .stringAttributeType
        note.properties = [text]
        let model = NSManagedObjectModel()
        model.entities = [note]
        return model
    }

    @Test func optionsNameAContainerAndADatabase() {
        let options = NSPersistentCloudKitContainerOptions(containerIdentifier: "iCloud.org.example.notes")
        #expect(options.containerIdentifier == "iCloud.org.example.notes")
        #expect(options.databaseScope == .private)
        options.databaseScope = .shared
        #expect(options.databaseScope == .shared)
    }

    @Test func aDescriptionKeepsItsOptions() throws {
        let description = NSPersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null"))
        #expect(description.cloudKitContainerOptions == nil)
        description.cloudKitContainerOptions = NSPersistentCloudKitContainerOptions(containerIdentifier: "iCloud.a")
        let copy = try #require(description.copy() as? NSPersistentStoreDescription)
        #expect(copy.cloudKitContainerOptions?.containerIdentifier == "iCloud.a")
        copy.cloudKitContainerOptions = nil
        #expect(description.cloudKitContainerOptions != nil)
    }

    @Test func aContainerIsMadeByNameAndModel() throws {
        let container = NSPersistentCloudKitContainer(name: "Notes", managedObjectModel: model())
        #expect(container.name == "Notes")
        #expect(container.managedObjectModel.entitiesByName.keys.sorted() == ["Note"])
        #expect(container.persistentStoreDescriptions.count == 1)
        container.persistentStoreDescriptions = [NSPersistentStoreDescription(url: URL(fileURLWithPath: "/dev/null"))]
        var loaded: [(NSPersistentStoreDescription, (any Error)?)] = []
        container.loadPersistentStores { loaded.append(($0, $1)) }
        #expect(loaded.count == 1)
        #expect(loaded[0].1 == nil)
        #expect(loaded[0].0 === container.persistentStoreDescriptions[0])
        let store = try #require(container.persistentStoreCoordinator.persistentStores.first)
        #expect(container.canModifyManagedObjects(in: store), "a store that isn't mirrored may always be changed")
    }
}
