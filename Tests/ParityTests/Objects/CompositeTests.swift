// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Testing

/// A place has an address, which has a position.
final class Place: NSManagedObject {}

@Suite("Composite attributes")
struct CompositeTests {
    private struct Shared: @unchecked Sendable {
        // Unchecked: models are constant once they are used.
        let model: NSManagedObjectModel
    }

    private static let shared = Shared(model: makeModel())

    private static func makeModel() -> NSManagedObjectModel {
        let position = NSCompositeAttributeDescription()
        position.name = "position"
        position.isOptional = true
        position.elements = [Library.attribute("latitude", .doubleAttributeType), Library.attribute("longitude", .doubleAttributeType)]
        let address = NSCompositeAttributeDescription()
        address.name = "address"
        address.isOptional = true
        address.elements = [Library.attribute("street", .stringAttributeType), Library.attribute("city", .stringAttributeType), position]
        let place = Library.entity("Place", Place.self)
        place.properties = [Library.attribute("name", .stringAttributeType), address]
        let model = NSManagedObjectModel()
        model.entities = [place]
        return model
    }

    private func container() throws -> NSPersistentContainer {
        try Music.loaded(NSPersistentContainer(name: "Places", managedObjectModel: Self.shared.model), at: nil)
    }

    @Test func compositeValuesRoundTripThroughADictionary() throws {
        let container = try container()
        let context = container.newBackgroundContext()
        let id = try context.performAndWait {
            let place = Place.inserted("home", context)
            #expect(place.value(forKey: "address") == nil)
            place.setValue(["street": "Main", "city": "Bern", "position": ["latitude": 46.9, "longitude": 7.4]], forKey: "address")
            #expect(place.value(forKeyPath: "address.city") as? String == "Bern")
            try context.save()
            return place.objectID
        }
        let other = container.newBackgroundContext()
        try other.performAndWait {
            let place = other.object(with: id)
            let address = try #require(place.value(forKey: "address") as? [String: Any])
            #expect(address["street"] as? String == "Main")
            #expect(address["city"] as? String == "Bern")
            #expect((address["position"] as? [String: Any])?["latitude"] as? Double == 46.9)
            #expect(place.value(forKeyPath: "address.position.longitude") as? Double == 7.4)
            place.setValue("Basel", forKeyPath: "address.city")
            #expect(place.changedValues().keys.sorted() == ["address"])
            #expect((place.committedValues(forKeys: ["address"])["address"] as? [String: Any])?["city"] as? String == "Bern")
            try other.save()
            other.refresh(place, mergeChanges: false)
            #expect(place.value(forKeyPath: "address.city") as? String == "Basel")
            #expect(place.value(forKeyPath: "address.street") as? String == "Main")
            place.setValue(nil, forKey: "address")
            try other.save()
            other.refresh(place, mergeChanges: false)
            #expect(place.value(forKey: "address") == nil)
        }
    }

    @Test(arguments: [
        ("address.city == 'Bern'", ["a", "c"]), ("address.city BEGINSWITH 'B'", ["a", "b", "c"]),
        ("address.position.latitude > 46.5", ["b", "c"]), ("address.street == nil", ["d"]), ("address.position.latitude == nil", ["d"]),
        ("address.city == 'Bern' AND address.position.latitude < 47", ["a"]),
    ])
    func predicatesAndSortDescriptorsReachLeaves(_ format: String, _ names: [String]) throws {
        let context = try container().newBackgroundContext()
        try context.performAndWait {
            for (name, city, latitude) in [("a", "Bern", 46.0), ("b", "Basel", 47.5), ("c", "Bern", 47.1)] {
                let place = Place.inserted(name, context)
                place.setValue(["street": name, "city": city, "position": ["latitude": latitude]], forKey: "address")
            }
            _ = Place.inserted("d", context)
            let request = NSFetchRequest<Place>(entityName: "Place")
            request.predicate = NSPredicate(format: format)
            #expect(try context.fetch(request).compactMap(\.nameValue).sorted() == names)
            try context.save()
            #expect(try context.fetch(request).compactMap(\.nameValue).sorted() == names)
            #expect(try context.count(for: request) == names.count)
            request.predicate = NSPredicate(format: "address.city != nil")
            request.sortDescriptors = [NSSortDescriptor(key: "address.position.latitude", ascending: false)]
            #expect(try context.fetch(request).compactMap(\.nameValue) == ["b", "c", "a"])
        }
    }

    @Test func dictionariesHoldCompositesAndTheirLeaves() throws {
        let context = try container().newBackgroundContext()
        try context.performAndWait {
            let address: [String: Any] = ["city": "Bern", "position": ["latitude": 46.9, "longitude": 7.4]]
            Place.inserted("home", context).setValue(address, forKey: "address")
            try context.save()
            let request = NSFetchRequest<NSDictionary>(entityName: "Place")
            request.resultType = .dictionaryResultType
            let all = try #require(try context.fetch(request).first)
            #expect(all["name"] as? String == "home")
            let fetched = try #require(all["address"] as? [String: Any])
            #expect(fetched["city"] as? String == "Bern")
            #expect(fetched["street"] == nil)
            #expect(fetched["position"] as? [String: Double] == ["latitude": 46.9, "longitude": 7.4])
            request.propertiesToFetch = ["address.city", "address.position"]
            let parts = try #require(try context.fetch(request).first)
            #expect(parts["address.city"] as? String == "Bern")
            #expect(parts["address.position"] as? [String: Double] == ["latitude": 46.9, "longitude": 7.4])
            request.propertiesToFetch = ["address.nothing"]
            #expect(Depot.code { _ = try context.fetch(request) } == 134_070)
        }
    }

    /// The address of each place by name, as stored.
    private func addresses(_ context: NSManagedObjectContext) throws -> [String: [String: Any]] {
        context.reset()
        let places = try context.fetch(NSFetchRequest<Place>(entityName: "Place"))
        return Dictionary(uniqueKeysWithValues: places.map { ($0.nameValue ?? "", $0.value(forKey: "address") as? [String: Any] ?? [:]) })
    }

    /// A leaf that a dictionary lacks is nil; one that is named itself overrides its composite.
    @Test func batchUpdatesSetCompositesAndLeaves() throws {
        let context = try container().newBackgroundContext()
        try context.performAndWait {
            Place.inserted("home", context).setValue(["street": "Main", "city": "Bern", "position": ["latitude": 46.9]], forKey: "address")
            try context.save()
            let request = NSBatchUpdateRequest(entityName: "Place")
            request.propertiesToUpdate = [
                "address": ["city": "Basel", "position": ["longitude": 7.4]] as [String: Any], "address.position.latitude": 47.5,
            ]
            _ = try context.execute(request)
            let address = try addresses(context)["home"]
            #expect(address?["city"] as? String == "Basel")
            #expect(address?["street"] == nil)
            #expect(address?["position"] as? [String: Double] == ["latitude": 47.5, "longitude": 7.4])
            request.propertiesToUpdate = ["address": NSNull()]
            _ = try context.execute(request)
            #expect(try addresses(context)["home"]?.isEmpty == true)
        }
    }

    @Test func batchInsertsSetComposites() throws {
        let context = try container().newBackgroundContext()
        try context.performAndWait {
            let rows: [[String: Any]] = [
                ["name": "a", "address": ["city": "Bern", "position": ["latitude": 46.9]] as [String: Any]],
                ["name": "b", "address.city": "Basel"],
                ["name": "c", "address": NSNull()],
            ]
            _ = try context.execute(NSBatchInsertRequest(entityName: "Place", objects: rows))
            var isDone = false
            let handler = NSBatchInsertRequest(
                entityName: "Place",
                managedObjectHandler: { place in
                    defer { isDone = true }
                    place.setValue("d", forKey: "name")
                    place.setValue(["city": "Chur"], forKey: "address")
                    return isDone
                })
            _ = try context.execute(handler)
            let stored = try addresses(context)
            #expect(stored.mapValues { $0["city"] as? String } == ["a": "Bern", "b": "Basel", "c": nil, "d": "Chur"])
            #expect(stored["a"]?["position"] as? [String: Double] == ["latitude": 46.9])
        }
    }

    @Test(arguments: 0..<3) func batchesRefuseOtherValuesOfComposites(_ index: Int) throws {
        let values: [Any] = ["Bern", ["town": "Bern"], ["position": 3]]
        let value = values[index]
        let context = try container().newBackgroundContext()
        context.performAndWait {
            let update = NSBatchUpdateRequest(entityName: "Place")
            update.propertiesToUpdate = ["address": value]
            #expect(Depot.code { _ = try context.execute(update) } == 134_070)
            let insertion = NSBatchInsertRequest(entityName: "Place", objects: [["name": "a", "address": value]])
            #expect(Depot.code { _ = try context.execute(insertion) } == 134_070)
        }
    }

    @Test func compositeDescriptionsNameTheirElements() {
        let address = Self.shared.model.entitiesByName["Place"]?.attributesByName["address"] as? NSCompositeAttributeDescription
        #expect(address?.attributeType == .compositeAttributeType)
        #expect(address?.elements.map(\.name) == ["street", "city", "position"])
        #expect((address?.elements.last as? NSCompositeAttributeDescription)?.elements.count == 2)
    }
}
