// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import ArgumentParser
import CoreData
import Foundation
import TarnCommands

/// The other device: prints a line when remote changes arrived. Its environment has the address of the server.
struct DeviceProgram: ParsableCommand {
    static let configuration = CommandConfiguration(commandName: "device", shouldDisplay: false)

    @Argument var folder: String
    @Option(help: "Print a line when the store has that many objects of this entity.") var count: Int?
    @Option var entity = "Post"
    @Option(help: "Read this property of each, so that it is really there.") var reading: String?

    func run() throws {
        ParentProcess.exitWhenGone()
        let container = try MirroredModel.container(in: URL(fileURLWithPath: folder))
        if let count {
            let work = self
            Task { try await work.waitForAll(count, in: container) }
            RunLoop.main.run()
        } else {
            tellEach(in: container)
        }
    }

    /// Prints the time at which all were there. Counting takes time of its own: when nothing more comes is soon enough.
    private func waitForAll(_ count: Int, in container: NSPersistentCloudKitContainer) async throws {
        let context = container.newBackgroundContext()
        let (entity, reading) = (entity, reading)
        let (imports, signal) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
        let observer = NotificationCenter.default.addObserver(
            forName: NSPersistentCloudKitContainer.eventChangedNotification, object: container, queue: nil
        ) { _ in signal.yield() }
        defer { NotificationCenter.default.removeObserver(observer) }
        for await _ in imports {
            try await container.sync(timeout: .seconds(3600))
            let end = MirroredModel.now
            let isComplete = context.performAndWait {
                let request = NSFetchRequest<NSManagedObject>(entityName: entity)
                guard (try? context.count(for: request)) == count else { return false }
                guard let reading else { return true }
                let all = (try? context.fetch(request)) ?? []
                defer { context.reset() }
                return all.allSatisfy { $0.value(forKey: reading) != nil }
            }
            if isComplete { return Program.tell("\(end)") }
        }
    }

    /// Prints a line when it is ready, and for each object that appears in the view context the time.
    private func tellEach(in container: NSPersistentCloudKitContainer) {
        let entity = entity
        let observer = NotificationCenter.default.addObserver(
            forName: NSManagedObjectContext.didChangeObjectsNotification, object: container.viewContext, queue: nil
        ) { notification in
            let inserted = notification.userInfo?[NSInsertedObjectsKey] as? Set<NSManagedObject> ?? []
            for object in inserted where object.entity.name == entity && object.value(forKey: "title") != nil {
                Program.tell("\(MirroredModel.now)")
            }
        }
        defer { NotificationCenter.default.removeObserver(observer) }
        Program.tell("ready")
        RunLoop.main.run()
    }
}
