// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation
import TarnMirror
import TestBasics
import Testing

/// The code of the guide on apps for Apple's platforms.
@Suite(.closesFixtures) struct MirrorGuideTests {
    @Test func theStackOfTheGuideLoadsAndStops() async throws {
        let folder = TestScope.temporaryFolder()
        let stack = try NotesStack(url: folder.appendingPathComponent("Notes.sqlite"), token: "token", model: NotesStack.model)
        #expect(stack.mirror.status.activity == .stopped)
        #expect(try await stack.losingValues().isEmpty)
        await stack.mirror.stop()
        let coordinator = stack.container.persistentStoreCoordinator
        for store in coordinator.persistentStores { try coordinator.remove(store) }
    }
}

extension NotesStack {
    fileprivate static var model: NSManagedObjectModel {
        let text = NSAttributeDescription()
        text.name = "text"
        text.attributeType = .stringAttributeType
        let note = NSEntityDescription()
        note.name = "Note"
        note.properties = [text]
        let model = NSManagedObjectModel()
        model.entities = [note]
        return model
    }
}

struct NotesStack {
    let container: NSPersistentContainer
    let mirror: TarnMirror

    init(url: URL, token: String, model: NSManagedObjectModel) throws {
        container = NSPersistentContainer(name: "Notes", managedObjectModel: model)
        let description = NSPersistentStoreDescription(url: url)
        description.setOption(NSNumber(value: true), forKey: NSPersistentHistoryTrackingKey)
        description.setOption(NSNumber(value: true), forKey: NSPersistentStoreRemoteChangeNotificationPostOptionKey)
        container.persistentStoreDescriptions = [description]
        var failure: (any Error)?
        container.loadPersistentStores { _, error in failure = error }
        if let failure { throw failure }
        mirror = try TarnMirror(
            container: container,
            options: TarnMirror.Options(
                containerIdentifier: "iCloud.org.example.notes", server: "https://cloud.example.org", token: token))
    }
}

extension NotesStack {
    /// Called when the app becomes active, and in a background task.
    func refresh() async -> String {
        do {
            try await mirror.sync(timeout: .seconds(30))
            return "up to date"
        } catch let failure as TarnMirror.Failure {
            return failure.reason
        } catch {
            return "cancelled"
        }
    }
}

extension NotesStack {
    /// The edits of this device and of others that lost against later ones.
    func losingValues() async throws -> [String] {
        try await mirror.conflicts().map { conflict in
            "\(conflict.entityName).\(conflict.propertyName): \(conflict.losingValue ?? "cleared")"
        }
    }

    /// Restores a value that the user chose, which is sent like any other change.
    func restore(_ conflict: TarnMirror.Conflict) async throws {
        try await container.performBackgroundTask { [mirror] context in
            try mirror.restoreLosingValue(of: conflict, in: context)
            try context.save()
        }
        try await mirror.forgetConflicts([conflict])
    }
}
