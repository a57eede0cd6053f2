// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import Testing

/// The methods that a context calls on an object as it is inserted, fetched, validated, saved, faulted and deleted.
///
/// Source: developer.apple.com/documentation/coredata/nsmanagedobject
@Suite @MainActor struct ObjectEventTests {
    private func context() throws -> NSManagedObjectContext {
        let coordinator = NSPersistentStoreCoordinator(managedObjectModel: Visit.model)
        try coordinator.addPersistentStore(
            ofType: NSSQLiteStoreType, configurationName: nil, at: URL(fileURLWithPath: "/dev/null"), options: nil)
        let context = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
        context.persistentStoreCoordinator = coordinator
        return context
    }

    private func visit(_ place: String, in context: NSManagedObjectContext) -> Visit {
        let visit = Visit(context: context)
        visit.setValue(place, forKey: "place")
        return visit
    }

    @Test func aSaveCallsWillSaveThenValidationThenDidSave() throws {
        let context = try context()
        let visit = visit("Rome", in: context)
        #expect(visit.take() == ["awakeFromInsert"])
        try context.save()
        #expect(visit.take() == ["willSave", "validateForInsert", "didSave"])
        visit.setValue("Oslo", forKey: "place")
        try context.save()
        #expect(visit.take() == ["willSave", "validateForUpdate", "didSave"])
        context.delete(visit)
        #expect(visit.take() == ["prepareForDeletion"])
        try context.save()
        #expect(visit.take().prefix(3) == ["willSave", "validateForDelete", "didSave"])
    }

    @Test(arguments: ["validateForInsert", "validateForUpdate", "validateForDelete"])
    func anErrorOfAValidationMethodFailsTheSave(_ method: String) throws {
        let context = try context()
        let visit = visit("Rome", in: context)
        if method != "validateForInsert" { try context.save() }
        if method == "validateForUpdate" { visit.setValue("Oslo", forKey: "place") }
        if method == "validateForDelete" { context.delete(visit) }
        visit.refuses = method
        #expect { try context.save() } throws: { ($0 as? Visit.Refusal)?.method == method }
        #expect(context.hasChanges)
        visit.refuses = nil
        try context.save()
        #expect(!context.hasChanges)
    }

    @Test func turningIntoAFaultCallsWillAndDidTurnIntoFault() throws {
        let context = try context()
        let visit = visit("Rome", in: context)
        try context.save()
        _ = visit.take()
        context.refresh(visit, mergeChanges: false)
        #expect(visit.take() == ["willTurnIntoFault, isFault false", "didTurnIntoFault, isFault true"])
        context.refresh(visit, mergeChanges: false)
        #expect(visit.take() == [])
        #expect(visit.value(forKey: "place") as? String == "Rome")
        #expect(visit.take() == ["awakeFromFetch"])
    }

    @Test func snapshotEventsHaveTheirReason() throws {
        let context = try context()
        let undoManager = UndoManager()
        context.undoManager = undoManager
        let visit = visit("Rome", in: context)
        context.processPendingChanges()
        context.undo()
        #expect(visit.takeEvents() == .undoInsertion)
        context.redo()
        try context.save()
        undoManager.removeAllActions()
        _ = visit.takeEvents()

        visit.setValue("Oslo", forKey: "place")
        context.processPendingChanges()
        context.undo()
        #expect(visit.takeEvents() == .undoUpdate)
        context.delete(visit)
        context.processPendingChanges()
        context.undo()
        #expect(visit.takeEvents() == .undoDeletion)
        visit.setValue("Bern", forKey: "place")
        context.rollback()
        #expect(visit.takeEvents() == .rollback)
    }

    @Test func refreshAndMergePoliciesCauseSnapshotEvents() throws {
        let context = try context()
        let visit = visit("Rome", in: context)
        try context.save()
        let other = NSManagedObjectContext(concurrencyType: .mainQueueConcurrencyType)
        other.persistentStoreCoordinator = context.persistentStoreCoordinator
        let same = try other.existingObject(with: visit.objectID)

        same.setValue("Oslo", forKey: "place")
        try other.save()
        context.refresh(visit, mergeChanges: true)
        #expect(visit.value(forKey: "place") as? String == "Oslo")
        #expect(visit.takeEvents() == .refresh)

        same.setValue("Bern", forKey: "place")
        try other.save()
        visit.setValue("Wien", forKey: "place")
        context.mergePolicy = NSMergePolicy.mergeByPropertyStoreTrump
        try context.save()
        #expect(visit.value(forKey: "place") as? String == "Bern")
        #expect(visit.takeEvents().contains(.mergePolicy))
    }
}

/// Records the calls of its life cycle.
final class Visit: NSManagedObject {
    struct Refusal: Error { let method: String }

    private var calls: [String] = []
    private var events: NSSnapshotEventType = []
    /// The validation method that throws.
    var refuses: String?

    /// Returns the calls since the last call of this method.
    func take() -> [String] {
        defer { calls = [] }
        return calls
    }

    func takeEvents() -> NSSnapshotEventType {
        defer { events = [] }
        return events
    }

    override func awakeFromInsert() {
        super.awakeFromInsert()
        calls.append("awakeFromInsert")
    }
    override func awakeFromFetch() {
        super.awakeFromFetch()
        calls.append("awakeFromFetch")
    }
    override func awake(fromSnapshotEvents flags: NSSnapshotEventType) {
        super.awake(fromSnapshotEvents: flags)
        events.formUnion(flags)
    }
    override func willSave() {
        super.willSave()
        calls.append("willSave")
    }
    override func didSave() {
        super.didSave()
        calls.append("didSave")
    }
    override func prepareForDeletion() {
        super.prepareForDeletion()
        calls.append("prepareForDeletion")
    }
    override func willTurnIntoFault() {
        super.willTurnIntoFault()
        calls.append("willTurnIntoFault, isFault \(isFault)")
    }
    override func didTurnIntoFault() {
        super.didTurnIntoFault()
        calls.append("didTurnIntoFault, isFault \(isFault)")
    }
    override func validateForInsert() throws {
        try super.validateForInsert()
        try validate("validateForInsert")
    }
    override func validateForUpdate() throws {
        try super.validateForUpdate()
        try validate("validateForUpdate")
    }
    override func validateForDelete() throws {
        try super.validateForDelete()
        try validate("validateForDelete")
    }

    private func validate(_ method: String) throws {
        calls.append(method)
        if refuses == method { throw Refusal(method: method) }
    }

    private struct Shared: @unchecked Sendable {
        // Unchecked: models are constant once they are used.
        let model: NSManagedObjectModel
    }

    private static let shared: Shared = {
        let visit = Library.entity("Visit", Visit.self)
        visit.properties = [Library.attribute("place", .stringAttributeType)]
        let model = NSManagedObjectModel()
        model.entities = [visit]
        return Shared(model: model)
    }()

    static var model: NSManagedObjectModel { shared.model }
}
