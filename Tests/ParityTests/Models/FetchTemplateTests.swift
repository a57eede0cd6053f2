// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// Named fetch requests of a model.
@Suite struct FetchTemplateTests {
    private let model: NSManagedObjectModel

    init() {
        let title = NSAttributeDescription()
        title.name = "title"
        title.attributeType = .stringAttributeType
        let pages = NSAttributeDescription()
        pages.name = "pages"
        pages.attributeType = .integer32AttributeType
        pages.defaultValue = 0
        let entity = NSEntityDescription()
        entity.name = "Leaflet"
        entity.properties = [title, pages]
        model = NSManagedObjectModel()
        model.entities = [entity]
        model.setFetchRequestTemplate(Self.request("title CONTAINS[c] $needle AND pages > $least"), forName: "Search")
        let newest = Self.request("title != nil")
        newest.fetchLimit = 1
        newest.sortDescriptors = [NSSortDescriptor(key: "pages", ascending: false)]
        model.setFetchRequestTemplate(newest, forName: "Thickest")
    }

    private static func request(_ format: String) -> NSFetchRequest<any NSFetchRequestResult> {
        let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Leaflet")
        request.predicate = NSPredicate(format: format)
        return request
    }

    private func context() throws -> NSManagedObjectContext {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
        try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil)
        let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
        context.persistentStoreCoordinator = coordinator
        try context.performAndWait {
            for (title, pages) in [("Swift", 4), ("swift sails", 8), ("Oak", 12)] {
                let object = NSEntityDescription.insertNewObject(forEntityName: "Leaflet", into: context)
                object.setValue(title, forKey: "title")
                object.setValue(pages, forKey: "pages")
            }
            try context.save()
        }
        return context
    }

    private func titles(_ request: NSFetchRequest<any NSFetchRequestResult>, _ context: NSManagedObjectContext) throws -> [String] {
        try context.performAndWait {
            try context.fetch(request).compactMap { ($0 as? NSManagedObject)?.value(forKey: "title") as? String }.sorted()
        }
    }

    @Test func fetchTemplatesAreLookedUpByName() throws {
        #expect(Set(model.fetchRequestTemplatesByName.keys) == ["Search", "Thickest"])
        let thickest = try #require(model.fetchRequestTemplate(forName: "Thickest"))
        #expect(thickest.entityName == "Leaflet")
        #expect(thickest.fetchLimit == 1)
        #expect(model.fetchRequestTemplate(forName: "Thickest") === thickest)
        #expect(model.fetchRequestTemplatesByName["Thickest"] === thickest)
        #expect(model.fetchRequestTemplate(forName: "Gone") == nil)
        #expect(model.fetchRequestFromTemplate(withName: "Gone", substitutionVariables: [:]) == nil)
    }

    @Test func fetchTemplateVariablesAreSubstitutedInACopy() throws {
        let request = try #require(
            model.fetchRequestFromTemplate(withName: "Search", substitutionVariables: ["needle": "SWIFT", "least": 5, "unused": 1]))
        #expect(request.predicate == NSPredicate(format: "title CONTAINS[c] 'SWIFT' AND pages > 5"))
        let template = try #require(model.fetchRequestTemplate(forName: "Search"))
        #expect(template !== request)
        #expect(template.predicate == NSPredicate(format: "title CONTAINS[c] $needle AND pages > $least"))
        request.fetchLimit = 7
        #expect(template.fetchLimit == 0)
    }

    @Test(arguments: [
        ("swift", 0, ["Swift", "swift sails"]), ("swift", 4, ["swift sails"]), ("a", 5, ["Oak", "swift sails"]), ("x", 0, []),
    ])
    func requestsFromTemplatesReturnObjects(needle: String, least: Int, titles: [String]) throws {
        let context = try context()
        let request = try #require(
            model.fetchRequestFromTemplate(withName: "Search", substitutionVariables: ["needle": needle, "least": least]))
        #expect(try self.titles(request, context) == titles)
    }

    @Test func aTemplateWithoutVariablesIsExecutable() throws {
        let context = try context()
        let copy = try #require(model.fetchRequestTemplate(forName: "Thickest")?.copy() as? NSFetchRequest<any NSFetchRequestResult>)
        #expect(try titles(copy, context) == ["Oak"])
        let bound = try #require(model.fetchRequestFromTemplate(withName: "Thickest", substitutionVariables: [:]))
        #expect(try titles(bound, context) == ["Oak"])
        #expect(bound.sortDescriptors?.first?.key == "pages")
    }

    @Test func settingNilRemovesAFetchTemplate() {
        model.setFetchRequestTemplate(nil, forName: "Search")
        #expect(model.fetchRequestTemplate(forName: "Search") == nil)
        #expect(Array(model.fetchRequestTemplatesByName.keys) == ["Thickest"])
    }

    @Test func fetchTemplatesAreCopiedWithTheModel() throws {
        let copy = try #require(model.copy() as? NSManagedObjectModel)
        #expect(Set(copy.fetchRequestTemplatesByName.keys) == ["Search", "Thickest"])
        copy.setFetchRequestTemplate(nil, forName: "Search")
        #expect(model.fetchRequestTemplate(forName: "Search") != nil)
        #expect(try #require(NSManagedObjectModel(byMerging: [model])).fetchRequestTemplatesByName.count == 2)
    }
}
