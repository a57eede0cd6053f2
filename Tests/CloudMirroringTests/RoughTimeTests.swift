// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudMirroring
import CoreData
import Foundation
import TestBasics
import Testing

/// Real stores, the real engine and a network that fails: the devices always converge.
///
/// The actions follow from the seed; the interleaving of the devices' tasks does not.
@Suite(.closesFixtures, .timeLimit(.minutes(10))) struct RoughTimeTests {
    private static let seeds: [UInt64] = {
        let environment = ProcessInfo.processInfo.environment
        if let seed = environment["SIM_SEED"].flatMap({ UInt64($0) }) { return [seed] }
        return Array(1...(environment["SIM_SEEDS"].flatMap { UInt64($0) }.map { max($0, 1) } ?? 4))
    }()

    @Test(arguments: seeds) func devicesAgreeAfterARoughTime(seed: UInt64) async throws {
        var random = SeededNumbers(seed: seed)
        let cloud = try InProcessCloud(seed: seed)
        var devices = [
            try Device("tablet", try await cloud.addUser("mia", device: "tablet")),
            try Device("phone", try await cloud.addDevice("phone", of: "mia")),
        ]
        for step in 0..<40 {
            let index = Int.random(in: 0...1, using: &random)
            let device = devices[index]
            switch Int.random(in: 0..<16, using: &random) {
            case 0: device.transport.loseNextAnswers()
            case 1: device.transport.loseNextRequests()
            case 2: device.transport.goOffline()
            case 3: device.transport.goOnline()
            case 4:
                try await device.kill()
                devices[index] = try Device(device.name, device.transport, file: device.file)
            case 5, 6: for device in devices { device.timers.advance(by: 400) }
            default:
                let drawn = random.next()
                try device.edit { try Self.edit($0, "\(device.name) \(step)", drawn) }
            }
        }
        for device in devices { device.transport.goOnline() }
        try await agree(devices)
        #expect(try difference(devices[0], devices[1]) == [], "seed \(seed)")
        // A third device, which saw nothing of it, gets the same.
        let third = try Device("laptop", try await cloud.addDevice("laptop", of: "mia"))
        try await third.settles()
        #expect(try difference(third, devices[0]) == [], "seed \(seed)")
    }

    private static func edit(_ context: NSManagedObjectContext, _ label: String, _ seed: UInt64) throws {
        var random = SeededNumbers(seed: seed)
        let posts = try context.all("Post").sorted { Posts.line($0) < Posts.line($1) }
        let tags = try context.all("Tag").sorted { Posts.line($0) < Posts.line($1) }
        let post = posts.randomElement(using: &random), tag = tags.randomElement(using: &random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0, 1: context.insert("Post", ["title": label])
        case 2: context.insert("Tag", ["name": label])
        case 3, 4:
            guard let post else { return }
            let image = context.insert("ImageData", ["data": Data(label.utf8)])
            context.insert("Attachment", ["thumbnail": Data(label.utf8), "post": post, "imageData": image])
        case 5: post?.setValue(label, forKey: "content")
        case 6, 7:
            guard let post, let tag, var linked = post.value(forKey: "tags") as? Set<NSManagedObject> else { return }
            if linked.remove(tag) == nil { linked.insert(tag) }
            post.setValue(linked, forKey: "tags")
        case 8: if let post { context.delete(post) }
        default: if let tag { context.delete(tag) }
        }
    }

    /// Lets time pass until everybody is idle and shows the same.
    private func agree(_ devices: [Device]) async throws {
        for device in devices { device.timers.runFreely() }
        for _ in 0..<50 {
            for device in devices { try await device.settles() }
            let before = devices.map(\.container.syncStatus)
            if try difference(devices[0], devices[1]).isEmpty { return }
            // One of them has yet to hear of something.
            try await Device.anyOf(devices, leaves: before)
        }
    }

    private func difference(_ one: Device, _ other: Device) throws -> [String] {
        let lines = try [one, other].map { Set(try $0.dump.split(separator: "\n").map(String.init)) }
        return zip([one, other], [lines[0].subtracting(lines[1]), lines[1].subtracting(lines[0])]).flatMap { device, lines in
            lines.sorted().map { "\(device.name): \($0)" }
        }
    }
}

/// SplitMix64: the same numbers for the same seed.
private struct SeededNumbers: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return mixed ^ (mixed >> 31)
    }
}
