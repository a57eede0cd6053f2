// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import Foundation
import ObjectGraph
import Testing

/// The cost of saves and fetches, in machine-independent counts.
@Suite struct SaveCostTests {
    private static let frameSize: Int64 = 4096 + 24

    private static func logSize(_ url: URL) throws -> Int64 {
        let attributes = try FileManager.default.attributesOfItem(atPath: url.path + "-wal")
        return (attributes[.size] as? NSNumber)?.int64Value ?? 0
    }

    /// A commit writes each page that it changed once to the log: a second commit would write the page of keys again.
    @Test(arguments: [(history: false, pagesMax: 3), (history: true, pagesMax: 7)])
    func aSaveOfOneObjectIsOneCommit(history: Bool, pagesMax: Int64) throws {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("tarn-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let url = folder.appendingPathComponent("costs.sqlite")
        let container = try Library.container(at: url, tracksHistory: history)
        let context = container.newBackgroundContext()
        try context.performAndWait {
            for round in 0..<4 {
                let note = NSEntityDescription.insertNewObject(forEntityName: "Note", into: context)
                note.setValue("note \(round)", forKey: "text")
                let before = try Self.logSize(url)
                try context.save()
                // The first save also writes pages that are written once per process.
                guard round > 0 else { continue }
                let frames = (try Self.logSize(url) - before) / Self.frameSize
                #expect(frames >= 1, "round \(round): \(frames) frames")
                #expect(frames <= pagesMax, "round \(round): \(frames) frames")
            }
        }
    }

    @Test func fetchingIDsMakesNoObjects() throws {
        let container = try Library.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            for index in 0..<50 {
                NSEntityDescription.insertNewObject(forEntityName: "Note", into: context).setValue("\(index)", forKey: "text")
            }
            try context.save()
            context.reset()
            let request = NSFetchRequest<NSManagedObjectID>(entityName: "Note")
            request.resultType = .managedObjectIDResultType
            let ids = try context.fetch(request)
            #expect(ids.count == 50)
            #expect(ids.allSatisfy { !$0.isTemporaryID })
            #expect(context.registeredObjects.isEmpty)
        }
    }

    /// A context retains no unchanged object, however many it fetched.
    @Test func unreferencedObjectsLeaveTheContext() throws {
        let container = try Library.container()
        let context = container.newBackgroundContext()
        try context.performAndWait {
            for index in 0..<500 {
                NSEntityDescription.insertNewObject(forEntityName: "Note", into: context).setValue("\(index)", forKey: "text")
            }
            try context.save()
            #expect(context.registeredObjects.isEmpty)
            var kept = Array(try context.fetch(NSFetchRequest<NSManagedObject>(entityName: "Note")).prefix(3))
            #expect(context.registeredObjects.count == 3)
            #expect(kept.allSatisfy { context.registeredObject(for: $0.objectID) === $0 })
            kept = []
            #expect(context.registeredObjects.isEmpty)
        }
    }
}
