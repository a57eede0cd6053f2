// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ManagedModel
import ObjectGraph
import PredicateKit
import Testing

/// Misuse for which Apple's framework raises an exception: it ends the process with a sentence that names the mistake.
@Suite struct MisuseTests {
    private func expect(_ sentence: String, in result: ExitTest.Result?, _ location: SourceLocation = #_sourceLocation) {
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(text.contains(sentence), "\(text)", sourceLocation: location)
    }

    // MARK: Models

    @Test func modelInUseIsConstant() async {
        let entities = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let container = try Library.container()
            container.managedObjectModel.entities = []
        }
        expect("the model is in use by a coordinator or an object and cannot be changed", in: entities)
        let name = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let container = try Library.container()
            container.managedObjectModel.entitiesByName["Book"]?.attributesByName["title"]?.isOptional = true
        }
        expect("the model is in use by a coordinator or an object and cannot be changed", in: name)
    }

    @Test func templateNeedsAValueForEachVariable() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let model = NSManagedObjectModel(Library.model)
            let request = NSFetchRequest<any NSFetchRequestResult>(entityName: "Book")
            request.predicate = NSPredicate(format: "title == $title AND pages > $pages")
            model.setFetchRequestTemplate(request, forName: "Long")
            _ = model.fetchRequestFromTemplate(withName: "Long", substitutionVariables: ["pages": 1])
        }
        expect("fetch request 'Long' needs a value for $title", in: result)
    }

    // MARK: Objects

    @Test func unknownKeysAreNamed() async {
        let reading = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let context = try Library.container().viewContext
            _ = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context).value(forKey: "body")
        }
        expect("entity 'Note' is not key value coding-compliant for the key 'body'", in: reading)
        let writing = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let context = try Library.container().viewContext
            NSEntityDescription.insertNewObject(forEntityName: "Note", into: context).setValue("x", forKey: "body")
        }
        expect("entity 'Note' is not key value coding-compliant for the key 'body'", in: writing)
    }

    @Test func valueOfAnotherTypeIsNamed() async {
        let attribute = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let context = try Library.container().viewContext
            NSEntityDescription.insertNewObject(forEntityName: "Note", into: context).setValue(Date(), forKey: "text")
        }
        expect("unacceptable type of value for attribute: property = Note.text; desired type = string; given type = Date", in: attribute)
        let relationship = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let context = try Library.container().viewContext
            NSEntityDescription.insertNewObject(forEntityName: "Book", into: context).setValue("shelf", forKey: "shelf")
        }
        expect("'Book.shelf' is a relationship and cannot hold a String", in: relationship)
    }

    @Test func entityOfANewObjectIsKnownAndNotAbstract() async {
        let unknown = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = NSEntityDescription.insertNewObject(forEntityName: "Magazine", into: try Library.container().viewContext)
        }
        expect("the context's model has no entity named 'Magazine'", in: unknown)
        let abstract = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let container = try Library.container(model: Model(entities: [Entity(name: "Shape", isAbstract: true)]))
            _ = NSEntityDescription.insertNewObject(forEntityName: "Shape", into: container.viewContext)
        }
        expect("entity 'Shape' is abstract", in: abstract)
    }

    @Test func objectOfAnotherContextIsNotDeleted() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let container = try Library.container()
            let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: container.viewContext)
            container.newBackgroundContext().delete(note)
        }
        expect("Note is in another context; get it with object(with:) before deleting it", in: result)
    }

    @Test func faultThatAContextRefusesEndsTheProcess() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            final class StrictContext: NSManagedObjectContext, @unchecked Sendable {
                override func shouldHandleInaccessibleFault(
                    _ fault: NSManagedObject, for objectID: NSManagedObjectID, triggeredByProperty property: NSPropertyDescription?
                ) -> Bool { false }
            }
            let container = try Library.container()
            let id = try Library.save("Note", in: container.newBackgroundContext())
            let context = StrictContext(concurrencyType: .mainQueueConcurrencyType)
            context.persistentStoreCoordinator = container.persistentStoreCoordinator
            let fault = context.object(with: id)
            let other = container.newBackgroundContext()
            try other.performAndWait {
                other.delete(other.object(with: id))
                try other.save()
            }
            _ = fault.value(forKey: "text")
        }
        expect("Core Data could not fulfill a fault for", in: result)
    }

    // MARK: Requests

    @Test func executeNeedsAContextsBlock() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = try NSFetchRequest<NSManagedObject>(entityName: "Note").execute()
        }
        expect("execute() was called outside perform and performAndWait", in: result)
    }

    @Test func unknownSelectorOfASortDescriptorIsNamed() async {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            _ = NSSortDescriptor(key: "title", ascending: true, selector: Selector("compareTitles:"))
        }
        expect("a sort descriptor cannot compare by compareTitles:", in: result)
    }

    @Test func blocksAndComparatorsAreNotArchived() async {
        let predicate = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let predicate = NSPredicate(format: "title == 'a' AND SELF != %@", NSObject())
            _ = try NSKeyedArchiver.archivedData(withRootObject: predicate, requiringSecureCoding: true)
        }
        expect("a predicate with objects or blocks in it cannot be archived", in: predicate)
        let comparator = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let descriptor = NSSortDescriptor(key: "title", ascending: true) { _, _ in .orderedSame }
            _ = try NSKeyedArchiver.archivedData(withRootObject: descriptor, requiringSecureCoding: true)
        }
        expect("a sort descriptor with a comparator, or of a property without a name, cannot be archived", in: comparator)
    }
}
