// SPDX-License-Identifier: Apache-2.0
// SPDX-FileCopyrightText: The Tarn authors

import CloudInProcess
import CloudKit
import CloudMirroring
import CloudWire
import Foundation

/// One run: devices of one or more users, one server, and all events, determined by a seed.
///
///     let report = try Simulation.run(seed: 42)
///     print(report.violations)
///
/// The run has the real container with its object graph, store and sync, the real wire and the real service on its
/// database. It simulates the network, the clocks, the randomness and the disks. During the faults it checks the
/// invariants. Then it runs until all devices are idle, and compares them with each other, with a fresh device, and
/// with the reference model.
package final class Simulation: @unchecked Sendable {
    // Unchecked: everything runs on the thread that called `run`.
    package struct Report: Sendable {
        package let seed: UInt64
        package let faults: String
        package let features: String
        /// The violations. Empty for a correct run.
        package var violations: [String] = []
        package var digest = ""
        package var events = 0
        /// Number of acknowledged saves.
        package var saves = 0
        package var trace: [String] = []
    }

    /// A copy of the server's folder, with the shares of its time.
    struct Backup: Sendable {
        let path: String
        let shares: [Sharing.Share]
    }

    /// A planted defect, to verify that the checks find it.
    package enum Canary: String, CaseIterable, Sendable {
        /// Sync forgets pending changes.
        case forgetsPending
        /// The merge has no merge base.
        case ignoresAncestor
        /// The conflict log of a device is empty.
        case dropsConflicts
        /// The container reports the end of a sync immediately.
        case answersTooSoon
        /// The container syncs while it is paused.
        case ignoresPause
        /// Sync of guests forgets pending changes.
        case forgetsGuests
        /// Long polls deliver no notifications.
        case losesNews
        /// All members of a list have the same position key.
        case losesOrder
        /// The server calls each change page the last one.
        case endsPagesEarly
        /// The server's folder is replaced by a backup without a new history.
        case keepsHistory
        /// The later version of the model declares no lenses.
        case losesLenses
        /// The conflict log of a mirror is empty.
        case emptiesMirrorLog

        /// The features that a run needs for the defect. `nil` for any.
        package var features: Set<Feature>? {
            switch self {
            case .forgetsPending, .ignoresAncestor, .dropsConflicts: nil
            case .answersTooSoon, .ignoresPause: [.pauses]
            case .forgetsGuests: [.sharing]
            case .losesNews: [.polling]
            case .losesOrder: [.extensions]
            case .endsPagesEarly: [.wholeSaves]
            case .keepsHistory: [.restores]
            case .losesLenses: [.modelChanges]
            case .emptiesMirrorLog: [.mirror]
            }
        }
    }

    /// The database of the server.
    package enum Storage: String, CaseIterable, Sendable {
        case sqlite
        #if TARN_POSTGRES
            /// Started by the process, where it is installed. The server's disk does not fail: `PostgresProcessTests` kill servers.
            case postgres
        #endif

        var faultsExcluded: Set<FaultPlan.Kind> { self == .sqlite ? [] : [.crashes] }

        func makeData(_ executor: SimulationExecutor) throws -> (any InProcessData)? {
            switch self {
            case .sqlite: return nil
            #if TARN_POSTGRES
                case .postgres: return try PostgresData(executor)
            #endif
            }
        }
    }

    let seed: UInt64
    let canary: Canary?
    var random: SeededNumbers
    /// For kinds of faults that were added later.
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
    var promises: [String: Promises] = [:]
    var sharing: Sharing
    /// The server's backup, once there is one.
    var backup: Backup?
    /// How often the server was restored.
    var restoreCount = 0
    private var saveWatch = SaveWatch()
    /// For features.
    var extra: SeededNumbers
    /// For mirrors.
    var mirrors: SeededNumbers
    var transports: [String: InProcessTransport] = [:]
    private let trace: Box<Trace>
    private(set) var violations: [String] = []
    private var saves = 0
    private var events = 0
    private var serverTime = 0.0

    /// Virtual seconds after the end of faults within which all devices must be idle.
    static let restSeconds = 8 * 3600.0
    /// The same for runs in which devices poll every 30 minutes.
    static let publicRestSeconds = 3 * 3600.0
    static let eventsMax = 40_000

    /// - Parameter features: Replaces the features that the seed determines.
    package static func run(
        seed: UInt64, features: Set<Feature>? = nil, canary: Canary? = nil, storage: Storage = .sqlite, keepsTrace: Bool = false
    ) throws -> Report {
        let simulation = try Simulation(
            seed: seed, features ?? canary?.features ?? Feature.draw(seed: seed), canary, storage, keepsTrace: keepsTrace)
        defer { simulation.discard() }
        try simulation.run()
        let trace = simulation.trace.value
        return Report(
            seed: seed, faults: simulation.faults.description, features: simulation.features.description, violations: simulation.violations,
            digest: trace.digest,
            events: simulation.events, saves: simulation.saves, trace: trace.lines)
    }

    private init(seed: UInt64, _ features: Set<Feature>, _ canary: Canary?, _ storage: Storage, keepsTrace: Bool) throws {
        self.seed = seed
        self.canary = canary
        self.features = features
        random = SeededNumbers(seed: seed)
        faults = FaultPlan(&random, seed: seed, with: features.included, without: features.excluded.union(storage.faultsExcluded))
        sharing = Sharing(features)
        later = SeededNumbers(seed: ~seed &+ 1)
        extra = SeededNumbers(seed: ~seed &+ 3)
        mirrors = SeededNumbers(seed: ~seed &+ 23)
        let trace = Box(Trace(keepsLines: keepsTrace))
        self.trace = trace
        network = SimulatedNetwork(agenda, executor, faults, random.fork(), serverDisk) { [agenda] in
            trace.value.add(Self.line(agenda.now, $0))
        }
        let offered = Set(Capability.allCases).subtracting(features.contains(.publicQueries) ? [.publicChanges] : [])
        var limits = Limits()
        if features.contains(.wholeSaves) { (limits.recordsPerResponse, limits.recordsPerLargePage) = (3, 4) }
        var keys = SeededNumbers(seed: ~seed &+ 12)
        let firstKey = (0..<4).flatMap { _ in withUnsafeBytes(of: keys.next()) { Array($0) } }
        cloud = try InProcessCloud(
            limits: limits, seed: random.next(), firstKey: firstKey, offered: offered, data: storage.makeData(executor))
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
        // A task that waits for a lost response never ends, and holds the cloud.
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
        for (owner, part) in edit.split(by: { self.owner(of: $0) ?? circle }) {
            references[owner]?.take(part, by: device.name, version: device.version)
            for case .set(_, _, _, let target?) in part.changes {
                if let other = self.owner(of: target), other != owner { references[owner]?.foreignTargets.insert(target) }
            }
            if mayBeRejected { references[owner]?.allowRestoring(part) }
            // The store has not noticed yet that its objects belong to the previous user.
            if owner != circle { references[owner]?.giveUp() }
        }
    }

    /// The user, or the circle of users, with an object of a label.
    private func owner(of label: String) -> String? { references.first { $0.value.objects[label] != nil }?.key }

    /// Runs events until a time, or until there are none.
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
            if count > Self.eventsMax { return fail("the devices are not idle after \(Self.eventsMax) events") }
        }
    }

    private func afterEvent() throws {
        if serverDisk.hasFailed { crash() }
        for device in devices {
            if device.disk.hasDied { try die(device) }
            guard let picture = try device.pictureIfChanged() else { continue }
            // A guest's copy of an object whose share a restored server lost stays beside the one of the new share.
            let mayBeDoubled = restoreCount > 0 && device.role == .guest
            for fault in mayBeDoubled ? [] : picture.faults { fail("\(device.name): \(fault)") }
            if references[device.user]?.isPurged == true || sharing.leavers.contains(device.user) { continue }
            if faults.kinds.contains(.accounts), try device.doubtsItsUser() {
                device.watch.forget()
                continue
            }
            // The restored server lacks saves that one device shows, until that device sends them again.
            if restoreCount > 0 { continue }
            // Rejected deletions are reverted, and discarded edits are replaced by the server's values.
            if device.role == .reader, features.contains(.rejections) { continue }
            // An object that was deleted in one zone during its relocation appears in the destination zone before it is
            // deleted there, too.
            let objects = references[circle(of: device.user)]?.objects ?? [:]
            let found = try device.watch.look(
                picture, mayRevert: { objects[$0]?.mayBeThere == true }, log: { try device.conflictLog().values }
            ) {
                features.contains(.sharing) && objects[$0]?.isDeleted == true || Reference.comesAndGoes(objects[$0]?.entity)
            }
            for fault in found { fail("\(device.name): \(fault)") }
            if keepsSavesWhole { for fault in saveWatch.look(picture) { fail("\(device.name): \(fault)") } }
        }
    }

    /// An account change or a purge removes the sent part of a save and keeps the rest. While the quota is exceeded,
    /// deletions are sent first.
    private var keepsSavesWhole: Bool { features.keepsSavesWhole && faults.kinds.isDisjoint(with: [.accounts, .purge, .quota]) }

    func die(_ device: SimulatedDevice) throws {
        guard device.life != nil else { return }
        say("\(device.name) dies")
        try device.kill()
        agenda.after(random.seconds(0.5...60)) { self.attempt { try self.boot(device) } }
    }

    /// Runs an event of the agenda; an error is a violation.
    func attempt(_ body: () throws -> Void) {
        do { try body() } catch { fail("\(error)") }
    }

    /// Runs work of an app on its files, which may fail once the device has died, and only then.
    func attempt(on device: SimulatedDevice, _ body: () throws -> Void) {
        attempt {
            do { try body() } catch  where device.disk.hasDied { say("\(device.name) fails: its disk is gone") }
        }
    }

    /// Runs a user's own request to the server, which may fail while the server is crashing, and only then.
    ///
    /// - Returns: `nil` if it failed; the caller may retry.
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
