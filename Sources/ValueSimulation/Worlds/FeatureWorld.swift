// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudWire
import ManagedModel
import MirroringCore

/// Three devices and a server, with the features and the faults that a seed decides.
package struct FeatureWorld {
    package let features: Set<ValueFeature>
    package internal(set) var cloud = CloudModel()
    private var table: DeviceTable
    package var devices: [Replica] { table.present }
    package private(set) var violations: [String] = []
    var random: SeededRandom
    let steps: Int
    let loses: Bool
    let repeats: Bool
    let expires: Bool
    let deletes: Bool
    /// Whether a server may process the first items of a request alone.
    let cuts: Bool
    private var latePages: [(device: Int, page: ImportPage)] = []
    /// The unacknowledged request of each device. It is repeated before anything else is requested; the server recognizes it.
    private var outbox: [Int: Request] = [:]

    private struct Request {
        let zone: Int64
        let batch: BatchPlan
        /// nil for a request that did not reach the server.
        var response: (outcomes: [String: ItemOutcome], assets: [String: [String: AssetValue]])?
    }

    private var trace: EventTrace?

    // The user's actions, by the numbers of objects.
    var lastNumber: Int64 = 0
    var inserted: Set<Int64> = []
    var deleted: Set<Int64> = []
    /// Folders that a document was ever in.
    var folders: [Int64: Set<Int64>] = [:]

    /// Runs one seed until the devices converge.
    ///
    /// - Parameters:
    ///   - features: nil for those that the seed decides.
    ///   - canary: A planted defect.
    ///   - output: Prints the events of the run.
    ///   - atEnd: Receives the final state.
    /// - Returns: Violations of invariants.
    package static func violations(
        seed: UInt64, features: Set<ValueFeature>? = nil, canary: ValueCanary? = nil, output: (@Sendable (String) -> Void)? = nil,
        atEnd: (FeatureWorld) -> Void = { _ in }
    ) -> [String] {
        var world = FeatureWorld(seed: seed, features: features, canary: canary)
        world.trace = output.map { EventTrace(output: $0) }
        defer { atEnd(world) }
        for _ in 0..<world.steps where world.violations.isEmpty { world.step() }
        if !world.violations.isEmpty { return world.violations }
        let rounds = world.heal(atMost: 40)
        return (rounds < 40 ? [] : ["not idle after 40 rounds"]) + world.violations + world.finalViolations
    }

    package init(seed: UInt64, features chosen: Set<ValueFeature>? = nil, canary: ValueCanary? = nil) {
        var random = SeededRandom(seed: seed)
        let drawn = Set(ValueFeature.allCases.filter { _ in random.chance(50) })
        // A number that decided between features which exclude each other once: seeds keep their runs.
        if drawn.contains(.relocation), !drawn.isDisjoint(with: [.requirements, .uniqueness]) { _ = random.chance(50) }
        let features = chosen ?? drawn
        self.features = features
        steps = Int.random(in: 10...100, using: &random)
        loses = random.chance(50)
        repeats = random.chance(50)
        expires = random.chance(30)
        deletes = random.chance(60)
        cuts = random.chance(50)
        guard let mapping = FeatureModel.mappings[features] else { preconditionFailure("each set of features has a model") }
        table = DeviceTable(
            ["A", "B", "C"].map { name in
                var device = Replica(name, mapping: mapping)
                device.cascades = true
                device.canary = canary
                return device
            })
        self.random = random
    }

    // MARK: Steps

    package mutating func step() { act(Int.random(in: 0..<3, using: &random), isNested: false) }

    /// - Parameter isNested: Whether another device waits for a response.
    private mutating func act(_ index: Int, isNested: Bool) {
        var device = table.takeOut(index)
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<5: edit(&device)
        case 5..<8 where !isNested: receive(index, &device)
        default: send(index, &device)
        }
        violations += invalid(device)
        let name = device.device
        table.putBack(consume device, at: index)
        note(isNested ? "\(name), while another device waits" : name)
    }

    private mutating func note(_ event: String) {
        if trace == nil { return }
        let devices = self.devices
        trace?.note(event, devices, cloud.zones)
    }

    private mutating func receive(_ index: Int, _ device: inout Replica) {
        if expires, random.chance(8), let zone = device.zoneNumbers.randomElement(using: &random) { device.startFullFetch(of: zone) }
        guard replayOutbox(index, &device) else { return }
        let limit = Int.random(in: 1...8, using: &random)
        device.learnZones(of: cloud)
        guard device.zones.count > 1 else {
            // Pages of the only zone may be applied apart from each other.
            let page = device.fetch(cloud[MirrorZone.home], limit: limit)
            if loses, random.chance(15) {
                latePages.append((index, page))
                return
            }
            device.apply(page, from: cloud[MirrorZone.home])
            if repeats, random.chance(30) { device.apply(page, from: cloud[MirrorZone.home]) }
            if repeats, random.chance(30), let late = latePages.filter({ $0.device == index }).randomElement(using: &random) {
                device.apply(late.page, from: cloud[MirrorZone.home])
            }
            return
        }
        let pages = device.fetchAll(cloud[MirrorZone.home], limit: limit, zone: MirrorZone.home)
        if loses, random.chance(15) { return }
        // Another device acts between the two requests.
        if random.chance(30) {
            act((index + 1) % table.count, isNested: true)
            device.learnZones(of: cloud)
        }
        if device.isHeld(pages) {
            device.importShares(from: cloud, pageSize: limit)
            device.apply(pages, from: cloud, in: MirrorZone.home)
        } else {
            device.apply(pages, from: cloud, in: MirrorZone.home)
            if random.chance(70) { device.importShares(from: cloud, pageSize: limit) }
        }
    }

    private mutating func send(_ index: Int, _ device: inout Replica) {
        guard replayOutbox(index, &device) else { return }
        device.scan()
        if loses, random.chance(10) { return }  // A crash after names were assigned.
        device.applyWithheld(from: cloud)
        guard let (zone, batch) = device.nextBatch(itemsMax: Int.random(in: 1...6, using: &random)) else { return }
        outbox[index] = Request(zone: zone, batch: batch)
        if random.chance(25) { edit(&device) }  // A save while the batch is in flight.
        if random.chance(15) { device.scan() }
        _ = replayOutbox(index, &device)
    }

    /// Sends the unacknowledged request of a device, and settles its response. Each of the two may be lost.
    ///
    /// - Returns: Whether the outbox is empty.
    private mutating func replayOutbox(_ index: Int, _ device: inout Replica, isReliable: Bool = false) -> Bool {
        guard var request = outbox[index] else { return true }
        if loses, !isReliable, random.chance(10) { return false }
        let response = request.response ?? respond(to: request, from: device.device, isReliable: isReliable)
        request.response = response
        outbox[index] = request
        if loses, !isReliable, random.chance(10) { return false }
        outbox[index] = nil
        _ = device.settle(request.batch, response.outcomes, response.assets, in: request.zone)
        return true
    }

    private mutating func respond(
        to request: Request, from device: String, isReliable: Bool
    ) -> (outcomes: [String: ItemOutcome], assets: [String: [String: AssetValue]]) {
        let items = request.batch.items
        let count = cuts && !isReliable && random.chance(20) ? Int.random(in: 0..<items.count, using: &random) : items.count
        var (outcomes, assets): ([String: ItemOutcome], [String: [String: AssetValue]]) = ([:], [:])
        for item in items.prefix(count) {
            for upload in item.uploads {
                assets[item.recordName, default: [:]][upload.field] = cloud[request.zone].upload(upload.content.bytes)
            }
            outcomes[item.recordName] = cloud[request.zone].apply(item.operation, item.with(assets[item.recordName] ?? [:]), by: device)
        }
        return (outcomes, assets)
    }

    /// - Returns: Rounds until the devices were idle.
    package mutating func heal(atMost limit: Int) -> Int {
        var before = devices.map(\.progress)
        for round in 0..<limit {
            for index in table.indices {
                var device = table.takeOut(index)
                _ = replayOutbox(index, &device, isReliable: true)
                device.sync(&cloud, pageSize: 4 + index)
                violations += invalid(device)
                let name = device.device
                table.putBack(consume device, at: index)
                note("\(name), round \(round)")
            }
            let devices = self.devices
            let after = devices.map(\.progress)
            if before == after, devices.allSatisfy(\.isIdle) { return round }
            before = after
        }
        return limit
    }
}
