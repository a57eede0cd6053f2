// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CoreData
import Foundation

/// B2: a gigabyte in one attribute, and its cost in a device's memory. P1: a query that lists make for every line.
extension Mirroring {
    static func values(_ stage: CloudStage, bytes: Int) -> [Work] {
        ["": "plain", "E": "sealed"].sorted { $0.key < $1.key }.flatMap { suffix, attribute in
            [
                memory(stage, "B2S" + suffix, "send \(bytes >> 20) MiB in an attribute, \(attribute)", bytes, attribute, isSending: true),
                memory(stage, "B2F" + suffix, "fetch \(bytes >> 20) MiB in an attribute, \(attribute)", bytes, attribute, isSending: false),
            ]
        }
    }

    /// The growth of this process while it sends a save, or fetches another device's.
    private static func memory(
        _ stage: CloudStage, _ id: String, _ title: String, _ bytes: Int, _ attribute: String, isSending: Bool
    ) -> Work {
        let tarn = Entrant(Entrant.tarn) {
            let home = try Home(stage, "values-\(id)")
            try home.sync()
            home.container.pauseSyncing()
            let source = try Files.source(stage, bytes)
            try home.save { context in
                let film = NSEntityDescription.insertNewObject(forEntityName: "Film", into: context)
                film.setValue(try? Data(contentsOf: source, options: .alwaysMapped), forKey: attribute)
            }
            func send() throws {
                home.container.resumeSyncing()
                try home.sync()
            }
            if !isSending { try send() }
            return Trial {
                let held = Program.memory("VmRSS", of: "self")
                Program.forgetPeak(of: "self")
                if isSending { try send() } else { try fetch(try stage.newFolder()) }
                return Outcome(check: bytes, measured: max(0, Program.memory("VmHWM", of: "self") - held) / 1e6)
            } finish: {
                try home.close()
            }
        }
        return Work(id: id, title: title, unit: .own("MB"), roundsMax: 1, warmsUp: false, entrants: [tarn])
    }

    private static func fetch(_ folder: URL) throws {
        let container = try MirroredModel.container(in: folder)
        try blocking { try await container.sync(timeout: .seconds(600)) }
        let context = container.newBackgroundContext()
        let count = try context.performAndWait { try context.count(for: NSFetchRequest<NSManagedObject>(entityName: "Film")) }
        guard count == 1 else { throw CheckFailure(description: "the film has not come") }
        let coordinator = container.persistentStoreCoordinator
        for store in coordinator.persistentStores { try coordinator.remove(store) }
    }

    static func permissions(_ stage: CloudStage) -> Work {
        let (count, calls) = (1_000, 1_000_000)
        let tarn = Entrant(Entrant.tarn) {
            let home = try Home(stage, "permissions")
            let container = try MirroredModel.container(in: try stage.newFolder(), isPublic: true)
            let context = container.newBackgroundContext()
            let ids = try context.performAndWait {
                let posts = (0..<count).map { _ in NSEntityDescription.insertNewObject(forEntityName: "Post", into: context) }
                for post in posts { post.setValue("Post", forKey: "title") }
                try context.save()
                return posts.map(\.objectID)
            }
            try blocking { try await container.sync(timeout: .seconds(60)) }
            // Looked up once, as a list does that is shown.
            for id in ids { _ = container.canUpdateRecord(forManagedObjectWith: id) }
            return Trial {
                var allowed = 0
                for index in 0..<calls where container.canUpdateRecord(forManagedObjectWith: ids[index % count]) { allowed += 1 }
                return Outcome(check: allowed)
            } finish: {
                let coordinator = container.persistentStoreCoordinator
                for store in coordinator.persistentStores { try coordinator.remove(store) }
                try home.close()
            }
        }
        return Work(
            id: "P1", title: "whether a public object can be changed", unit: .nanoseconds(each: calls), roundsMax: 3, entrants: [tarn])
    }
}
