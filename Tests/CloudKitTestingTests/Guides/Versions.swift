// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import CoreData
import Foundation
import Testing

/// Two versions of a contacts app's model.
enum Contacts {
    private static func attribute(_ name: String, _ type: NSAttributeType = .stringAttributeType, was first: String? = nil)
        -> NSAttributeDescription
    {
        let attribute = NSAttributeDescription()
        attribute.name = name
        attribute.attributeType = type
        attribute.isOptional = true
        if let first { attribute.renamingIdentifier = first }
        return attribute
    }

    private static func model(_ person: NSEntityDescription) -> NSManagedObjectModel {
        let model = NSManagedObjectModel()
        model.entities = [person]
        return model
    }

    /// The first version, which some devices will have for years.
    static let first: NSManagedObjectModel = {
        let person = NSEntityDescription()
        person.name = "Person"
        person.properties = [attribute("name"), attribute("mail"), attribute("fax"), attribute("age")]
        return model(person)
    }()

    /// The second version: `Contact` instead of `Person`, two names, `email` instead of `mail`, no fax, and an age that is a number.
    static let second: NSManagedObjectModel = {
        let contact = NSEntityDescription()
        contact.name = "Contact"
        contact.renamingIdentifier = "Person"
        contact.userInfo = ["syncRetired": "fax", "syncLens": "name -> firstName lastName; age -> years"]
        contact.properties = [
            attribute("firstName"), attribute("lastName"), attribute("email", was: "mail"), attribute("years", .integer16AttributeType),
            attribute("name"), attribute("age"),  // for devices with the first version
        ]
        return model(contact)
    }()

    /// Opens the contacts of a device.
    static func open(_ model: NSManagedObjectModel, on device: TestDevice, at file: URL) throws -> NSPersistentCloudKitContainer {
        let container = NSPersistentCloudKitContainer(name: "Contacts", managedObjectModel: model)
        let description = NSPersistentStoreDescription(url: file)
        description.cloudKitContainerOptions = NSPersistentCloudKitContainerOptions(container: device.container)
        container.persistentStoreDescriptions = [description]
        var failure: (any Error)?
        container.loadPersistentStores { _, error in failure = error }
        if let failure { throw failure }
        return container
    }

    /// A lens in code, for values that no declaration translates: a length in minutes became one in seconds.
    static func options(_ identifier: String) -> NSPersistentCloudKitContainerOptions {
        let options = NSPersistentCloudKitContainerOptions(containerIdentifier: identifier)
        options.attributeLenses = [
            .init(
                entityName: "Track", from: ["minutes"], to: ["seconds"],
                upgrade: { values in [(values[0] as? Int).map { $0 * 60 }] },
                downgrade: { values in [(values[0] as? Int).map { $0 / 60 }] })
        ]
        return options
    }
}

extension NSPersistentCloudKitContainer {
    /// Changes the only contact, which is created if it is missing.
    func changeContact(_ values: [String: any Sendable]) async throws {
        let name = managedObjectModel.entities[0].name ?? ""
        try await performBackgroundTask { context in
            let contact =
                try context.fetch(NSFetchRequest<NSManagedObject>(entityName: name)).first
                ?? NSEntityDescription.insertNewObject(forEntityName: name, into: context)
            for (key, value) in values { contact.setValue(value, forKey: key) }
            try context.save()
        }
    }

    /// Values of the only contact, as texts.
    func contact(_ keys: String...) async throws -> [String] {
        let name = managedObjectModel.entities[0].name ?? ""
        return try await performBackgroundTask { context in
            let contact = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: name)).first
            return keys.map { key in contact?.value(forKey: key).map { "\($0)" } ?? "–" }
        }
    }
}

@Suite struct VersionGuideTests {
    private func file() throws -> URL {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder.appendingPathComponent("Contacts.sqlite")
    }

    @Test func twoVersionsWorkSideBySide() async throws {
        let cloud = try TestCloud()
        let phone = try Contacts.open(Contacts.first, on: try await cloud.device("phone", account: "mia"), at: try file())
        let tablet = try Contacts.open(Contacts.second, on: try await cloud.device("tablet", account: "mia"), at: try file())

        try await phone.changeContact(["name": "Ann Lee", "mail": "ann@example.org", "fax": "123", "age": "41"])
        try await phone.sync(timeout: .seconds(600))
        try await tablet.sync(timeout: .seconds(600))
        #expect(try await tablet.contact("firstName", "lastName", "email", "years") == ["Ann", "Lee", "ann@example.org", "41"])

        try await tablet.changeContact(["firstName": "Eva", "years": 42])
        try await tablet.sync(timeout: .seconds(600))
        try await phone.sync(timeout: .seconds(600))
        #expect(try await phone.contact("name", "mail", "fax", "age") == ["Eva Lee", "ann@example.org", "123", "42"])

        try await phone.changeContact(["age": "a lot"])
        try await phone.sync(timeout: .seconds(600))
        try await tablet.sync(timeout: .seconds(600))
        #expect(try await tablet.contact("years", "age") == ["42", "a lot"])
    }

    @Test func theGuidesLensInCodeHasItsAttributes() {
        #expect(Contacts.options("iCloud.org.example.tracks").attributeLenses.count == 1)
    }
}
