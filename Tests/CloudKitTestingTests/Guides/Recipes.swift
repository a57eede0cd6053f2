// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CloudKitTesting
import CoreData
import Foundation
import Testing

/// A recipe whose attributes are merged in different ways.
let recipesModel: NSManagedObjectModel = {
    func attribute(_ name: String, _ type: NSAttributeType, syncPolicy: String? = nil) -> NSAttributeDescription {
        let attribute = NSAttributeDescription()
        attribute.name = name
        attribute.attributeType = type
        attribute.isOptional = true
        if let syncPolicy { attribute.userInfo = ["syncPolicy": syncPolicy] }
        return attribute
    }
    let recipe = NSEntityDescription()
    recipe.name = "Recipe"
    recipe.properties = [
        attribute("title", .stringAttributeType),  // the later value wins
        attribute("likes", .integer64AttributeType, syncPolicy: "counter"),  // both increments count
        attribute("tags", .stringAttributeType, syncPolicy: "set-union"),  // one tag on each line; both additions stay
        attribute("bestTime", .doubleAttributeType, syncPolicy: "min"),  // the smaller value wins
    ]
    let model = NSManagedObjectModel()
    model.entities = [recipe]
    return model
}()

/// Opens the recipes of a device, in a file of its own.
func openRecipes(with options: NSPersistentCloudKitContainerOptions) throws -> NSPersistentCloudKitContainer {
    let folder = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    let container = NSPersistentCloudKitContainer(name: "Recipes", managedObjectModel: recipesModel)
    let description = NSPersistentStoreDescription(url: folder.appendingPathComponent("Recipes.sqlite"))
    description.cloudKitContainerOptions = options
    container.persistentStoreDescriptions = [description]
    var failure: (any Error)?
    container.loadPersistentStores { _, error in failure = failure ?? error }
    if let failure { throw failure }
    return container
}

/// Options that keep the longer of two titles. Every device decides alike: equal lengths are decided by the text.
func optionsThatKeepLongTitles(_ container: CKContainer) -> NSPersistentCloudKitContainerOptions {
    let options = NSPersistentCloudKitContainerOptions(container: container)
    options.resolveMergeConflict = { conflict in
        guard conflict.attributeName == "title", let here = conflict.here as? String, let elsewhere = conflict.elsewhere as? String
        else { return .byPolicy }
        return .value((here.count, here) < (elsewhere.count, elsewhere) ? elsewhere : here)
    }
    return options
}

/// Options for a model that uses all extensions.
func optionsWithModelExtensions(_ identifier: String) -> NSPersistentCloudKitContainerOptions {
    let options = NSPersistentCloudKitContainerOptions(containerIdentifier: identifier)
    options.modelExtensions = [.orderedRelationships, .uniquenessConstraints, .requiredValues, .denyDeleteRule]
    return options
}

extension NSPersistentCloudKitContainer {
    /// Changes the only recipe, which is created if it is missing.
    func changeRecipe(_ change: @escaping @Sendable (NSManagedObject) -> Void) async throws {
        try await performBackgroundTask { context in
            let request = NSFetchRequest<NSManagedObject>(entityName: "Recipe")
            change(try context.fetch(request).first ?? NSEntityDescription.insertNewObject(forEntityName: "Recipe", into: context))
            try context.save()
        }
    }

    /// An attribute of each recipe.
    func recipes<Value: Sendable>(_ name: String, as type: Value.Type) async throws -> [Value] {
        try await performBackgroundTask { context in
            try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Recipe")).compactMap { $0.value(forKey: name) as? Value }
        }
    }
}

@Suite struct RecipesTests {
    @Test func eachAttributeIsMergedByItsPolicy() async throws {
        let cloud = try TestCloud()
        let phoneDevice = try await cloud.device("phone", account: "mia")
        let phone = try openRecipes(with: NSPersistentCloudKitContainerOptions(container: phoneDevice.container))
        let tablet = try openRecipes(
            with: NSPersistentCloudKitContainerOptions(container: try await cloud.device("tablet", account: "mia").container))
        try await phone.changeRecipe { recipe in
            recipe.setValue(10, forKey: "likes")
            recipe.setValue("soup", forKey: "tags")
            recipe.setValue(30.0, forKey: "bestTime")
        }
        try await phone.sync(timeout: .seconds(600))
        try await tablet.sync(timeout: .seconds(600))

        phoneDevice.goOffline()
        try await phone.changeRecipe { recipe in
            recipe.setValue(11, forKey: "likes")
            recipe.setValue("soup\nquick", forKey: "tags")
            recipe.setValue(25.0, forKey: "bestTime")
        }
        try await tablet.changeRecipe { recipe in
            recipe.setValue(12, forKey: "likes")
            recipe.setValue("soup\nvegan", forKey: "tags")
            recipe.setValue(28.0, forKey: "bestTime")
        }
        try await tablet.sync(timeout: .seconds(600))
        phoneDevice.goOnline()
        try await phone.sync(timeout: .seconds(600))
        try await tablet.sync(timeout: .seconds(600))

        for device in [phone, tablet] {
            #expect(try await device.recipes("likes", as: Int64.self) == [13])
            #expect(try await device.recipes("tags", as: String.self) == ["soup\nvegan\nquick"])
            #expect(try await device.recipes("bestTime", as: Double.self) == [25])
        }
    }

    @Test func anAppMayAllowEveryExtension() {
        #expect(optionsWithModelExtensions("iCloud.org.example.recipes").modelExtensions.contains(.denyDeleteRule))
    }

    @Test func anAppDecidesConflicts() async throws {
        let cloud = try TestCloud()
        let phoneDevice = try await cloud.device("phone", account: "mia")
        let phone = try openRecipes(with: optionsThatKeepLongTitles(phoneDevice.container))
        let tablet = try openRecipes(with: optionsThatKeepLongTitles(try await cloud.device("tablet", account: "mia").container))
        try await phone.changeRecipe { $0.setValue("Soup", forKey: "title") }
        try await phone.sync(timeout: .seconds(600))
        try await tablet.sync(timeout: .seconds(600))

        phoneDevice.goOffline()
        try await phone.changeRecipe { $0.setValue("Stew", forKey: "title") }
        try await tablet.changeRecipe { $0.setValue("Tomato soup", forKey: "title") }
        try await tablet.sync(timeout: .seconds(600))
        phoneDevice.goOnline()
        try await phone.sync(timeout: .seconds(600))
        try await tablet.sync(timeout: .seconds(600))

        #expect(try await phone.recipes("title", as: String.self) == ["Tomato soup"])
        #expect(try await tablet.recipes("title", as: String.self) == ["Tomato soup"])
    }

    @Test func aPublishedRecipeIsReadWithoutAnAccount() async throws {
        let cloud = try TestCloud()
        let options = NSPersistentCloudKitContainerOptions(container: try await cloud.device("phone", account: "mia").container)
        options.databaseScope = .public
        let author = try openRecipes(with: options)
        try await author.changeRecipe { $0.setValue("Tomato soup", forKey: "title") }
        try await author.sync(timeout: .seconds(600))

        let readerOptions = NSPersistentCloudKitContainerOptions(container: try await cloud.device("kiosk", account: nil).container)
        readerOptions.databaseScope = .public
        let reader = try openRecipes(with: readerOptions)
        try await reader.sync(timeout: .seconds(600))
        #expect(try await reader.recipes("title", as: String.self) == ["Tomato soup"])
    }
}
