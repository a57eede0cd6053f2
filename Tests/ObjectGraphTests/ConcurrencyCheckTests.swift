// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import Synchronization
import Testing

@testable import ObjectGraph

/// Uses of a context off its queue.
@Suite struct ConcurrencyCheckTests {
    @Test func usesOffTheQueueAreNotCheckedByDefault() throws {
        let container = try Library.container()
        let context = container.newBackgroundContext()
        let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
        note.setValue("off the queue", forKey: "text")
        try context.save()
        #expect(try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note")) == 1)
        context.delete(note)
        #expect(context.deletedObjects == [note])
        context.processPendingChanges()
        try context.save()
        #expect(try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note")).isEmpty)
    }

    /// The queue of the context does not process changes that are made off it.
    @Test func usesOffTheQueueAreReportedByTheNextFetchSaveOrProcessing() throws {
        let container = try Library.container()
        let context = container.newBackgroundContext()
        let reports = Mutex(0)
        let name = NSManagedObjectContext.didChangeObjectsNotification
        let observer = NotificationCenter.default.addObserver(forName: name, object: context, queue: nil) { _ in
            reports.withLock { $0 += 1 }
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        let ends: [() throws -> Void] = [
            context.processPendingChanges, { _ = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note")) }, context.save,
        ]
        for (number, end) in ends.enumerated() {
            let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
            note.setValue("off the queue", forKey: "text")
            #expect(reports.withLock { $0 } == number)
            try end()
            #expect(reports.withLock { $0 } == number + 1)
        }
    }

    @Test func useOffTheQueueTrapsIfEnabled() async throws {
        let result = await #expect(processExitsWith: .failure, observing: [\.standardErrorContent]) {
            let container = try Library.container()
            NSManagedObjectContext.concurrencyChecks = .trap
            let context = container.newBackgroundContext()
            context.name = "importer"
            context.performAndWait { _ = context.registeredObjects }
            _ = try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note"))
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        #expect(
            text.contains(
                "CoreData: The context 'importer' or one of its objects was used off the context's private queue; wrap the call in perform or performAndWait."
            ))
    }

    @Test func usesOffTheQueueAreLogged() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let container = try Library.container()
            NSManagedObjectContext.concurrencyChecks = .log
            let context = container.newBackgroundContext()
            for _ in 0..<200 { _ = try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Note")) }
            exit(0)
        }
        let text = String(decoding: result?.standardErrorContent ?? [], as: UTF8.self)
        let lines = text.split(separator: "\n").filter { $0.hasPrefix("CoreData: A context or one of its objects was used off") }
        #expect(lines.count == 100)
    }

    @Test(arguments: [
        (["TARN_CONCURRENCY_DEBUG": "log"], ["app", "-com.apple.CoreData.ConcurrencyDebug", "1"], ConcurrencyChecks.log),
        ([:], ["app", "-com.apple.CoreData.ConcurrencyDebug", "1"], .trap),
        ([:], ["app", "-com.apple.CoreData.ConcurrencyDebug", "0"], .ignore),
        ([:], ["app", "-com.apple.CoreData.ConcurrencyDebug"], .ignore),
        (["TARN_CONCURRENCY_DEBUG": "trap"], ["app"], .trap),
        ([:], ["app"], .ignore),
    ])
    func theSettingComesFromTheEnvironmentAndTheArguments(
        _ environment: [String: String], _ arguments: [String], _ checks: ConcurrencyChecks
    ) {
        #expect(ConcurrencySetting.atLaunch(environment, arguments) == checks)
    }
}
