// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// Objects, contexts and stacks that generic code constructs.
@Suite struct ConstructionTests {
    @Test func aGenericFunctionConstructsObjectsOfItsClass() throws {
        let context = try Library.container().newBackgroundContext()
        context.performAndWait {
            #expect(make(Author.self, in: context).value(forKey: "rank") as? Int32 == 7)
            #expect(makeByEntity(Book.self, in: context).entity.name == "Book")
            #expect(Author.inserted(into: context).managedObjectContext === context)
            #expect(Author(context: context).another().isInserted)
            #expect(Author.created(in: context).entity.name == "Author")
            #expect(Book.alsoCreated(in: context).entity.name == "Book")
            #expect(context.insertedObjects.count == 7)
        }
    }

    @Test func aMetatypeOfASuperclassConstructsItsDynamicType() throws {
        let context = try Library.container().newBackgroundContext()
        context.performAndWait {
            let types: [NSManagedObject.Type] = [Author.self, Book.self]
            let objects = types.map { $0.init(context: context) }
            #expect(objects[0] is Author)
            #expect(objects[1] is Book)
            let again = types.map { $0.init(entity: $0.entity(), insertInto: nil) }
            #expect(again[0] is Author)
            #expect(again[1] is Book)
            #expect(again[0].managedObjectContext == nil)
        }
    }

    @Test func anOverriddenDesignatedInitialiserRunsInGenericConstruction() throws {
        let context = try Library.container().newBackgroundContext()
        try context.performAndWait {
            let entity = try #require(NSEntityDescription.entity(forEntityName: "Tag", in: context))
            func make<T: NSManagedObject>(_ type: T.Type) -> T { T(entity: entity, insertInto: context) }
            #expect(make(Counted.self).number == 5)
            #expect(Counted(entity: entity, insertInto: context).number == 5)
            #expect(Counted(number: 6, entity).number == 6)
            let object: NSManagedObject = make(NSManagedObject.self)
            #expect(object is Tag)
        }
    }

    @Test func stacksAreConstructedByMetatypes() throws {
        #expect(NSPersistentStoreCoordinator.ofLibrary().managedObjectModel === Library.model)
        #expect(OwnCoordinator.ofLibrary() is OwnCoordinator)
        #expect(OwnContext.ofMain().concurrencyType == .mainQueueConcurrencyType)
        #expect(OwnContext.ofMain() is OwnContext)
        func make<T: NSPersistentContainer>(_ type: T.Type) -> T { T(name: "Library", managedObjectModel: Library.model) }
        #expect(make(OwnContainer.self).name == "Library")
        func find<T: NSPersistentContainer>(_ type: T.Type) -> T { T(name: "No such model") }
        var failure: (any Error)?
        find(OwnContainer.self).loadPersistentStores { failure = $1 }
        #expect(failure != nil)
    }
}

private func make<T: NSManagedObject>(_ type: T.Type, in context: NSManagedObjectContext) -> T { T(context: context) }

private func makeByEntity<T: NSManagedObject>(_ type: T.Type, in context: NSManagedObjectContext) -> T {
    T(entity: T.entity(), insertInto: context)
}

private protocol Insertable {
    static func inserted(into context: NSManagedObjectContext) -> Self
}

extension Insertable where Self: NSManagedObject {
    fileprivate static func inserted(into context: NSManagedObjectContext) -> Self { Self(context: context) }
}

extension Author: Insertable {}

extension NSManagedObject {
    fileprivate func another() -> Self { type(of: self).init(context: managedObjectContext ?? NSManagedObjectContext(.privateQueue)) }
    fileprivate class func created(in context: NSManagedObjectContext) -> Self { self.init(context: context) }
    fileprivate static func alsoCreated(in context: NSManagedObjectContext) -> Self { .init(entity: entity(), insertInto: context) }
}

private final class Counted: NSManagedObject {
    var number = 0

    override init(entity: NSEntityDescription, insertInto context: NSManagedObjectContext?) {
        super.init(entity: entity, insertInto: context)
        number = 5
    }

    convenience init(number: Int, _ entity: NSEntityDescription) {
        self.init(entity: entity, insertInto: nil)
        self.number = number
    }
}

private final class OwnCoordinator: NSPersistentStoreCoordinator, @unchecked Sendable {}
private final class OwnContext: NSManagedObjectContext, @unchecked Sendable {}
private final class OwnContainer: NSPersistentContainer, @unchecked Sendable {}

extension NSPersistentStoreCoordinator {
    fileprivate class func ofLibrary() -> NSPersistentStoreCoordinator { self.init(managedObjectModel: Library.model) }
}

extension NSManagedObjectContext {
    fileprivate class func ofMain() -> NSManagedObjectContext { self.init(concurrencyType: .mainQueueConcurrencyType) }
}
