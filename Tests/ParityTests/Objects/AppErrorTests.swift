// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// A ticket whose class has a rule of its own, with an error of the app's.
final class Ticket: NSManagedObject {
    override func validateForInsert() throws {
        try super.validateForInsert()
        let seat = value(forKey: "seat") as? String
        let taken = NSError(domain: "Tickets", code: 7, userInfo: [NSLocalizedDescriptionKey: "The seat is taken."])
        if seat == "taken" { throw taken }
        guard seat == "taken twice" else { return }
        // As the guide's own example combines errors.
        throw NSError(domain: NSCocoaErrorDomain, code: NSValidationMultipleErrorsError, userInfo: [NSDetailedErrorsKey: [taken, taken]])
    }
}

/// Errors of an app's validation methods.
///
/// Source: Core Data Programming Guide, "Object Validation" (combining validation errors).
@Suite struct AppErrorTests {
    private struct Shared: @unchecked Sendable {
        // Unchecked: models are constant once they are used.
        let model: NSManagedObjectModel
    }

    private static let shared = Shared(
        model: {
            let ticket = Library.entity("Ticket", Ticket.self)
            ticket.properties = [Library.attribute("seat", .stringAttributeType, isOptional: false)]
            let model = NSManagedObjectModel()
            model.entities = [ticket]
            return model
        }())

    private func context() throws -> NSManagedObjectContext {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Self.shared.model)
        try coordinator.addPersistentStore(ofType: NSInMemoryStoreType, configurationName: nil, at: nil, options: nil)
        return Depot.context(over: coordinator)
    }

    private func failure(_ context: NSManagedObjectContext) -> NSError? {
        do { try context.save() } catch { return error as NSError }
        return nil
    }

    @Test func aSingleErrorOfAnAppIsTheErrorOfTheSave() throws {
        let context = try context()
        try context.performAndWait {
            Depot.insert("Ticket", ["seat": "taken"], into: context)
            Depot.insert("Ticket", ["seat": "1A"], into: context)
            let error = try #require(failure(context))
            #expect(error.domain == "Tickets")
            #expect(error.code == 7)
            #expect(context.insertedObjects.count == 2)
        }
    }

    @Test func errorsThatAnAppCombinedAreListedOneByOne() throws {
        let context = try context()
        try context.performAndWait {
            Depot.insert("Ticket", ["seat": "taken"], into: context)
            Depot.insert("Ticket", ["seat": "taken twice"], into: context)
            let error = try #require(failure(context))
            let details = try #require(error.userInfo[NSDetailedErrorsKey] as? [NSError])
            #expect(details.map(\.code) == [7, 7, 7])
        }
    }

    @Test func errorsOfAnAppAndOfTheModelAreListedTogether() throws {
        let context = try context()
        try context.performAndWait {
            let tickets = ["taken", nil, "1A", "taken"].map { seat in
                let ticket = Depot.insert("Ticket", [:], into: context)
                ticket.setValue(seat, forKey: "seat")
                return ticket
            }
            let error = try #require(failure(context))
            #expect(error.domain == NSCocoaErrorDomain)
            #expect(error.code == NSValidationMultipleErrorsError)
            let details = try #require(error.userInfo[NSDetailedErrorsKey] as? [NSError])
            #expect(details.map(\.code).sorted() == [7, 7, NSValidationMissingMandatoryPropertyError])
            #expect(details.filter { $0.domain == "Tickets" }.map(\.localizedDescription) == ["The seat is taken.", "The seat is taken."])
            let missing = details.first { $0.code == NSValidationMissingMandatoryPropertyError }
            #expect(missing?.userInfo[NSValidationObjectErrorKey] as? NSManagedObject === tickets[1])
            for (row, ticket) in tickets.enumerated() { ticket.setValue("2\(row)", forKey: "seat") }
            #expect(failure(context) == nil)
        }
    }
}
