// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import GRDBSQLite
import ManagedModel
import ObjectGraph
import PredicateKit
import Testing

/// Opening a store in code without its model.
@Suite struct DerivedModelTests {
    private func withStore(_ body: (URL) throws -> Void) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "derived-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        var secret = Attribute(name: "secret", type: .transformable)
        secret.valueTransformerName = "AppsOwnTransformer"
        let owner = Entity(
            name: "Owner", className: "AppsOwnClass", attributes: [Attribute(name: "name", type: .string)],
            relationships: [Relationship(name: "cars", destination: "Car", inverse: "owner", isToMany: true)])
        let car = Entity(
            name: "Car", attributes: [Attribute(name: "numberPlate", type: .string), secret],
            relationships: [Relationship(name: "owner", destination: "Owner", inverse: "cars")])
        let url = folder.appending(path: "cars.sqlite")
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: NSManagedObjectModel(Model(entities: [owner, car])))
        let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: nil)
        try coordinator.remove(store)
        var database: OpaquePointer?
        defer { sqlite3_close_v2(database) }
        let sql = """
            INSERT INTO ZOWNER (Z_PK, Z_ENT, Z_OPT, ZNAME) VALUES (1, 2, 1, 'Ada');
            INSERT INTO ZCAR (Z_PK, Z_ENT, Z_OPT, ZOWNER, ZNUMBERPLATE, ZSECRET) VALUES (1, 1, 1, 1, 'A 1', x'0102');
            UPDATE Z_PRIMARYKEY SET Z_MAX = 1 WHERE Z_ENT < 3;
            """
        #expect(sqlite3_open(url.path, &database) == SQLITE_OK)
        #expect(sqlite3_exec(database, sql, nil, nil, nil) == SQLITE_OK)
        sqlite3_close_v2(database)
        database = nil
        try body(url)
    }

    @Test func aStoreOpensWithTheModelThatIsDerivedFromIt() throws {
        try withStore { url in
            let model = try NSManagedObjectModel(derivedFromStoreAt: url)
            #expect(model.entitiesByName["Owner"]?.managedObjectClassName == "NSManagedObject")
            #expect(model.entitiesByName["Car"]?.attributesByName["secret"]?.attributeType == .binaryDataAttributeType)
            let coordinator = NSPersistentStoreCoordinator(managedObjectModel: model)
            let options = [NSReadOnlyPersistentStoreOption: true]
            let store = try coordinator.addPersistentStore(ofType: NSSQLiteStoreType, configurationName: nil, at: url, options: options)
            let context = NSManagedObjectContext(concurrencyType: .privateQueueConcurrencyType)
            context.persistentStoreCoordinator = coordinator
            try context.performAndWait {
                let request = NSFetchRequest<NSManagedObject>(entityName: "Car")
                request.predicate = NSPredicate(format: "owner.name == 'Ada'")
                let car = try #require(try context.fetch(request).first)
                #expect(car.value(forKey: "numberPlate") as? String == "A 1")
                #expect(car.value(forKey: "secret") as? Data == Data([1, 2]))
                let owner = try #require(car.value(forKey: "owner") as? NSManagedObject)
                #expect((owner.value(forKey: "cars") as? Set<NSManagedObject>)?.contains(car) == true)
            }
            try coordinator.remove(store)
        }
    }

    @Test func aFileOtherThanAStoreIsRejected() throws {
        try withStore { url in
            let nothing = url.deletingLastPathComponent().appending(path: "nothing.sqlite")
            #expect(throws: CocoaError.self) { try NSManagedObjectModel(derivedFromStoreAt: nothing) }
            try Data("text".utf8).write(to: nothing)
            let error = #expect(throws: CocoaError.self) { try NSManagedObjectModel(derivedFromStoreAt: nothing) }
            #expect(error?.code == .fileReadCorruptFile)
        }
    }
}
