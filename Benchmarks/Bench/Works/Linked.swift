// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudKitTesting
import CoreData
import Foundation

/// M5: whether the cost of an import depends on its size, or on existing data. Posts with a tag and an attachment each reach a device
/// that has 100,000 links of such posts, and one that has none.
enum Linked {
    static let nothingThere = "no links there"
    private static let count = 3000

    static func work(_ scratch: Scratch, links: Int) -> Work {
        let loaded = Pair(scratch, existing: links)
        let tarn = Entrant(Entrant.tarn) { try loaded.trial(of: count) }
        let empty = Entrant(nothingThere) { try Pair(scratch, existing: 0).trial(of: count) }
        return Work(
            id: "M5", title: "import \(count) posts with tags and attachments into a store with \(links) links", roundsMax: 4,
            entrants: [tarn, empty])
    }

    /// Two devices of a user, and an engine in this process.
    private final class Pair {
        private let scratch: Scratch
        private var existing: Int
        private var devices: (first: ScaleDevice, second: ScaleDevice)?

        init(_ scratch: Scratch, existing: Int) {
            self.scratch = scratch
            self.existing = existing
        }

        private func opened() throws -> (first: ScaleDevice, second: ScaleDevice) {
            if let devices { return devices }
            let cloud = try TestCloud()
            let folder = scratch.newFile().deletingPathExtension()
            try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
            func device(_ name: String) throws -> ScaleDevice {
                try ScaleDevice(try blocking { try await cloud.device(name, account: "mia") }, .posts, in: folder)
            }
            let made = (first: try device("first"), second: try device("second"))
            for device in [made.first, made.second] { try device.sync() }
            for start in stride(from: 0, to: existing, by: 10_000) { try made.first.insert(start..<min(existing, start + 10_000)) }
            for device in [made.first, made.second] { try device.sync() }
            devices = made
            return made
        }

        func trial(of count: Int) throws -> Trial {
            let (first, second) = try opened()
            second.container.pauseSyncing()
            try first.insert(existing..<existing + count)
            try first.sync()
            existing += count
            let total = existing
            return Trial { [self] in
                second.container.resumeSyncing()
                try second.sync()
                return Outcome(check: count, results: self)
            } finish: {
                guard try second.count() == total else { throw CheckFailure(description: "M5: posts are missing") }
            }
        }
    }
}
