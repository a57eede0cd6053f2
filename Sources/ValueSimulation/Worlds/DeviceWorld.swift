// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore

/// Two devices with the model of posts.
package struct DeviceWorld {
    /// Runs one seed until the devices converge.
    ///
    /// - Parameters:
    ///   - output: Prints the events of the run.
    ///   - atEnd: Receives the final state.
    /// - Returns: Violations of invariants.
    package static func violations(
        seed: UInt64, output: (@Sendable (String) -> Void)? = nil, atEnd: (DeviceWorld) -> Void = { _ in }
    ) -> [String] {
        var world = DeviceWorld(seed: seed)
        world.trace = output.map { EventTrace(output: $0) }
        defer { atEnd(world) }
        for _ in 0..<world.steps { world.step() }
        let rounds = world.heal(atMost: 30)
        return (rounds < 30 ? [] : ["not idle after 30 rounds"]) + world.differences + world.first.oneSided + world.second.oneSided
            + world.leftOver + world.disagreementsWithServer
    }

    private var random: SeededRandom
    package private(set) var server = ServerModel()
    private var table = DeviceTable([Replica("A"), Replica("B")])
    package var first: Replica { table[0] }
    package var second: Replica { table[1] }
    package let steps: Int
    private let loses: Bool
    private let repeats: Bool
    private let refuses: Bool
    private let expires: Bool
    private var latePages: [ImportPage] = []
    private var trace: EventTrace?

    package init(seed: UInt64) {
        random = SeededRandom(seed: seed)
        steps = Int.random(in: 20...160, using: &random)
        loses = random.chance(60)
        repeats = random.chance(60)
        refuses = random.chance(40)
        expires = random.chance(30)
    }

    package mutating func step() {
        let index = random.chance(50) ? 0 : 1
        var replica = table.takeOut(index)
        act(&replica)
        table.putBack(consume replica, at: index)
        note(index)
    }

    private mutating func note(_ index: Int, round: Int? = nil) {
        if trace == nil { return }
        let event = table[index].device + (round.map { ", round \($0)" } ?? "")
        let devices = [first, second]
        trace?.note(event, devices, [MirrorZone.home: server])
    }

    private mutating func act(_ replica: inout Replica) {
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<6: edit(&replica)
        case 6, 7: receive(&replica)
        default: send(&replica)
        }
    }

    private mutating func edit(_ replica: inout Replica) {
        // A step needs those of two entities at most.
        var posts: [RowKey] { replica.keys(of: "Post") }
        var tags: [RowKey] { replica.keys(of: "Tag") }
        var attachments: [RowKey] { replica.keys(of: "Attachment") }
        var images: [RowKey] { replica.keys(of: "ImageData") }
        let number = Int.random(in: 0..<1000, using: &random)
        switch Int.random(in: 0..<13, using: &random) {
        case 0:
            replica.insert(random.chance(70) ? "Post" : "ImagePost", ["title": .string("t\(number)"), "timestamp": .date(Double(number))])
        case 1: replica.insert("Tag", ["name": .string("n\(number)")])
        case 2: replica.insert("Attachment", posts.randomElement(using: &random).map { ["post": .reference($0)] } ?? [:])
        case 3: replica.insert("ImageData", attachments.randomElement(using: &random).map { ["attachment": .reference($0)] } ?? [:])
        case 4, 5: if let post = posts.randomElement(using: &random) { replica.set("title", of: post, to: .string("t\(number)")) }
        case 6:
            if let post = posts.randomElement(using: &random) {
                replica.set("content", of: post, to: random.chance(30) ? .null : .string("c\(number)"))
                replica.set("views", of: post, to: .int(Int64(number)))
            }
        case 7:
            if let attachment = attachments.randomElement(using: &random) {
                let post = random.chance(70) ? posts.randomElement(using: &random) : nil
                replica.set("post", of: attachment, to: post.map { .reference($0) } ?? .null)
            }
        case 8:
            if let attachment = attachments.randomElement(using: &random), let image = images.randomElement(using: &random) {
                replica.set("imageData", of: attachment, to: .reference(image))
            }
        case 9, 10:
            if let post = posts.randomElement(using: &random), let tag = tags.randomElement(using: &random) {
                replica.setLinked(random.chance(65), post, "tags", tag)
            }
        case 11:
            if let post = posts.randomElement(using: &random), let other = posts.randomElement(using: &random) {
                replica.setLinked(random.chance(65), post, "related", other)
            }
        default: if let key = replica.liveKeys.randomElement(using: &random) { replica.delete(key) }
        }
    }

    private mutating func receive(_ replica: inout Replica) {
        if expires, random.chance(10) { replica.startFullFetch() }
        let page = replica.fetch(server, limit: Int.random(in: 1...8, using: &random))
        if loses, random.chance(15) {
            latePages.append(page)
            return
        }
        replica.apply(page, from: server)
        if repeats, random.chance(30) { replica.apply(page, from: server) }
        if repeats, random.chance(30), let late = latePages.randomElement(using: &random) { replica.apply(late, from: server) }
    }

    private mutating func send(_ replica: inout Replica) {
        replica.scan()
        if loses, random.chance(15) { return }  // A crash after names were assigned.
        let batch = replica.planBatch(itemsMax: Int.random(in: 1...6, using: &random))
        guard !batch.items.isEmpty else { return }
        if random.chance(25) { edit(&replica) }  // A save while the batch is in flight.
        if random.chance(15) { replica.scan() }
        var (outcomes, assets) = replica.send(batch, to: &server)
        if loses, random.chance(15) { return }  // The response is lost, or the device crashed before it was stored.
        for item in batch.items {
            if loses, random.chance(8) { outcomes[item.recordName] = nil }
        }
        if refuses, random.chance(20), let item = batch.items.randomElement(using: &random), case .refused? = outcomes[item.recordName] {
            outcomes[item.recordName] = .refused(CloudFailure(.batchRequestFailed, "innocent"))
        }
        _ = replica.settle(batch, outcomes, assets)
    }

    /// - Returns: Rounds until the devices were idle.
    package mutating func heal(atMost limit: Int) -> Int {
        func progress() -> [Replica.Progress] { [first.progress, second.progress] }
        var before = progress()
        for round in 0..<limit {
            for (index, pageSize) in [(0, 7), (1, 5)] {
                var replica = table.takeOut(index)
                replica.sync(&server, pageSize: pageSize)
                table.putBack(consume replica, at: index)
                note(index, round: round)
            }
            let first = self.first, second = self.second
            let isQuiet =
                first.pendingRecords.isEmpty && second.pendingRecords.isEmpty && first.pendingLinks.isEmpty && second.pendingLinks.isEmpty
            let after = progress()
            if isQuiet, before == after { return round }
            before = after
        }
        return limit
    }

    /// Lines of the dumps that only one device has.
    package var differences: [String] {
        let (firstDump, secondDump) = (first.dump, second.dump)
        if firstDump == secondDump { return [] }
        let one = Set(firstDump.split(separator: "\n").map(String.init)), other = Set(secondDump.split(separator: "\n").map(String.init))
        return one.subtracting(other).map { "A: \($0)" }.sorted() + other.subtracting(one).map { "B: \($0)" }.sorted()
    }

    /// Sync metadata that must not remain after convergence.
    package var leftOver: [String] {
        var found: [String] = []
        for replica in [first, second] {
            let live = Set(replica.liveKeys)
            for state in replica.records.values {
                if state.stage != .uploaded || state.changeTag == nil {
                    found.append("\(replica.device): \(state.recordName) \(state.stage)")
                }
                if !live.contains(state.key) { found.append("\(replica.device): \(state.recordName) has no row") }
            }
            for link in replica.links.values where link.stage != .uploaded || link.changeTag == nil {
                found.append("\(replica.device): \(link.recordName) \(link.stage)")
            }
            for key in live where replica.name(of: key) == nil { found.append("\(replica.device): row \(key.primaryKey) has no record") }
        }
        return found
    }

    package var disagreementsWithServer: [String] {
        let linkNames = Set(server.links.map(\.recordName))
        let objectNames = Set(server.records.keys).subtracting(linkNames)
        let objects = objectNames.symmetricDifference(first.records.keys), links = linkNames.symmetricDifference(first.links.keys)
        return objects.map { "record \($0)" } + links.map { "link \($0)" }
    }

    package mutating func corruptFirst() {
        guard let key = first.keys(of: "Post").first ?? first.liveKeys.first else { return }
        var replica = table.takeOut(0)
        replica.delete(key)
        table.putBack(consume replica, at: 0)
    }
}
