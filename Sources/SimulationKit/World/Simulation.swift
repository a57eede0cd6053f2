// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import Foundation

/// One run: devices of one or two users, one server, and everything that happens to them, decided by a seed.
///
///     let report = try Simulation.run(seed: 42)
///     print(report.violations)
///
/// What runs is the real container with its object graph, store and mirror, the real wire and the real service on its
/// database. The simulation's are the network, the clocks, the randomness and the disk under the devices' stores. While faults
/// last it checks what must always hold; then it lets time pass until nothing is left to be done, and checks what the devices
/// show against each other, against a device that saw nothing of it, and against a reference model.
package final class Simulation: @unchecked Sendable {
    // Unchecked: everything is on the thread that called `run`.
    package struct Report: Sendable {
        package let seed: UInt64
        package let faults: String
        package let features: String
        /// What did not hold; empty for a good run.
        package var violations: [String] = []
        package var digest = ""
        package var events = 0
        /// Acknowledged saves.
        package var saves = 0
        package var trace: [String] = []
    }

    /// A bug that is planted to see that the checks find it.
    package enum Canary: String, CaseIterable, Sendable {
        /// A mirror that forgets that something waits to be sent.
        case forgetsPending
        /// A merge that does not know what the server had before.
        case ignoresAncestor
        /// A device whose conflict log is empty.
        case dropsConflicts
        /// A container that says that everything is in step as soon as it is asked.
        case answersTooSoon
        /// A container that goes on while it is paused.
        case ignoresPause
        /// Guests' mirrors that forget what waits to be sent.
        case forgetsGuests
        /// News that no long poll tells of.
        case losesNews
        /// A mirror that takes all members of a list for equal.
        case losesOrder
        /// A server that calls each change page the last one.
        case endsPagesEarly

        /// What a run has to have for it; nil for what comes.
        package var features: Set<Feature>? {
            switch self {
            case .forgetsPending, .ignoresAncestor, .dropsConflicts: nil
            case .answersTooSoon, .ignoresPause: [.pauses]
            case .forgetsGuests: [.sharing]
            case .losesNews: [.polling]
            case .losesOrder: [.extensions]
            case .endsPagesEarly: [.wholeSaves]
            }
        }
    }

    let seed: UInt64
    let canary: Canary?
    var random: SeededNumbers
    /// For kinds of faults that came later.
    var later: SeededNumbers
    let agenda = Agenda()
    let executor = SimulationExecutor()
    let network: SimulatedNetwork
    let faults: FaultPlan
    let features: Set<Feature>
    let cloud: InProcessCloud
    let folder: ScratchFolder
    var users: [String] = []
    var references: [String: Reference] = [:]
    var devices: [SimulatedDevice] = []
    var workloads: [String: Workload] = [:]
    let serverDisk = ServerDisk()
    /// At which write a device dies.
    var deaths: [String: Int] = [:]
    var promises: [String: Promises] = [:]
    var sharing: Sharing
    private var saveWatch = SaveWatch()
    /// For features.
    var extra: SeededNumbers
    var transports: [String: InProcessTransport] = [:]
    private let trace: Box<Trace>
    private(set) var violations: [String] = []
    private var saves = 0
    private var events = 0
    private var serverTime = 0.0

    /// Virtual seconds in which everything has to come to rest, once faults end.
    static let restSeconds = 8 * 3600.0
    /// The same where everybody asks every half an hour for what is new.
    static let publicRestSeconds = 3 * 3600.0
    static let eventsMax = 40_000

    /// - Parameter features: In the place of those that the seed decides.
    package static func run(
        seed: UInt64, features: Set<Feature>? = nil, canary: Canary? = nil, keepsTrace: Bool = false
    ) throws -> Report {
        let simulation = try Simulation(seed: seed, features ?? canary?.features ?? Feature.draw(seed: seed), canary, keepsTrace: keepsTrace)
        defer { simulation.discard() }
        try simulation.run()
        let trace = simulation.trace.value
        return Report(
            seed: seed, faults: simulation.faults.description, features: simulation.features.description, violations: simulation.violations, digest: trace.digest,
            events: simulation.events, saves: simulation.saves, trace: trace.lines)
    }

    private init(seed: UInt64, _ features: Set<Feature>, _ canary: Canary?, keepsTrace: Bool) throws {
        self.seed = seed
        self.canary = canary
        self.features = features
        random = SeededNumbers(seed: seed)
        faults = FaultPlan(&random, seed: seed, without: features.excluded)
        sharing = Sharing(features)
        later = SeededNumbers(seed: ~seed &+ 1)
        extra = SeededNumbers(seed: ~seed &+ 3)
        let trace = Box(Trace(keepsLines: keepsTrace))
        self.trace = trace
        network = SimulatedNetwork(agenda, executor, faults, random.fork(), serverDisk, hasAssets: features.contains(.assets)) { [agenda] in
            trace.value.add(Self.line(agenda.now, $0))
        }
        let offered = Set(Capability.allCases).subtracting(features.contains(.publicQueries) ? [.publicChanges] : [])
        var limits = Limits()
        if features.contains(.wholeSaves) { (limits.recordsPerResponse, limits.recordsPerLargePage) = (3, 4) }
        cloud = try InProcessCloud(limits: limits, seed: random.next(), offered: offered)
        folder = ScratchFolder("tarn-simulation")
        try FileManager.default.createDirectory(at: folder.url, withIntermediateDirectories: true)
        network.complain = { [unowned self] in self.fail($0) }
        network.losesNews = canary == .losesNews
        network.endsPagesEarly = canary == .endsPagesEarly
    }

    private static func line(_ now: Double, _ text: String) -> String { "\(Double(Int(now * 1000)) / 1000) \(text)" }

    func say(_ text: String) { trace.value.add(Self.line(agenda.now, text)) }

    func fail(_ violation: String) {
        say("VIOLATION \(violation)")
        if violations.count < 20 { violations.append(violation) }
    }

    private func discard() {
        for device in devices { try? device.discard() }
        // Who waits for an answer that never came waits for ever, and holds the cloud.
        try? cloud.discard()
        executor.settle()
        serverDisk.remove()
        folder.remove()
    }

    // MARK: Running

    private func run() throws {
        say("faults: \(faults.description)")
        if !features.isEmpty { say("features: \(features.description)") }
        try setUp()
        let end = plan()
        planFeatures(end)
        try go(until: end)
        guard violations.isEmpty else { return }
        try heal()
        try go(until: agenda.now + (features.isPublic ? Self.publicRestSeconds : Self.restSeconds))
        guard violations.isEmpty else { return }
        try conclude()
    }

    func acknowledge(_ edit: Edit, by device: SimulatedDevice) {
        saves += 1
        for change in edit.changes { say("\(device.name) saved \("\(change)".prefix(200))") }
        saveWatch.take(edit, by: device.name)
        let divides = edit.changes.contains { change in
            switch change {
            case .delete, .unlink: true
            case .insert, .set, .link, .arrange: false
            }
        }
        if divides { sharing.dividers.insert(device.name) }
        let mayBeRejected = features.contains(.permissions) && device.role != .owner
        if device.role == .reader, !mayBeRejected { return sharing.refused.append((edit, device.name, device.version)) }
        let circle = circle(of: device.user)
        for (owner, part) in edit.split(by: { label in references.first { $0.value.objects[label] != nil }?.key ?? circle }) {
            references[owner]?.take(part, by: device.name, version: device.version)
            if mayBeRejected { references[owner]?.allowRestoring(part) }
            // The mirror has not noticed yet that the objects are those of whoever was signed in before.
            if owner != circle { references[owner]?.giveUp() }
        }
    }

    /// Takes entries of the agenda until a time, or until there are none.
    private func go(until end: Double) throws {
        var count = 0
        while violations.isEmpty, let due = agenda.nextDue, due <= end, let body = agenda.take() {
            cloud.clock.advance(by: .seconds(agenda.now - serverTime))
            serverTime = agenda.now
            body()
            executor.settle()
            try afterEvent()
            events += 1
            count += 1
            if count > Self.eventsMax { return fail("there is no rest: \(Self.eventsMax) events") }
        }
    }

    private func afterEvent() throws {
        if serverDisk.hasFailed { crash() }
        for device in devices {
            if let number = deaths[device.name], device.writesSeen >= number { try die(device) }
            guard let picture = try device.pictureIfChanged() else { continue }
            for fault in picture.faults { fail("\(device.name): \(fault)") }
            if references[device.user]?.isPurged == true || sharing.leavers.contains(device.user) { continue }
            if faults.kinds.contains(.accounts), try device.doubtsItsUser() {
                device.watch.forget()
                continue
            }
            // Rejected deletions come back, and discarded edits give way to the server's values.
            if device.role == .reader, features.contains(.rejections) { continue }
            // What was deleted in one zone while it moved to another comes with the other before it goes there, too.
            let objects = references[circle(of: device.user)]?.objects ?? [:]
            let found = device.watch.look(picture, mayRevert: { objects[$0]?.mayBeThere == true }) {
                features.contains(.sharing) && objects[$0]?.isDeleted == true || Reference.comesAndGoes(objects[$0]?.entity)
            }
            for fault in found { fail("\(device.name): \(fault)") }
            if keepsSavesWhole { for fault in saveWatch.look(picture) { fail("\(device.name): \(fault)") } }
        }
    }

    /// A user who signs in elsewhere, or deletes everything, takes away what was sent and leaves the rest. Where the storage is full,
    /// deletions go first.
    private var keepsSavesWhole: Bool { features.keepsSavesWhole && faults.kinds.isDisjoint(with: [.accounts, .purge, .quota]) }

    func die(_ device: SimulatedDevice) throws {
        deaths[device.name] = nil
        guard device.life != nil else { return }
        say("\(device.name) dies")
        try device.kill()
        agenda.after(random.seconds(0.5...60)) { self.attempt { try self.boot(device) } }
    }

    /// For entries of the agenda: what is thrown in one is a violation.
    func attempt(_ body: () throws -> Void) {
        do { try body() } catch { fail("\(error)") }
    }

    /// What a user asks of the server themselves may fail while the server is dying, and nothing else may.
    ///
    /// - Returns: nil if it did; they may ask again.
    func ask<Answer>(_ body: () throws -> Answer) throws -> Answer? {
        do {
            return try body()
        } catch {
            guard serverDisk.hasFailed || cloud.isStopped else { throw error }
            say("the server dies over it")
            return nil
        }
    }
}
