// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKit
import CoreData
import Foundation

/// M1 to M4: two devices with a store each, and a server between them; all three durable.
enum Mirroring {
    static func works(_ stage: CloudStage, large: Bool) -> [Work] {
        [
            export(stage, 100_000), importing(stage, large ? 1_000_000 : 100_000), visible(stage, large ? 1000 : 200),
            pictures(stage, posts: 60, each: 11),
        ]
    }

    /// A user of their own, so that works do not see each other's records, and this device.
    struct Home {
        let token: String
        let address: String
        let folder: URL
        let container: NSPersistentCloudKitContainer

        init(_ stage: CloudStage, _ name: String) throws {
            let server = try stage.tarn("mirroring")
            folder = try stage.newFolder()
            token = try server.newUser("\(name)-\(folder.lastPathComponent)")
            address = server.address
            CKContainer.configure(CKContainer.Configuration(server: address, token: .init(token)))
            container = try MirroredModel.container(in: folder)
        }

        func save(_ insert: @escaping @Sendable (NSManagedObjectContext) -> Void) throws {
            let context = container.newBackgroundContext()
            try context.performAndWait {
                insert(context)
                try context.save()
            }
        }

        /// Waits until everything that was saved is durable on the server.
        func sync() throws {
            let container = container
            try blocking { try await container.sync(timeout: .seconds(600)) }
        }

        func otherDevice(_ stage: CloudStage, _ arguments: [String]) throws -> Program {
            let folder = try stage.newFolder()
            return try Program(
                CommandLine.arguments[0], ["device", folder.path] + arguments, environment: ["TARN_SERVER": address, "TARN_TOKEN": token],
                log: folder.appendingPathComponent("log"))
        }

        func close() throws {
            let coordinator = container.persistentStoreCoordinator
            for store in coordinator.persistentStores { try coordinator.remove(store) }
        }
    }

    private static func export(_ stage: CloudStage, _ count: Int) -> Work {
        let tarn = Entrant(Entrant.tarn) {
            let home = try Home(stage, "export")
            try home.sync()
            return Trial {
                try home.save { MirroredModel.insertPosts(0..<count, into: $0) }
                let start = MirroredModel.now
                try home.sync()
                return Outcome(check: count, measured: Double(MirroredModel.now - start) / 1e3 / Double(count))
            } finish: {
                try home.close()
            }
        }
        return Work(
            id: "M1", title: "export a post of \(count) of one save", unit: .own("µs"), roundsMax: 2, warmsUp: false, entrants: [tarn])
    }

    private static func importing(_ stage: CloudStage, _ count: Int) -> Work {
        let tarn = Entrant(Entrant.tarn) {
            let home = try Home(stage, "import")
            for start in stride(from: 0, to: count, by: 100_000) {
                try home.save { MirroredModel.insertPosts(start..<min(count, start + 100_000), into: $0) }
            }
            try home.sync()
            try home.close()
            return Trial {
                let start = MirroredModel.now
                let device = try home.otherDevice(stage, ["--count", "\(count)"])
                guard let end = UInt64(try device.line()) else { throw CheckFailure(description: "a device printed no time") }
                device.stop()
                return Outcome(check: count, measured: Double(end - start) / 1e3 / Double(count))
            }
        }
        return Work(
            id: "M2", title: "import a post of \(count) on a new device", unit: .own("µs"), roundsMax: 1, warmsUp: false, entrants: [tarn])
    }

    private static func visible(_ stage: CloudStage, _ count: Int) -> Work {
        let tarn = Entrant(Entrant.tarn) {
            let home = try Home(stage, "visible")
            try home.sync()
            let device = try home.otherDevice(stage, [])
            _ = try device.line()
            // The first goes through set-up.
            try home.save { MirroredModel.insertPosts(0..<1, into: $0) }
            _ = try device.line()
            return Trial {
                var samples: [Duration] = []
                for index in 1...count {
                    let start = MirroredModel.now
                    try home.save { MirroredModel.insertPosts(index..<index + 1, into: $0) }
                    guard let end = UInt64(try device.line()) else { throw CheckFailure(description: "a device printed no time") }
                    samples.append(.nanoseconds(Int64(end - start)))
                }
                return Outcome(check: 1, samples: samples)
            } finish: {
                device.stop()
                try home.close()
            }
        }
        return Work(
            id: "M3", title: "a saved post is in the other device's view context", unit: .microseconds, roundsMax: 2,
            warmsUp: false, entrants: [tarn, Waiting.trips(stage)])
    }

    private static func pictures(_ stage: CloudStage, posts: Int, each: Int) -> Work {
        let tarn = Entrant(Entrant.tarn) {
            let home = try Home(stage, "pictures")
            try home.sync()
            let device = try home.otherDevice(stage, ["--entity", "Picture", "--reading", "data", "--count", "\(posts * each)"])
            return Trial {
                let start = MirroredModel.now
                try home.save { MirroredModel.insertPictures(posts: posts, each: each, bytes: 1 << 20, into: $0) }
                guard let end = UInt64(try device.line()) else { throw CheckFailure(description: "a device printed no time") }
                return Outcome(check: 1, measured: Double(end - start) / 1e9)
            } finish: {
                device.stop()
                try home.close()
            }
        }
        return Work(
            id: "M4", title: "\(posts) posts with \(each) pictures of 1 MiB reach the other device", unit: .own("s"), roundsMax: 1,
            warmsUp: false, entrants: [tarn])
    }
}
