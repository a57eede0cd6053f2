// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

@Suite("Transformable attributes")
struct TransformableTests {
    @Test func transformableValuesRoundTripThroughTheStore() throws {
        let container = try Gallery.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            let picture = Picture.inserted("one", context)
            picture.setValue(["a", "b"] as NSArray, forKey: "plain")
            picture.setValue(Shade(3), forKey: "shade")
            picture.setValue(["red", "green"], forKey: "words")
            try context.save()
            #expect(!picture.hasChanges)
            context.refresh(picture, mergeChanges: false)
            #expect(picture.value(forKey: "plain") as? [String] == ["a", "b"])
            #expect(picture.value(forKey: "shade") as? Shade == Shade(3))
            #expect(picture.value(forKey: "words") as? [String] == ["red", "green"])
            #expect(!picture.hasChanges)
            #expect(picture.changedValues().isEmpty)
            #expect(picture.committedValues(forKeys: ["shade"])["shade"] as? Shade == Shade(3))
            picture.setValue(nil, forKey: "shade")
            try context.save()
            context.refresh(picture, mergeChanges: false)
            #expect(picture.value(forKey: "shade") == nil)
            #expect(picture.value(forKey: "words") as? [String] == ["red", "green"])
        }
    }

    @Test func aBinaryStoreKeepsTransformableValues() throws {
        // The model registers the transformers.
        _ = Gallery.model
        let url = try Depot.folder().appendingPathComponent("notes")
        func context() throws -> NSManagedObjectContext {
            let model = Depot.makeModel { model in
                for name in ["Shades", "Words"] {
                    let attribute = Library.attribute(name.lowercased(), .transformableAttributeType)
                    attribute.valueTransformerName = name
                    model.entitiesByName["Note"]?.properties.append(attribute)
                }
            }
            let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
            try coordinator.addPersistentStore(ofType: NSBinaryStoreType, configurationName: nil, at: url, options: nil)
            return Depot.context(over: coordinator)
        }
        let writer = try context()
        try writer.performAndWait {
            Depot.insert("Note", ["text": "a", "shades": Shade(3), "words": ["red", "green"]], into: writer)
            Depot.insert("Note", ["text": "b"], into: writer)
            try writer.save()
        }
        let reader = try context()
        try reader.performAndWait {
            let notes = try reader.fetch(Depot.request("Note", sort: "text"))
            #expect(Depot.names(notes, "text") == ["a", "b"])
            #expect(notes.first?.value(forKey: "shades") as? Shade == Shade(3))
            #expect(notes.first?.value(forKey: "words") as? [String] == ["red", "green"])
            #expect(notes.last?.value(forKey: "shades") == nil)
        }
    }

    @Test(arguments: 0..<10)
    func propertyListValuesAreArchivedByDefault(_ index: Int) throws {
        let values: [NSObject] = [
            ["k": 1, "z": 2] as NSDictionary, NSSet(array: ["x"]), "text" as NSString, NSNumber(value: 2.5),
            NSDate(timeIntervalSinceReferenceDate: 12), NSData(data: Data([1, 2])), [["a": [1, 2]]] as NSArray, NSArray(),
            NSMutableArray(array: ["m"]), NSMutableDictionary(dictionary: ["k": NSMutableArray(array: [1])]),
        ]
        let context = try Gallery.context()
        try context.performAndWait {
            let picture = Picture.inserted("one", context)
            picture.setValue(values[index], forKey: "plain")
            try context.save()
            context.refresh(picture, mergeChanges: false)
            #expect(picture.value(forKey: "plain") as? NSObject == values[index])
        }
    }

    @Test func aTransformableValueIsOneInstanceUntilItsOwnerIsAFault() throws {
        let context = try Gallery.context()
        try context.performAndWait {
            let picture = Picture.inserted("one", context)
            let shade = Shade(4)
            picture.setValue(shade, forKey: "shade")
            #expect(picture.value(forKey: "shade") as AnyObject? === shade)
            try context.save()
            #expect(picture.value(forKey: "shade") as AnyObject? === shade)
            context.refresh(picture, mergeChanges: false)
            let read = try #require(picture.value(forKey: "shade") as? Shade)
            #expect(read !== shade)
            #expect(picture.value(forKey: "shade") as AnyObject? === read)
            #expect(picture.primitiveValue(forKey: "shade") as AnyObject? === read)
            picture.setValue(Shade(5), forKey: "shade")
            #expect(picture.changedValues().keys.sorted() == ["shade"])
            context.rollback()
            #expect(picture.value(forKey: "shade") as? Shade == Shade(4))
        }
    }

    @Test func aValueThatCannotBeEncodedFailsTheSave() throws {
        let context = try Gallery.context()
        context.performAndWait {
            let picture = Picture.inserted("one", context)
            picture.setValue("no list" as NSString, forKey: "words")
            #expect(throws: (any Error).self) { try context.save() }
            #expect(picture.isInserted)
            picture.setValue(["list"], forKey: "words")
            #expect(throws: Never.self) { try context.save() }
            #expect(!picture.isInserted)
        }
    }

    /// Source: Predicate Programming Guide, "Using Predicates" (key-value coding gives the values).
    @Test(arguments: [true, false])
    func predicatesInMemoryReadTransformableValues(_ isSaved: Bool) throws {
        let context = try Gallery.context()
        try context.performAndWait {
            let picture = Picture.inserted("one", context)
            picture.setValue(Shade(3), forKey: "shade")
            picture.setValue(["a", "b"], forKey: "words")
            picture.setValue(["k": 1] as NSDictionary, forKey: "plain")
            if isSaved {
                try context.save()
                context.refresh(picture, mergeChanges: false)
            }
            #expect(NSPredicate(format: "shade == %@", Shade(3)).evaluate(with: picture))
            #expect(!NSPredicate(format: "shade == %@", Shade(4)).evaluate(with: picture))
            #expect(NSPredicate(format: "words CONTAINS 'a'").evaluate(with: picture))
            #expect(NSPredicate(format: "ANY words BEGINSWITH 'b'").evaluate(with: picture))
            #expect(NSPredicate(format: "words.@count == 2").evaluate(with: picture))
            #expect(!NSPredicate(format: "'c' IN words").evaluate(with: picture))
            #expect(NSPredicate(format: "plain.k == 1").evaluate(with: picture))
            #expect(NSPredicate(format: "plain == %@", ["k": 1] as NSDictionary).evaluate(with: picture))
        }
    }

    @Test(arguments: ["words == 'a b'", "words CONTAINS 'a'", "words IN {'a'}", "plain > 3", "shade == name"])
    func aStoreComparesTransformableValuesWithNilOnly(_ format: String) throws {
        let context = try Gallery.context()
        try context.performAndWait {
            Picture.inserted("one", context).setValue(["a", "b"], forKey: "words")
            try context.save()
            #expect(Depot.code { _ = try context.fetch(Depot.request("Picture", format)) } == 134_070)
            #expect(try context.count(for: Depot.request("Picture", "words != nil AND shade == nil")) == 1)
        }
    }

    @Test func dictionariesHoldTransformableValues() throws {
        let context = try Gallery.context()
        try context.performAndWait {
            let picture = Picture.inserted("one", context)
            picture.setValue(Shade(3), forKey: "shade")
            picture.setValue(["a", "b"], forKey: "words")
            try context.save()
            let request = NSFetchRequest<NSDictionary>(entityName: "Picture")
            request.resultType = .dictionaryResultType
            let values = try #require(try context.fetch(request).first)
            #expect(values["shade"] as? Shade == Shade(3))
            #expect(values["words"] as? [String] == ["a", "b"])
            #expect(values["plain"] == nil)
        }
    }

    @Test func transientTransformableValuesStayInMemory() throws {
        let context = try Gallery.context()
        try context.performAndWait {
            let picture = Picture.inserted("one", context)
            let anything = NSObject()
            picture.setValue(anything, forKey: "cached")
            picture.setValue(anything, forKey: "preview")
            #expect(picture.value(forKey: "cached") as AnyObject? === anything)
            try context.save()
            #expect(picture.value(forKey: "cached") as AnyObject? === anything)
            #expect(picture.value(forKey: "preview") as AnyObject? === anything)
            context.refresh(picture, mergeChanges: false)
            #expect(picture.value(forKey: "cached") == nil)
            #expect(picture.value(forKey: "name") as? String == "one")
            picture.setValue(anything, forKey: "cached")
            #expect(picture.hasChanges)
            #expect(!picture.hasPersistentChangedValues)
            #expect(picture.changedValues().isEmpty)
        }
    }

    @Test func transformersAreFoundByName() throws {
        ValueTransformer.setValueTransformer(WordsTransformer(), forName: NSValueTransformerName("Words"))
        let words = try #require(ValueTransformer(forName: NSValueTransformerName("Words")))
        #expect(words is WordsTransformer)
        #expect(words.transformedValue(["a", "b"]) as? Data == Data("a b".utf8))
        #expect(words.reverseTransformedValue(Data("a b".utf8)) as? [String] == ["a", "b"])
        #expect(ValueTransformer(forName: NSValueTransformerName("an unregistered name")) == nil)
        #expect(ValueTransformer.valueTransformerNames().contains(NSValueTransformerName("Words")))
        let not = try #require(ValueTransformer(forName: .negateBooleanTransformerName))
        #expect(not.transformedValue(true) as? Bool == false)
        let secure = try #require(ValueTransformer(forName: .secureUnarchiveFromDataTransformerName))
        let data = try #require(secure.reverseTransformedValue(["x"] as NSArray) as? Data)
        #expect(secure.transformedValue(data) as? [String] == ["x"])
        #expect(secure.transformedValue(Data([1, 2, 3])) == nil)
        #expect(ShadeTransformer().transformedValue(ShadeTransformer().reverseTransformedValue(Shade(2))) as? Shade == Shade(2))
        #expect(Gallery.model.entitiesByName["Picture"]?.attributesByName["shade"]?.valueTransformerName == "Shades")
    }
}
